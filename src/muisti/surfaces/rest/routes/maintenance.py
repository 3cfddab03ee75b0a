"""Order in the vault: numbers, trash, archive, upkeep, the index, exchange with other programs."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from muisti.errors import ImportFailed
from muisti.surfaces.rest.concurrency import Lane
from muisti.surfaces.rest.dependencies import Asking
from muisti.surfaces.rest.events import EVENT
from muisti.surfaces.rest.problems import may_fail
from muisti.surfaces.rest.reindexing import Reindexing
from muisti.surfaces.rest.routes.memories import paged
from muisti.surfaces.rest.schemas import Memories, Memory, Page
from muisti.surfaces.rest.schemas_maintenance import (
    DryRun,
    Emptied,
    ExportQuery,
    ImportBody,
    Imported,
    ReindexBody,
    Stats,
    SyncBody,
    Synced,
    Upkeep,
    Verified,
)

router = APIRouter(tags=["Order"], route_class=Lane)
_STREAM: dict[str, Any] = {
    "description": "Events `progress` with done and total, then `done` or `problem`.",
    "content": {"text/event-stream": {"schema": EVENT}},
}
_EXPORT: dict[str, Any] = {
    "description": "A list of memories, or one Markdown text.",
    "content": {
        "application/json": {"schema": {"type": "array"}},
        "text/markdown": {"schema": {"type": "string"}},
    },
}


@router.get("/api/stats", responses=may_fail())
def stats(memory: Asking) -> Stats:
    """The vault in numbers."""
    return Stats.model_validate(memory.get_stats())


@router.get("/api/trash", responses=may_fail())
def trash(memory: Asking, asked: Annotated[Page, Query()]) -> Memories:
    """What was deleted, the latest first; `restore` brings one back."""
    return paged(
        memory.list_trash(limit=asked.limit + 1, offset=asked.offset), asked.offset, asked.limit
    )


@router.delete("/api/trash", responses=may_fail("change"))
def empty_trash(memory: Asking) -> Emptied:
    """Remove all of it for good."""
    return Emptied(removed=sum(memory.delete(one.id, hard=True) for one in memory.list_trash()))


@router.get("/api/archive", responses=may_fail())
def archive(memory: Asking, asked: Annotated[Page, Query()]) -> Memories:
    """What upkeep archived, the latest first; `restore` brings one back. A file that cannot be read is left out."""
    found = memory.list_archive(limit=asked.limit, offset=asked.offset)
    following = asked.offset + asked.limit
    more = memory.count_archive() > following
    return Memories(
        items=[Memory.model_validate(one) for one in found], next_offset=following if more else None
    )


@router.post("/api/upkeep", responses=may_fail("change", "body"))
def upkeep(memory: Asking, body: DryRun | None = None) -> Upkeep:
    """Note what has faded, clean up and archive as the settings say. Nothing is erased."""
    return Upkeep.model_validate(memory.upkeep(dry_run=body is not None and body.dry_run))


@router.post("/api/sync", responses=may_fail("change", "body", also=(501,)))
def sync(memory: Asking, body: SyncBody | None = None) -> Synced:
    """Take in what was changed by hand. Confirm: forget files that vanished, however many."""
    return Synced.model_validate(memory.sync(confirm=body is not None and body.confirm))


@router.get("/api/verify", responses=may_fail())
def verify(memory: Asking) -> Verified:
    """Whether files and index agree."""
    return Verified.model_validate(memory.verify())


@router.post(
    "/api/reindex",
    response_class=StreamingResponse,
    responses={200: _STREAM, **may_fail("change", "body")},
)
async def reindex(
    memory: Asking, request: Request, body: ReindexBody | None = None
) -> StreamingResponse:
    """Rebuild the index from the files while others keep reading, or only make the vectors that are missing."""
    work: Reindexing = request.app.state.reindexing
    stream = work.begin(memory, vectors=body is not None and body.vectors)
    return StreamingResponse(stream, media_type="text/event-stream")


@router.get("/api/export", response_class=Response, responses={200: _EXPORT, **may_fail()})
def export_memories(memory: Asking, asked: Annotated[ExportQuery, Query()]) -> Response:
    """All memories, or those a filter lets through, as `import` reads them."""
    said = {name: value for name, value in asked.given_fields().items() if name != "format"}
    text = memory.export_memories(format=asked.format, **said)
    kind = "application/json" if asked.format == "json" else "text/markdown"
    return Response(text, media_type=kind)


@router.post("/api/import", responses=may_fail("change", "body"))
def import_memories(memory: Asking, body: ImportBody) -> Imported:
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
    return Imported(imported=count)
