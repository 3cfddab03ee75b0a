"""The web page: search, read, edit and delete memories in a browser. Rendered on the server."""

from __future__ import annotations

from muisti.surfaces.web.csrf import HEADERS
from muisti.surfaces.web.pages import create_router

__all__ = ["HEADERS", "create_router"]
