"""Links between memories: made, confirmed and taken back."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from muisti.errors import InvalidRequest
from muisti.surfaces.web.csrf import Form, Posted
from muisti.surfaces.web.page_context import At, PageContext
from muisti.surfaces.web.render import PageRoute, go, href, show
from muisti.surfaces.web.search import Question, looked_up

router = APIRouter(route_class=PageRoute)
REPLACED = "REPLACED_BY"
"""The one relation that is said from the other end: this memory's place was taken."""


@router.get("/memory/{memory_id}/pick")
def pick(request: Request, desk: At, memory_id: str, q: str = "") -> Response:
    """Memories to choose from, for a link."""
    found = looked_up(desk.memory, Question(q, source="memory", n=6)) if q.strip() else []
    return show(
        request,
        "parts/pick.html",
        found=[one.memory for one in found if one.memory.id != memory_id],
        q=q,
    )


@router.post("/memory/{memory_id}/link")
def link(desk: At, memory_id: str, form: Posted) -> Response:
    """Say how this memory stands to another."""
    target = form.line("target") or _named(desk, form)
    if form.get("type") == REPLACED:
        desk.memory.supersede(memory_id, target)
        return go(href(memory_id), "superseded")
    desk.memory.link(memory_id, target, form.get("type") or "RELATED_TO")
    return go(href(memory_id), "linked")


@router.post("/memory/{memory_id}/unlink")
def unlink(desk: At, memory_id: str, form: Posted) -> Response:
    """Take a link, or a proposal, back; it may begin at either end."""
    desk.memory.unlink(form.line("source"), form.line("target"), form.get("type") or "RELATED_TO")
    return go(href(memory_id), "unlinked")


@router.post("/memory/{memory_id}/confirm")
def confirm(desk: At, memory_id: str, form: Posted) -> Response:
    """Say that a link that was proposed is right."""
    desk.memory.link(form.line("source"), form.line("target"), form.get("type") or "RELATED_TO")
    return go(href(memory_id), "linked")


def _named(desk: PageContext, form: Form) -> str:
    """The memory that was typed instead of chosen: by a part of its id."""
    typed = form.line("q")
    found = desk.memory.find_ids(typed, limit=2) if len(typed) >= 4 else []
    if len(found) != 1:
        raise InvalidRequest(
            "memory",
            typed,
            "type some words of the other memory and choose one of those that are found",
        )
    return found[0]
