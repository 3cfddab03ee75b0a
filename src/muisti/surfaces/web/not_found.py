"""The 404 page for browsers. Programs get the API's own 404 instead."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Response
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from muisti.surfaces.web.render import PageRoute

_NOT_PAGES = ("/api", "/metrics", "/static", "/openapi.json")


class NotFoundRoute(PageRoute):
    """Matches every GET request of a browser that no other route matches."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match only requests that accept HTML, outside the paths of the API."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return Match.NONE, {}
        if scope["path"].startswith(_NOT_PAGES):
            return Match.NONE, {}
        if "text/html" not in Headers(scope=scope).get("accept", ""):
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(route_class=NotFoundRoute)


@router.get("/{rest:path}")
def show_not_found() -> Response:
    """Raise the 404 that `PageRoute` renders."""
    raise HTTPException(404, "there is no page at this address")
