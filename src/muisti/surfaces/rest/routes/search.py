"""Search in its three layers, why it answers as it does, and a context for a prompt."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from muisti import model
from muisti.surfaces.rest.concurrency import ThreadedRoute
from muisti.surfaces.rest.dependencies import Id, MemoryDep
from muisti.surfaces.rest.problems import document_errors
from muisti.surfaces.rest.schemas import Memory
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


def _to_response(results: model.SearchResults) -> SearchResults:
    """The answers, and how they were found."""
    return SearchResults(
        results=[SearchResult.model_validate(one) for one in results],
        mode=results.mode,
        degraded=results.degraded,
    )


@router.get("/api/search", responses=document_errors())
def search(memory: MemoryDep, asked: Annotated[SearchQuery, Query()]) -> SearchResults:
    """The memories, messages and documents that answer a query, best first, with snippets and reasons."""
    return _to_response(memory.search(**asked.given_fields()))


@router.post("/api/search", responses=document_errors("body"))
def search_long(memory: MemoryDep, body: SearchRequest) -> SearchResults:
    """The same, for a query that is too long, or too private, for an address."""
    return _to_response(memory.search(**body.given_fields()))


@router.get("/api/search/compact", responses=document_errors())
def search_compact(
    memory: MemoryDep, asked: Annotated[CompactQuery, Query()]
) -> list[CompactResult]:
    """The first layer: ids, titles and scores to choose from. Counts as no recall."""
    return [
        CompactResult.model_validate(one) for one in memory.search_compact(**asked.given_fields())
    ]


@router.get("/api/search/timeline/{memory_id}", responses=document_errors("one"))
def timeline(
    memory: MemoryDep, memory_id: Id, asked: Annotated[TimelineQuery, Query()]
) -> list[CompactResult]:
    """The second layer: what came before and after in the same project."""
    around = memory.timeline(memory_id, before=asked.before, after=asked.after)
    return [CompactResult.model_validate(one) for one in around]


@router.post("/api/search/details", responses=document_errors("one", "body"))
def details(memory: MemoryDep, body: DetailsRequest) -> list[Memory]:
    """The third layer: whole memories."""
    return [
        Memory.model_validate(one) for one in memory.details(body.ids, session_id=body.session_id)
    ]


@router.get("/api/search/explain", responses=document_errors("one"))
def explain(memory: MemoryDep, asked: Annotated[ExplainQuery, Query()]) -> Explanation:
    """Why this memory is, or is not, an answer to the query."""
    return Explanation.model_validate(memory.explain(**asked.given_fields()))


@router.post("/api/context", responses=document_errors("body"))
def context(memory: MemoryDep, body: ContextRequest) -> PromptContext:
    """Core memory and the best memories as one block for a prompt, fenced as data, within a budget of tokens."""
    return PromptContext(context=memory.context(**body.given_fields()))
