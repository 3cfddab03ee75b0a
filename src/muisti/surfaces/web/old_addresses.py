"""Redirects from addresses of earlier versions, so that bookmarks work."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from muisti.surfaces.web.render import PageRoute

router = APIRouter(route_class=PageRoute)
_MOVED = {"/chats": "/conversations", "/chat": "/conversation", "/numbers": "/stats"}


@router.get("/chats")
@router.get("/chat")
@router.get("/numbers")
def redirect_old_address(request: Request) -> Response:
    """Redirect permanently, with the same query."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{_MOVED[request.url.path]}{query}", 308)
