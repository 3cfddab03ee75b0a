"""The health page: the index, extraction, problems, and how to fix them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from muisti.surfaces.web.csrf import CSRF_CHECK, PostedForm
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, is_fragment, redirect, render

router = APIRouter(route_class=PageRoute)


@router.get("/status")
def show_health(request: Request, context: Context) -> Response:
    """Show the state of the vault."""
    return render(request, "health.html", **_load_state(context))


@router.get("/status/progress")
def show_progress(request: Request, context: Context) -> Response:
    """Show the progress of the reindex job. The fragment polls this until the job has ended."""
    if not is_fragment(request):
        return redirect("/status")
    return render(request, "parts/progress.html", job=context.reindex_job.state)


@router.post("/status/reindex", dependencies=CSRF_CHECK)
def start_reindex(request: Request, context: Context) -> Response:
    """Start rebuilding the index from the files."""
    context.reindex_job.start()
    if is_fragment(request):
        return render(request, "parts/progress.html", job=context.reindex_job.state)
    return redirect("/status")


@router.post("/status/sync")
def sync(request: Request, context: Context, form: PostedForm) -> Response:
    """Rescan the files. If too many are missing, ask for confirmation first."""
    report = context.memory.sync(confirm=form.is_checked("confirm"))
    if report.paused:
        state = {**_load_state(context), "missing": report.missing}
        return render(request, "health.html", 409, **state)
    return redirect("/status", "synced")


def _load_state(context: PageContext) -> dict[str, Any]:
    memory = context.memory
    metrics = memory.metrics()
    search = metrics.latencies["search"]
    return {
        "stats": memory.get_stats(),
        "settings": memory.settings,
        "location": memory.location,
        "problems": memory.problems(),
        "degraded": memory.search("muisti", limit=1, record=False, project="*").degraded,
        "counters": metrics.counters,
        "waiting": memory.queue_status().waiting,
        "mean": search.seconds / search.count * 1000 if search.count else None,
        "searches": search.count,
        "document_sources": memory.list_document_sources(),
        "job": context.reindex_job.state,
        "missing": 0,
    }
