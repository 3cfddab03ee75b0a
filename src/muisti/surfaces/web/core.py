"""Core memory: what stands at the head of every context."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from muisti.errors import InvalidRequest, MuistiError, NotFound
from muisti.model import CORE_SECTIONS
from muisti.surfaces.web.csrf import Form, Posted
from muisti.surfaces.web.page_context import At, PageContext
from muisti.surfaces.web.render import PageRoute, go, sentence, show

router = APIRouter(route_class=PageRoute)


@router.get("/core")
def core(request: Request, desk: At) -> Response:
    """Both sections, each entry in a form of its own."""
    return _shown(request, desk, Form())


@router.post("/core")
def change(request: Request, desk: At, form: Posted) -> Response:
    """Set one entry, or remove it."""
    section, key = form.line("section"), form.line("key")
    try:
        if form.get("do") == "remove":
            desk.memory.core_delete(section, key)
        else:
            desk.memory.core_update(section, key, form.text("value"))
    except (InvalidRequest, NotFound) as error:
        return _shown(request, desk, form, error)
    return go("/core", "core")


def _shown(
    request: Request, desk: PageContext, form: Form, error: MuistiError | None = None
) -> Response:
    known = desk.memory.core_get()
    size = sum(
        len(f"{key}{value}".encode())
        for name in CORE_SECTIONS
        for key, value in getattr(known, name).items()
    )
    return show(
        request,
        "core.html",
        error.status if error else 200,
        sections={name: dict(getattr(known, name)) for name in CORE_SECTIONS},
        size=size,
        most=desk.memory.settings.core_max_bytes,
        form=form,
        error=sentence(error) if error else "",
    )
