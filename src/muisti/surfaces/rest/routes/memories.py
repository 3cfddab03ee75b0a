"""Memories: list, save, read, change, delete, bring back."""

from __future__ import annotations

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
    MemoryPage,
    MemoryReplacement,
    MemoryUpdate,
    NewMemory,
    NewMemoryBatch,
)
from muisti.surfaces.rest.schemas_maintenance import DeemphasizeRequest, ReinforceRequest

router = APIRouter(tags=["Memories"], route_class=ThreadedRoute)
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", description="The ETag of the version that you know.", max_length=1000),
]
_TAGGED: dict[str, Any] = {
    "headers": {"ETag": {"description": "Names this version.", "schema": {"type": "string"}}}
}
_MADE: dict[str, Any] = {
    "headers": {
        **_TAGGED["headers"],
        "Location": {"description": "Where it is.", "schema": {"type": "string"}},
    }
}


def make_page(found: list[model.Memory], offset: int, limit: int) -> MemoryPage:
    """One page of a list that was asked for one more than it has."""
    more = len(found) > limit
    return MemoryPage(
        items=[Memory.model_validate(one) for one in found[:limit]],
        next_offset=offset + limit if more else None,
    )


def _with_etag(memory: model.Memory, response: Response) -> Memory:
    response.headers["ETag"] = etags.etag(memory)
    return Memory.model_validate(memory)


@router.get("/api/memories", responses=document_errors())
def list_memories(memory: MemoryDep, asked: Annotated[ListQuery, Query()]) -> MemoryPage:
    """Memories of all sessions, newest first."""
    found = memory.list(**{**asked.given_fields(), "limit": asked.limit + 1})
    return make_page(found, asked.offset, asked.limit)


@router.post(
    "/api/memories", status_code=201, responses={201: _MADE, **document_errors("change", "body")}
)
def save_memory(memory: MemoryDep, body: NewMemory, response: Response) -> Memory:
    """Remember a text. Saying the same again reinforces what is there, and answers it."""
    saved = memory.save(**body.given_fields())
    response.headers["Location"] = f"/api/memories/{saved.id}"
    return _with_etag(saved, response)


@router.post("/api/memories/batch", status_code=201, responses=document_errors("change", "body"))
def save_memories(memory: MemoryDep, body: NewMemoryBatch) -> list[Memory]:
    """Remember many texts at once: all of them or, if one is not acceptable, none."""
    return [
        Memory.model_validate(one)
        for one in memory.save_batch([item.given_fields() for item in body.items])
    ]


@router.get("/api/memories/{memory_id}", responses={200: _TAGGED, **document_errors("one")})
def get_memory(
    memory: MemoryDep, memory_id: Id, asked: Annotated[GetQuery, Query()], response: Response
) -> Memory:
    """One memory; by the id that a search answered also a message, or a section of a document."""
    found = memory.get(
        memory_id, include_deleted=asked.include_deleted, include_archived=asked.include_archived
    )
    if found is None:
        raise MemoryNotFound(memory_id)
    return _with_etag(found, response)


def _update(
    memory: Muisti, memory_id: str, changes: dict[str, Any], if_match: str | None
) -> model.Memory:
    """Change it, but with If-Match only the version that it names. Raises Refused, MemoryNotFound."""
    if if_match is None:
        return memory.update(memory_id, **changes)
    version = etags.match_version(if_match, memory_id, memory.get(memory_id))
    try:
        return memory.update(memory_id, expected_version=version, **changes)
    except Conflict as error:
        raise etags.stale_version(memory_id) from error


@router.patch(
    "/api/memories/{memory_id}",
    responses={200: _TAGGED, **document_errors("one", "change", "body", also=[412])},
)
def change_memory(
    memory: MemoryDep,
    memory_id: Id,
    body: MemoryUpdate,
    response: Response,
    if_match: IfMatch = None,
) -> Memory:
    """Change some fields; what is not named stays."""
    return _with_etag(_update(memory, memory_id, body.given_fields(), if_match), response)


@router.put(
    "/api/memories/{memory_id}",
    responses={200: _TAGGED, **document_errors("one", "change", "body", also=[412])},
)
def replace_memory(
    memory: MemoryDep,
    memory_id: Id,
    body: MemoryReplacement,
    response: Response,
    if_match: IfMatch = None,
) -> Memory:
    """Make it what is sent; kind, sector, tier, project and trust stay."""
    whole = {name: getattr(body, name) for name in MemoryReplacement.model_fields}
    return _with_etag(_update(memory, memory_id, whole, if_match), response)


@router.delete(
    "/api/memories/{memory_id}", status_code=204, responses=document_errors("one", "change")
)
def delete_memory(memory: MemoryDep, memory_id: Id, asked: Annotated[DeleteQuery, Query()]) -> None:
    """Move to the trash, or with `hard` leave no byte."""
    if not memory.delete(memory_id, hard=asked.hard):
        raise MemoryNotFound(memory_id)


@router.post(
    "/api/memories/{memory_id}/restore",
    responses={200: _TAGGED, **document_errors("one", "change")},
)
def restore_memory(memory: MemoryDep, memory_id: Id, response: Response) -> Memory:
    """Bring back from the trash or the archive."""
    return _with_etag(memory.restore(memory_id), response)


@router.post("/api/memories/{memory_id}/touch", responses=document_errors("one", "change"))
def touch_memory(memory: MemoryDep, memory_id: Id) -> Memory:
    """Note that it was looked at."""
    return Memory.model_validate(memory.touch(memory_id))


@router.post(
    "/api/memories/{memory_id}/reinforce", responses=document_errors("one", "change", "body")
)
def reinforce_memory(
    memory: MemoryDep, memory_id: Id, body: ReinforceRequest | None = None
) -> Memory:
    """Make it stronger, with diminishing returns."""
    said = (
        {}
        if body is None
        else {name: value for name, value in body.given_fields().items() if value is not None}
    )
    return Memory.model_validate(memory.reinforce(memory_id, **said))


@router.post(
    "/api/memories/{memory_id}/deemphasize", responses=document_errors("one", "change", "body")
)
def deemphasize_memory(
    memory: MemoryDep, memory_id: Id, body: DeemphasizeRequest | None = None
) -> Memory:
    """Make it weaker, never below 0.05."""
    said = (
        {}
        if body is None
        else {name: value for name, value in body.given_fields().items() if value is not None}
    )
    return Memory.model_validate(memory.deemphasize(memory_id, **said))
