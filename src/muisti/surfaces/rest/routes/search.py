"""Search in three steps (IDs, neighbours, full memories), explanations, and prompt context."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response

from muisti import model
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas import MemoryDetails, make_details
from muisti.surfaces.rest.schemas_search import (
    CompactQuery,
    CompactResult,
    ContextRequest,
    DetailsRequest,
    ExplainQuery,
    Explanation,
    PromptContext,
    SearchQuery,
    SearchRequest,
    SearchResult,
    SearchResults,
    TimelineQuery,
)

router = APIRouter(tags=["Search"], route_class=ThreadedRoute)
MAX_HEADER = 4_000


def _to_response(results: model.SearchResults) -> SearchResults:
    return SearchResults(
        results=[SearchResult.model_validate(one) for one in results],
        mode=results.mode,
        degraded=results.degraded,
        hint=results.hint,
        has_good_match=results.has_good_match,
    )


@router.get("/api/search", responses=document_errors("item"))
def search_memories(memory: MemoryDep, query: Annotated[SearchQuery, Query()]) -> SearchResults:
    """Search memories, messages and documents, best first, with snippets and reasons."""
    return _to_response(memory.search(**query.given_fields()))


@router.post("/api/search", responses=document_errors("item", "body"))
def search_with_long_query(memory: MemoryDep, body: SearchRequest) -> SearchResults:
    """Search with a query that is too long or too private for a URL."""
    return _to_response(memory.search(**body.given_fields()))


@router.get("/api/search/compact", responses=document_errors("item"))
def search_compact(
    memory: MemoryDep, query: Annotated[CompactQuery, Query()]
) -> list[CompactResult]:
    """Search, IDs and titles only. Not recorded as a recall."""
    found = memory.search_compact(**query.given_fields())
    return [CompactResult.model_validate(one) for one in found]


@router.get("/api/search/timeline/{memory_id}", responses=document_errors("item"))
def get_timeline(
    memory: MemoryDep, memory_id: Id, query: Annotated[TimelineQuery, Query()]
) -> list[CompactResult]:
    """Return the memories before and after this one in its project."""
    found = memory.timeline(memory_id, **query.given_fields())
    return [CompactResult.model_validate(one) for one in found]


@router.post("/api/search/details", responses=document_errors("item", "body"))
def get_memory_details(
    memory: MemoryDep, body: DetailsRequest, response: Response
) -> list[MemoryDetails]:
    """Return full memories. Those that are gone are left out.

    The header `Missing-Count` says how many; `Missing-Ids` has their IDs, percent-encoded, as many
    as fit into 4 kB.
    """
    found = memory.details(**body.given_fields())
    if found.missing:
        # IDs of sections have any characters, and proxies allow few kilobytes of headers.
        ids = ", ".join(quote(one, safe=":/#@") for one in found.missing)
        if len(ids) > MAX_HEADER:
            ids = ids[:MAX_HEADER].rpartition(", ")[0]
        response.headers["Missing-Ids"] = ids
        response.headers["Missing-Count"] = str(len(found.missing))
    return make_details(found, memory.find_outdated(**body.given_fields()))


@router.get("/api/search/explain", responses=document_errors("item"))
def explain_result(memory: MemoryDep, query: Annotated[ExplainQuery, Query()]) -> Explanation:
    """Explain why a memory is found by a query, or is not."""
    return Explanation.model_validate(memory.explain(**query.given_fields()))


@router.post("/api/context", responses=document_errors("item", "body"))
def compose_context(memory: MemoryDep, body: ContextRequest) -> PromptContext:
    """Return core memory and the best memories for a prompt, fenced, within a token budget."""
    return PromptContext(context=memory.context(**body.given_fields()))
