"""Health, readiness, metrics and events."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import StreamingResponse

from muisti import __version__
from muisti.model.tenants import FIRST_TENANT
from muisti.surfaces.access import CALLER
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import MemoryDep, get_events
from muisti.surfaces.rest.events import EVENT_SCHEMA
from muisti.surfaces.rest.metrics import MetricsRegistry
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas_maintenance import (
    DatabaseStatus,
    FileProblem,
    Health,
    Readiness,
)

router = APIRouter(tags=["Health"], route_class=ThreadedRoute)
_METRICS: dict[str, Any] = {
    "content": {"text/plain": {"schema": {"type": "string"}}},
    "description": "Prometheus text format.",
}
_EVENTS: dict[str, Any] = {
    "content": {"text/event-stream": {"schema": EVENT_SCHEMA}},
    "description": "Events `changed`, `upkeep` and `problem`, until the client disconnects.",
}


@router.get("/health", responses=document_errors())
async def check_health() -> Health:
    """Return ok while the server is running. Needs no token."""
    return Health(status="ok")


@router.get("/ready", responses=document_errors())
def check_readiness(memory: MemoryDep) -> Readiness:
    """Check that the vault and the index can be used, and report what is degraded."""
    stats = memory.get_stats()
    notes = []
    if not memory.is_trusted:
        notes.append("the vault is not trusted: read-only; `muisti trust` if it is yours")
    if stats.waiting_count:
        noun = "memory is" if stats.waiting_count == 1 else "memories are"
        notes.append(f"{stats.waiting_count} {noun} not embedded yet")
    missing = [problem for problem in stats.problems if problem.is_missing]
    notes += [f"{problem.path}: {problem.reason}" for problem in missing]
    unreadable = len(stats.problems) - len(missing)
    if unreadable:
        noun = "file" if unreadable == 1 else "files"
        notes.append(f"{unreadable} {noun} cannot be read")
    database = None
    if stats.database is not None:
        database = DatabaseStatus.model_validate(stats.database)
        if not database.is_primary:
            notes.append("the database is a replica: reading works, writing does not")
    return Readiness(
        status="degraded" if notes else "ready",
        version=__version__,
        vault=memory.name,
        memories=stats.total_count,
        embedding_model=stats.embedding_model,
        waiting_count=stats.waiting_count,
        queued_exchanges=memory.queue_status().waiting,
        database=database,
        problems=[FileProblem.model_validate(problem) for problem in stats.problems],
        notes=notes,
    )


@router.get("/metrics", response_class=Response, responses={200: _METRICS, **document_errors()})
def get_metrics(memory: MemoryDep, request: Request) -> Response:
    """Return counters, latencies, queue lengths and sizes for Prometheus."""
    metrics: MetricsRegistry = request.app.state.metrics
    caller = CALLER.get()
    is_operator = caller is None or caller.access.tenant == FIRST_TENANT
    return Response(metrics.render(memory, requests=is_operator), media_type=CONTENT_TYPE_LATEST)


@router.get(
    "/api/events", response_class=StreamingResponse, responses={200: _EVENTS, **document_errors()}
)
async def stream_events(_: MemoryDep, request: Request) -> StreamingResponse:
    """Stream changes of the vault as server-sent events."""
    caller = CALLER.get()
    is_admitted = None if caller is None else caller.is_admitted
    stream = get_events(request).subscribe(is_admitted)
    return StreamingResponse(stream, media_type="text/event-stream")
