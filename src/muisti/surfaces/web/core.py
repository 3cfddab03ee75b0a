"""Core memory: entries that are part of every context."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from muisti.errors import InvalidRequest, MuistiError, NotFound
from muisti.model import CORE_SECTIONS
from muisti.surfaces.web.csrf import Form, PostedForm
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, redirect, render, to_sentence

router = APIRouter(route_class=PageRoute)


@router.get("/core")
def show_core(request: Request, context: Context) -> Response:
    """Show both sections, with a form for each entry."""
    return _render_core(request, context, Form())


@router.post("/core")
def update_core(request: Request, context: Context, form: PostedForm) -> Response:
    """Set or remove one entry."""
    section, key = form.line("section"), form.line("key")
    try:
        if form.get("do") == "remove":
            context.memory.core_delete(section, key)
        else:
            context.memory.core_update(section, key, form.text("value"))
    except (InvalidRequest, NotFound) as error:
        return _render_core(request, context, form, error)
    return redirect("/core", "core")


def _render_core(
    request: Request, context: PageContext, form: Form, error: MuistiError | None = None
) -> Response:
    core = context.memory.core_get()
    sections = {name: dict(getattr(core, name)) for name in CORE_SECTIONS}
    size = 0
    for entries in sections.values():
        size += sum(len(f"{key}{value}".encode()) for key, value in entries.items())
    return render(
        request,
        "core.html",
        error.status if error else 200,
        sections=sections,
        size=size,
        max_size=context.memory.settings.core_max_bytes,
        form=form,
        error=to_sentence(error) if error else "",
    )
