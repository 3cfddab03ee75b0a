"""Add, confirm and remove links between memories."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from muisti.errors import InvalidRequest
from muisti.model import SearchResults
from muisti.surfaces.web.csrf import Form, PostedForm
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, memory_url, redirect, render
from muisti.surfaces.web.search import SearchParams, run_search

router = APIRouter(route_class=PageRoute)
REPLACED_BY = "REPLACED_BY"
"""The option of the form that links in the other direction: the target supersedes this memory."""


@router.get("/memory/{memory_id}/pick")
def show_link_targets(request: Request, context: Context, memory_id: str, q: str = "") -> Response:
    """Show memories to choose as the target of a link."""
    results = SearchResults()
    if q.strip():
        results = run_search(context.memory, SearchParams(q, source="memory", n=6))
    memories = [one.memory for one in results if one.memory.id != memory_id]
    return render(request, "parts/link_targets.html", memories=memories, q=q)


@router.post("/memory/{memory_id}/link")
def add_link(context: Context, memory_id: str, form: PostedForm) -> Response:
    """Link this memory to another."""
    target = form.line("target") or _find_by_id(context, form)
    if form.get("type") == REPLACED_BY:
        context.memory.supersede(memory_id, target)
        return redirect(memory_url(memory_id), "superseded")
    context.memory.link(memory_id, target, form.get("type") or "RELATED_TO")
    return redirect(memory_url(memory_id), "linked")


@router.post("/memory/{memory_id}/unlink")
def remove_link(context: Context, memory_id: str, form: PostedForm) -> Response:
    """Remove a link or reject a suggested one, in either direction."""
    context.memory.unlink(
        form.line("source"), form.line("target"), form.get("type") or "RELATED_TO"
    )
    return redirect(memory_url(memory_id), "unlinked")


@router.post("/memory/{memory_id}/confirm")
def confirm_link(context: Context, memory_id: str, form: PostedForm) -> Response:
    """Confirm a suggested link."""
    context.memory.link(form.line("source"), form.line("target"), form.get("type") or "RELATED_TO")
    return redirect(memory_url(memory_id), "linked")


def _find_by_id(context: PageContext, form: Form) -> str:
    """Return the ID that the typed text is a part of. Raises InvalidRequest."""
    typed = form.line("q")
    found = context.memory.find_ids(typed, limit=2) if len(typed) >= 4 else []
    if len(found) != 1:
        reason = "must be chosen: type words of the other memory and select one of the results"
        raise InvalidRequest("target", typed, reason)
    return found[0]
