"""Statistics, trash, archive, maintenance, the index, import and export."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from muisti.errors import ImportFailed
from muisti.model.validity import is_outdated
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import MemoryDep, get_reindexing
from muisti.surfaces.rest.events import EVENT_SCHEMA
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.routes.memories import make_page
from muisti.surfaces.rest.schemas import MemoryPage, PageQuery, make_details
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

router = APIRouter(tags=["Maintenance"], route_class=ThreadedRoute)
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
def get_stats(memory: MemoryDep) -> Stats:
    """Return statistics of the vault."""
    return Stats.model_validate(memory.get_stats())


@router.get("/api/trash", responses=document_errors())
def list_trash(memory: MemoryDep, query: Annotated[PageQuery, Query()]) -> MemoryPage:
    """List deleted memories, latest first."""
    found = memory.list_trash(limit=query.limit + 1, offset=query.offset)
    return make_page(memory, found, query.offset, query.limit)


@router.delete("/api/trash", responses=document_errors("write"))
def empty_trash(memory: MemoryDep) -> EmptyTrashReport:
    """Delete all memories in the trash permanently."""
    removed = sum(memory.delete(one.id, hard=True) for one in memory.list_trash())
    return EmptyTrashReport(removed=removed)


@router.get("/api/archive", responses=document_errors())
def list_archive(memory: MemoryDep, query: Annotated[PageQuery, Query()]) -> MemoryPage:
    """List archived memories, latest first. Files that cannot be read are left out."""
    found = memory.list_archive(limit=query.limit, offset=query.offset)
    next_offset = query.offset + query.limit
    has_more = memory.count_archive() > next_offset
    now = datetime.now(UTC)
    outdated = {one.id: None for one in found if is_outdated(one, now)}
    return MemoryPage(
        items=make_details(found, outdated),
        next_offset=next_offset if has_more else None,
    )


@router.post("/api/upkeep", responses=document_errors("write", "body"))
def run_maintenance(memory: MemoryDep, body: MaintenanceRequest | None = None) -> MaintenanceReport:
    """Run maintenance: decay salience, clean up and archive as configured. Deletes nothing."""
    dry_run = body is not None and body.dry_run
    return MaintenanceReport.model_validate(memory.upkeep(dry_run=dry_run))


@router.post("/api/sync", responses=document_errors("write", "body", also=(501,)))
def sync_files(memory: MemoryDep, body: SyncRequest | None = None) -> SyncReport:
    """Pick up external file changes. With `confirm`, memories of missing files are removed."""
    return SyncReport.model_validate(memory.sync(confirm=body is not None and body.confirm))


@router.get("/api/verify", responses=document_errors())
def verify_index(memory: MemoryDep) -> VerifyReport:
    """Check the index against the files."""
    return VerifyReport.model_validate(memory.verify())


@router.post(
    "/api/reindex",
    response_class=StreamingResponse,
    responses={200: _STREAM, **document_errors("write", "body")},
)
async def rebuild_index(
    memory: MemoryDep, request: Request, body: ReindexRequest | None = None
) -> StreamingResponse:
    """Rebuild the index from the files, or only create missing vectors. Reads continue to work."""
    stream = get_reindexing(request).start(memory, vectors=body is not None and body.vectors)
    return StreamingResponse(stream, media_type="text/event-stream")


@router.get(
    "/api/export", response_class=Response, responses={200: _EXPORT, **document_errors("item")}
)
def export_memories(memory: MemoryDep, query: Annotated[ExportQuery, Query()]) -> Response:
    """Export memories in a format that `import` reads."""
    filters = query.given_fields()
    filters.pop("format", None)
    text = memory.export_memories(format=query.format, **filters)
    media_type = "application/json" if query.format == "json" else "text/markdown"
    return Response(text, media_type=media_type)


@router.post("/api/import", responses=document_errors("write", "body"))
def import_memories(memory: MemoryDep, body: ImportRequest) -> ImportReport:
    """Import memories, all or none. Existing ones are not changed."""
    with tempfile.TemporaryDirectory(prefix="muisti-import-") as folder:
        source = Path(folder) / "import.json"
        source.write_text(json.dumps(body.memories), encoding="utf-8")
        try:
            count = memory.import_memories(
                source, kind=body.kind, project=body.project, trusted=body.trusted
            )
        except ImportFailed as error:
            # The client does not know the temporary file.
            message = str(error).replace(f"{source}, ", "").replace(str(source), "memories")
            raise ImportFailed(message) from error
    return ImportReport(imported=count)
