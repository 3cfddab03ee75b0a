"""How the vault is: the index, the vectors, what waits, and what to do about problems."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from muisti.surfaces.web.csrf import GUARDED, Posted
from muisti.surfaces.web.page_context import At, PageContext
from muisti.surfaces.web.render import PageRoute, go, is_fragment, show

router = APIRouter(route_class=PageRoute)


@router.get("/status")
def health(request: Request, desk: At) -> Response:
    """Everything that a person may have to look after."""
    return show(request, "health.html", **_state(desk))


@router.get("/status/progress")
def progress(request: Request, desk: At) -> Response:
    """How far the rebuilding of the index is; this part of the page asks for itself again until that has ended."""
    if not is_fragment(request):
        return go("/status")
    return show(request, "parts/progress.html", work=desk.work.state)


@router.post("/status/reindex", dependencies=GUARDED)
def reindex(request: Request, desk: At) -> Response:
    """Rebuild the index from the files."""
    desk.work.start()
    if is_fragment(request):
        return show(request, "parts/progress.html", work=desk.work.state)
    return go("/status")


@router.post("/status/sync")
def sync(request: Request, desk: At, form: Posted) -> Response:
    """Look for what was changed by hand; if so many files vanished that somebody is asked, only after a tick."""
    report = desk.memory.sync(confirm=form.ticked("confirm"))
    if report.paused:
        return show(request, "health.html", 409, **{**_state(desk), "missing": report.missing})
    return go("/status", "synced")


def _state(desk: PageContext) -> dict[str, Any]:
    memory = desk.memory
    settings = memory.settings
    metrics = memory.metrics()
    search = metrics.latencies["search"]
    stats = memory.get_stats()
    return {
        "stats": stats,
        "settings": settings,
        "location": memory.location,
        "problems": memory.problems(),
        "degraded": memory.search("muisti", limit=1, record=False, project="*").degraded,
        "counters": metrics.counters,
        "waiting": memory.queue_status().waiting,
        "mean": search.seconds / search.count * 1000 if search.count else None,
        "searches": search.count,
        "shelves": memory.list_document_sources(),
        "work": desk.work.state,
        "missing": 0,
    }
