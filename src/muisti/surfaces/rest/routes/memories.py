"""Memories: list, save, read, update, delete, restore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response

from muisti import model
from muisti.engine import Muisti
from muisti.errors import Conflict, MemoryNotFound
from muisti.surfaces.rest import etags
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas import (
    DeleteQuery,
    GetQuery,
    ListQuery,
    Memory,
    MemoryDetails,
    MemoryPage,
    MemoryReplacement,
    MemoryUpdate,
    NewMemoryBatch,
    SaveMemory,
    make_details,
)
from muisti.surfaces.rest.schemas_maintenance import DeemphasizeRequest, ReinforceRequest

router = APIRouter(tags=["Memories"], route_class=ThreadedRoute)
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="Only update the version with this ETag.",
        max_length=1000,
    ),
]
_ETAG: dict[str, Any] = {"description": "The version.", "schema": {"type": "string"}}
_LOCATION: dict[str, Any] = {"description": "The memory's path.", "schema": {"type": "string"}}
WITH_ETAG: dict[str, Any] = {"headers": {"ETag": _ETAG}}
CREATED: dict[str, Any] = {"headers": {"ETag": _ETAG, "Location": _LOCATION}}


def make_page(memory: Muisti, found: Sequence[model.Memory], offset: int, limit: int) -> MemoryPage:
    """Return one page. Found: one more memory than the limit, if there is a next page."""
    shown = found[:limit]
    return MemoryPage(
        items=make_details(shown, memory.find_outdated([one.id for one in shown])),
        next_offset=offset + limit if len(found) > limit else None,
    )


def with_etag(memory: model.Memory, response: Response) -> Memory:
    """Return the response body, and set the ETag header."""
    response.headers["ETag"] = etags.make_etag(memory)
    return Memory.model_validate(memory)


@router.get("/api/memories", responses=document_errors("item"))
def list_memories(memory: MemoryDep, query: Annotated[ListQuery, Query()]) -> MemoryPage:
    """List memories, newest first."""
    found = memory.list(**{**query.given_fields(), "limit": query.limit + 1})
    return make_page(memory, found, query.offset, query.limit)


@router.post(
    "/api/memories",
    status_code=201,
    responses={201: CREATED, **document_errors("item", "write", "body")},
)
def save_memory(memory: MemoryDep, body: SaveMemory, response: Response) -> Memory:
    """Save a memory. A duplicate reinforces the existing memory and returns it.

    With `replaces`, another memory is marked as outdated; if there is none with that ID, nothing is
    saved.
    """
    saved = memory.save(**body.given_fields())
    response.headers["Location"] = f"/api/memories/{saved.id}"
    return with_etag(saved, response)


@router.post(
    "/api/memories/batch", status_code=201, responses=document_errors("item", "write", "body")
)
def save_memories(memory: MemoryDep, body: NewMemoryBatch) -> list[Memory]:
    """Save many memories: all of them or, if one is invalid, none."""
    saved = memory.save_batch([item.given_fields() for item in body.items])
    return [Memory.model_validate(one) for one in saved]


@router.get("/api/memories/{memory_id}", responses={200: WITH_ETAG, **document_errors("item")})
def get_memory(
    memory: MemoryDep, memory_id: Id, query: Annotated[GetQuery, Query()], response: Response
) -> MemoryDetails:
    """Return one memory. IDs from a search also find messages and sections of documents."""
    found = memory.get(memory_id, **query.given_fields())
    if found is None:
        raise MemoryNotFound(memory_id)
    response.headers["ETag"] = etags.make_etag(found)
    return make_details([found], memory.find_outdated([memory_id]))[0]


def _update(
    memory: Muisti, memory_id: str, changes: dict[str, Any], if_match: str | None
) -> model.Memory:
    """Update a memory; with If-Match, only that version. Raises HttpProblem, MemoryNotFound."""
    if if_match is None:
        return memory.update(memory_id, **changes)
    version = etags.match_version(if_match, memory_id, memory.get(memory_id))
    try:
        return memory.update(memory_id, expected_version=version, **changes)
    except Conflict as error:
        raise etags.stale_version(memory_id) from error


@router.patch(
    "/api/memories/{memory_id}",
    responses={200: WITH_ETAG, **document_errors("item", "write", "body", also=[412])},
)
def update_memory(
    memory: MemoryDep,
    memory_id: Id,
    body: MemoryUpdate,
    response: Response,
    if_match: IfMatch = None,
) -> Memory:
    """Update a memory; omitted fields are unchanged."""
    return with_etag(_update(memory, memory_id, body.given_fields(), if_match), response)


@router.put(
    "/api/memories/{memory_id}",
    responses={200: WITH_ETAG, **document_errors("item", "write", "body", also=[412])},
)
def replace_memory(
    memory: MemoryDep,
    memory_id: Id,
    body: MemoryReplacement,
    response: Response,
    if_match: IfMatch = None,
) -> Memory:
    """Replace the memory: omitted fields are reset. Keeps kind, sector, tier, project and trust."""
    fields = {name: getattr(body, name) for name in MemoryReplacement.model_fields}
    return with_etag(_update(memory, memory_id, fields, if_match), response)


@router.delete(
    "/api/memories/{memory_id}", status_code=204, responses=document_errors("item", "write")
)
def delete_memory(memory: MemoryDep, memory_id: Id, query: Annotated[DeleteQuery, Query()]) -> None:
    """Move a memory to the trash; with `hard`, delete it permanently."""
    if not memory.delete(memory_id, hard=query.hard):
        raise MemoryNotFound(memory_id)


@router.post(
    "/api/memories/{memory_id}/restore",
    responses={200: WITH_ETAG, **document_errors("item", "write")},
)
def restore_memory(memory: MemoryDep, memory_id: Id, response: Response) -> Memory:
    """Restore a memory from the trash or the archive."""
    return with_etag(memory.restore(memory_id), response)


@router.post("/api/memories/{memory_id}/touch", responses=document_errors("item", "write"))
def touch_memory(memory: MemoryDep, memory_id: Id) -> Memory:
    """Record an access."""
    return Memory.model_validate(memory.touch(memory_id))


@router.post(
    "/api/memories/{memory_id}/reinforce", responses=document_errors("item", "write", "body")
)
def reinforce_memory(
    memory: MemoryDep, memory_id: Id, body: ReinforceRequest | None = None
) -> Memory:
    """Raise a memory's salience, with diminishing returns."""
    options = {} if body is None else body.model_dump(exclude_none=True)
    return Memory.model_validate(memory.reinforce(memory_id, **options))


@router.post(
    "/api/memories/{memory_id}/deemphasize", responses=document_errors("item", "write", "body")
)
def deemphasize_memory(
    memory: MemoryDep, memory_id: Id, body: DeemphasizeRequest | None = None
) -> Memory:
    """Lower a memory's salience, never below 0.05."""
    options = {} if body is None else body.model_dump(exclude_none=True)
    return Memory.model_validate(memory.deemphasize(memory_id, **options))
