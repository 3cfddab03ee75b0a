"""Whether the server lives, whether the memory can be used, what happens, and in numbers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import StreamingResponse

from muisti import __version__
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import MemoryDep
from muisti.surfaces.rest.events import EVENT_SCHEMA, EventBroadcaster
from muisti.surfaces.rest.metrics import MetricsRegistry
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas_maintenance import FileProblem, Health, Readiness

router = APIRouter(tags=["Health"], route_class=ThreadedRoute)
_NUMBERS: dict[str, Any] = {
    "content": {"text/plain": {"schema": {"type": "string"}}},
    "description": "For Prometheus.",
}
_EVENTS: dict[str, Any] = {
    "content": {"text/event-stream": {"schema": EVENT_SCHEMA}},
    "description": "Events `changed`, `upkeep` and `problem`, until the client goes.",
}


@router.get("/health", responses=document_errors())
async def health() -> Health:
    """That the server lives. Needs no token."""
    return Health(status="ok")


@router.get("/ready", responses=document_errors())
def ready(memory: MemoryDep) -> Readiness:
    """Whether the vault and the index answer, and what is not as it should be."""
    stats = memory.get_stats()
    notes = (
        [f"{stats.waiting_count} memories wait for their vectors"] if stats.waiting_count else []
    )
    if stats.problems:
        notes.append(f"{len(stats.problems)} files cannot be read")
    return Readiness(
        status="degraded" if notes else "ready",
        version=__version__,
        vault=memory.name,
        memories=stats.total_count,
        embedding_model=stats.embedding_model,
        waiting_count=stats.waiting_count,
        problems=[FileProblem.model_validate(one) for one in stats.problems],
        notes=notes,
    )


@router.get("/metrics", response_class=Response, responses={200: _NUMBERS, **document_errors()})
def metrics(memory: MemoryDep, request: Request) -> Response:
    """Counters, latencies, queues and sizes."""
    metrics: MetricsRegistry = request.app.state.metrics
    return Response(metrics.render(memory), media_type=CONTENT_TYPE_LATEST)


@router.get(
    "/api/events", response_class=StreamingResponse, responses={200: _EVENTS, **document_errors()}
)
async def events(_: MemoryDep, request: Request) -> StreamingResponse:
    """What changes in the vault, as it happens."""
    heard: EventBroadcaster = request.app.state.events
    return StreamingResponse(heard.subscribe(), media_type="text/event-stream")
