"""The page on which a person sees, corrects and prunes what agents remember. Rendered here, works offline."""

from __future__ import annotations

from muisti.surfaces.web.csrf import HEADERS
from muisti.surfaces.web.pages import pages

__all__ = ["HEADERS", "pages"]
