"""Links between memories, their history, and related memories."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas import Link, Memory, SessionScopeQuery
from muisti.surfaces.rest.schemas_maintenance import (
    Graph,
    GraphQuery,
    HistoryEntry,
    LinkQuery,
    NewLink,
    SupersedeRequest,
    SupersedingMemory,
    UnresolvedLink,
)
from muisti.surfaces.rest.schemas_search import RelatedQuery, SearchResult

ScopeDep = Annotated[SessionScopeQuery, Query()]
router = APIRouter(tags=["Links and history"], route_class=ThreadedRoute)


@router.get("/api/memories/{memory_id}/links", responses=document_errors("item"))
def list_links(memory: MemoryDep, memory_id: Id, query: ScopeDep) -> list[Link]:
    """List the links from and to a memory, oldest first."""
    found = memory.links(memory_id, **query.given_fields())
    return [Link.model_validate(one) for one in found]


@router.get("/api/unresolved-links", responses=document_errors("item"))
def list_unresolved_links(memory: MemoryDep, query: ScopeDep) -> list[UnresolvedLink]:
    """List the wikilinks in memories that lead to no memory, those of the latest memory first."""
    found = memory.unresolved_links(**query.given_fields())
    return [UnresolvedLink.model_validate(one) for one in found]


@router.post(
    "/api/memories/{memory_id}/links",
    status_code=201,
    responses=document_errors("item", "write", "body"),
)
def add_link(memory: MemoryDep, memory_id: Id, body: NewLink) -> Link:
    """Link this memory to another. Confirms the link if it was suggested."""
    options = body.given_fields()
    del options["target"]
    return Link.model_validate(memory.link(memory_id, body.target, **options))


@router.delete(
    "/api/memories/{memory_id}/links", status_code=204, responses=document_errors("item", "write")
)
def remove_link(memory: MemoryDep, memory_id: Id, query: Annotated[LinkQuery, Query()]) -> None:
    """Remove a link, or reject a suggested one."""
    memory.unlink(memory_id, query.target, query.type)


@router.post(
    "/api/memories/{memory_id}/supersede", responses=document_errors("item", "write", "body")
)
def supersede_memory(memory: MemoryDep, memory_id: Id, body: SupersedeRequest) -> Memory:
    """Replace this memory with another; this one is marked outdated and returned."""
    return Memory.model_validate(memory.supersede(memory_id, body.new_id))


@router.get("/api/memories/{memory_id}/superseding", responses=document_errors("item"))
def get_superseding_memory(memory: MemoryDep, memory_id: Id, query: ScopeDep) -> SupersedingMemory:
    """Return the memory that replaced this one, or null."""
    found = memory.superseding(memory_id, **query.given_fields())
    return SupersedingMemory(memory=None if found is None else Memory.model_validate(found))


@router.get("/api/memories/{memory_id}/graph", responses=document_errors("item"))
def get_link_graph(
    memory: MemoryDep, memory_id: Id, query: Annotated[GraphQuery, Query()]
) -> Graph:
    """Return the memories that can be reached through links, and the links."""
    return Graph.model_validate(memory.graph(memory_id, **query.given_fields()))


@router.get("/api/memories/{memory_id}/history", responses=document_errors("item"))
def get_memory_history(memory: MemoryDep, memory_id: Id, query: ScopeDep) -> list[HistoryEntry]:
    """Return a memory's history: versions, merges, links and uses, oldest first."""
    found = memory.history(memory_id, **query.given_fields())
    return [HistoryEntry.model_validate(one) for one in found]


@router.post("/api/memories/{memory_id}/unmerge", responses=document_errors("item", "write"))
def unmerge_memory(memory: MemoryDep, memory_id: Id) -> Memory:
    """Undo the last merge. Returns the memory that was split off."""
    return Memory.model_validate(memory.unmerge(memory_id))


@router.get("/api/memories/{memory_id}/related", responses=document_errors("item"))
def list_related_memories(
    memory: MemoryDep, memory_id: Id, query: Annotated[RelatedQuery, Query()]
) -> list[SearchResult]:
    """List memories with the same distinctive words or a similar meaning."""
    found = memory.related(memory_id, **query.given_fields())
    return [SearchResult.model_validate(one) for one in found]
