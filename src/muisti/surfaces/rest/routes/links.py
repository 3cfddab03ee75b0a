"""How memories stand to each other, and what became of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas import Link, Memory
from muisti.surfaces.rest.schemas_maintenance import (
    Graph,
    GraphQuery,
    HistoryEntry,
    LinkQuery,
    NewLink,
    SupersedeRequest,
    SupersedingMemory,
)
from muisti.surfaces.rest.schemas_search import RelatedQuery, SearchResult

router = APIRouter(tags=["Links and history"], route_class=ThreadedRoute)


@router.get("/api/memories/{memory_id}/links", responses=document_errors("one"))
def list_links(memory: MemoryDep, memory_id: Id) -> list[Link]:
    """The links that begin or end here, oldest first."""
    return [Link.model_validate(one) for one in memory.links(memory_id)]


@router.post(
    "/api/memories/{memory_id}/links",
    status_code=201,
    responses=document_errors("one", "change", "body"),
)
def link_memory(memory: MemoryDep, memory_id: Id, body: NewLink) -> Link:
    """Say how this memory stands to another. A link that was proposed is confirmed by this."""
    said = {name: value for name, value in body.given_fields().items() if name != "target"}
    return Link.model_validate(memory.link(memory_id, body.target, **said))


@router.delete(
    "/api/memories/{memory_id}/links", status_code=204, responses=document_errors("one", "change")
)
def unlink_memory(memory: MemoryDep, memory_id: Id, asked: Annotated[LinkQuery, Query()]) -> None:
    """Take a link, or the proposal of one, back."""
    memory.unlink(memory_id, asked.target, asked.type)


@router.post(
    "/api/memories/{memory_id}/supersede", responses=document_errors("one", "change", "body")
)
def supersede_memory(memory: MemoryDep, memory_id: Id, body: SupersedeRequest) -> Memory:
    """Let another memory take the place of this one, which is true no longer. Answers this one."""
    return Memory.model_validate(memory.supersede(memory_id, body.new_id))


@router.get("/api/memories/{memory_id}/superseding", responses=document_errors("one"))
def superseding_memory(memory: MemoryDep, memory_id: Id) -> SupersedingMemory:
    """The memory that took its place, if one did."""
    found = memory.superseding(memory_id)
    return SupersedingMemory(memory=None if found is None else Memory.model_validate(found))


@router.get("/api/memories/{memory_id}/graph", responses=document_errors("one"))
def memory_graph(memory: MemoryDep, memory_id: Id, asked: Annotated[GraphQuery, Query()]) -> Graph:
    """The memories that can be reached over links, and the links."""
    return Graph.model_validate(memory.graph(memory_id, depth=asked.depth))


@router.get("/api/memories/{memory_id}/history", responses=document_errors("one"))
def memory_history(memory: MemoryDep, memory_id: Id) -> list[HistoryEntry]:
    """What became of it: versions, merges, links, uses, in the order of time."""
    return [HistoryEntry.model_validate(one) for one in memory.history(memory_id)]


@router.post("/api/memories/{memory_id}/unmerge", responses=document_errors("one", "change"))
def unmerge_memory(memory: MemoryDep, memory_id: Id) -> Memory:
    """Make what was last merged into it a memory of its own again."""
    return Memory.model_validate(memory.unmerge(memory_id))


@router.get("/api/memories/{memory_id}/related", responses=document_errors("one"))
def related_memories(
    memory: MemoryDep, memory_id: Id, asked: Annotated[RelatedQuery, Query()]
) -> list[SearchResult]:
    """Memories that share the most telling words, or are near in meaning."""
    return [
        SearchResult.model_validate(one)
        for one in memory.related(memory_id, **asked.given_fields())
    ]
