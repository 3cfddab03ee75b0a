"""An address where nothing is: a page for whoever reads in a browser. Programs are told by the server around it."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Response
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from muisti.surfaces.web.render import PageRoute

_NOT_OURS = ("/api", "/metrics", "/static", "/openapi.json")


class NotFoundRoute(PageRoute):
    """Fits whatever no other route does, if a browser asks for a page."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As every route, but for programs and for what is no page."""
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or scope["path"].startswith(_NOT_OURS)
        ):
            return Match.NONE, {}
        if "text/html" not in Headers(scope=scope).get("accept", ""):
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(route_class=NotFoundRoute)


@router.get("/{rest:path}")
def not_found() -> Response:
    """Nothing is here."""
    raise HTTPException(
        404, "there is no page at this address; the links beside lead to those that there are"
    )
