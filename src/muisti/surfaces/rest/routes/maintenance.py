"""Order in the vault: numbers, trash, archive, upkeep, the index, exchange with other programs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from muisti.errors import ImportFailed
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import MemoryDep
from muisti.surfaces.rest.events import EVENT_SCHEMA
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.reindexing import ReindexJob
from muisti.surfaces.rest.routes.memories import make_page
from muisti.surfaces.rest.schemas import Memory, MemoryPage, PageQuery
from muisti.surfaces.rest.schemas_maintenance import (
    EmptyTrashReport,
    ExportQuery,
    ImportReport,
    ImportRequest,
    MaintenanceReport,
    MaintenanceRequest,
    ReindexRequest,
    Stats,
    SyncReport,
    SyncRequest,
    VerifyReport,
)

router = APIRouter(tags=["Order"], route_class=ThreadedRoute)
_STREAM: dict[str, Any] = {
    "description": "Events `progress` with done and total, then `done` or `problem`.",
    "content": {"text/event-stream": {"schema": EVENT_SCHEMA}},
}
_EXPORT: dict[str, Any] = {
    "description": "A list of memories, or one Markdown text.",
    "content": {
        "application/json": {"schema": {"type": "array"}},
        "text/markdown": {"schema": {"type": "string"}},
    },
}


@router.get("/api/stats", responses=document_errors())
def stats(memory: MemoryDep) -> Stats:
    """The vault in numbers."""
    return Stats.model_validate(memory.get_stats())


@router.get("/api/trash", responses=document_errors())
def trash(memory: MemoryDep, asked: Annotated[PageQuery, Query()]) -> MemoryPage:
    """What was deleted, the latest first; `restore` brings one back."""
    return make_page(
        memory.list_trash(limit=asked.limit + 1, offset=asked.offset), asked.offset, asked.limit
    )


@router.delete("/api/trash", responses=document_errors("change"))
def empty_trash(memory: MemoryDep) -> EmptyTrashReport:
    """Remove all of it for good."""
    return EmptyTrashReport(
        removed=sum(memory.delete(one.id, hard=True) for one in memory.list_trash())
    )


@router.get("/api/archive", responses=document_errors())
def archive(memory: MemoryDep, asked: Annotated[PageQuery, Query()]) -> MemoryPage:
    """What upkeep archived, the latest first; `restore` brings one back. A file that cannot be read is left out."""
    found = memory.list_archive(limit=asked.limit, offset=asked.offset)
    following = asked.offset + asked.limit
    more = memory.count_archive() > following
    return MemoryPage(
        items=[Memory.model_validate(one) for one in found], next_offset=following if more else None
    )


@router.post("/api/upkeep", responses=document_errors("change", "body"))
def upkeep(memory: MemoryDep, body: MaintenanceRequest | None = None) -> MaintenanceReport:
    """Note what has faded, clean up and archive as the settings say. Nothing is erased."""
    return MaintenanceReport.model_validate(
        memory.upkeep(dry_run=body is not None and body.dry_run)
    )


@router.post("/api/sync", responses=document_errors("change", "body", also=(501,)))
def sync(memory: MemoryDep, body: SyncRequest | None = None) -> SyncReport:
    """Take in what was changed by hand. Confirm: forget files that vanished, however many."""
    return SyncReport.model_validate(memory.sync(confirm=body is not None and body.confirm))


@router.get("/api/verify", responses=document_errors())
def verify(memory: MemoryDep) -> VerifyReport:
    """Whether files and index agree."""
    return VerifyReport.model_validate(memory.verify())


@router.post(
    "/api/reindex",
    response_class=StreamingResponse,
    responses={200: _STREAM, **document_errors("change", "body")},
)
async def reindex(
    memory: MemoryDep, request: Request, body: ReindexRequest | None = None
) -> StreamingResponse:
    """Rebuild the index from the files while others keep reading, or only make the vectors that are missing."""
    work: ReindexJob = request.app.state.reindexing
    stream = work.start(memory, vectors=body is not None and body.vectors)
    return StreamingResponse(stream, media_type="text/event-stream")


@router.get("/api/export", response_class=Response, responses={200: _EXPORT, **document_errors()})
def export_memories(memory: MemoryDep, asked: Annotated[ExportQuery, Query()]) -> Response:
    """All memories, or those a filter lets through, as `import` reads them."""
    said = {name: value for name, value in asked.given_fields().items() if name != "format"}
    text = memory.export_memories(format=asked.format, **said)
    kind = "application/json" if asked.format == "json" else "text/markdown"
    return Response(text, media_type=kind)


@router.post("/api/import", responses=document_errors("change", "body"))
def import_memories(memory: MemoryDep, body: ImportRequest) -> ImportReport:
    """Take in memories from elsewhere, all or none; what is here already is left alone."""
    with tempfile.TemporaryDirectory(prefix="muisti-import-") as folder:
        source = Path(folder) / "import.json"
        source.write_text(json.dumps(body.memories), encoding="utf-8")
        try:
            count = memory.import_memories(
                source, kind=body.kind, project=body.project, trusted=body.trusted
            )
        except ImportFailed as error:
            raise ImportFailed(
                str(error).replace(f"{source}, ", "").replace(str(source), "memories")
            ) from error
    return ImportReport(imported=count)
