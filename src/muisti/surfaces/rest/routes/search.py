"""Search in its three layers, why it answers as it does, and a context for a prompt."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from muisti.model import SearchResults
from muisti.surfaces.rest.concurrency import Lane
from muisti.surfaces.rest.dependencies import Asking, Id
from muisti.surfaces.rest.problems import may_fail
from muisti.surfaces.rest.schemas import Memory
from muisti.surfaces.rest.schemas_search import (
    Compact,
    CompactQuery,
    Context,
    ContextBody,
    DetailsBody,
    Explained,
    ExplainQuery,
    Found,
    Result,
    SearchBody,
    SearchQuery,
    TimelineQuery,
)

router = APIRouter(tags=["Search"], route_class=Lane)


def found(results: SearchResults) -> Found:
    """The answers, and how they were found."""
    return Found(
        results=[Result.model_validate(one) for one in results],
        mode=results.mode,
        degraded=results.degraded,
    )


@router.get("/api/search", responses=may_fail())
def search(memory: Asking, asked: Annotated[SearchQuery, Query()]) -> Found:
    """The memories, messages and documents that answer a query, best first, with snippets and reasons."""
    return found(memory.search(**asked.given_fields()))


@router.post("/api/search", responses=may_fail("body"))
def search_long(memory: Asking, body: SearchBody) -> Found:
    """The same, for a query that is too long, or too private, for an address."""
    return found(memory.search(**body.given_fields()))


@router.get("/api/search/compact", responses=may_fail())
def search_compact(memory: Asking, asked: Annotated[CompactQuery, Query()]) -> list[Compact]:
    """The first layer: ids, titles and scores to choose from. Counts as no recall."""
    return [Compact.model_validate(one) for one in memory.search_compact(**asked.given_fields())]


@router.get("/api/search/timeline/{memory_id}", responses=may_fail("one"))
def timeline(
    memory: Asking, memory_id: Id, asked: Annotated[TimelineQuery, Query()]
) -> list[Compact]:
    """The second layer: what came before and after in the same project."""
    around = memory.timeline(memory_id, before=asked.before, after=asked.after)
    return [Compact.model_validate(one) for one in around]


@router.post("/api/search/details", responses=may_fail("one", "body"))
def details(memory: Asking, body: DetailsBody) -> list[Memory]:
    """The third layer: whole memories."""
    return [
        Memory.model_validate(one) for one in memory.details(body.ids, session_id=body.session_id)
    ]


@router.get("/api/search/explain", responses=may_fail("one"))
def explain(memory: Asking, asked: Annotated[ExplainQuery, Query()]) -> Explained:
    """Why this memory is, or is not, an answer to the query."""
    return Explained.model_validate(memory.explain(**asked.given_fields()))


@router.post("/api/context", responses=may_fail("body"))
def context(memory: Asking, body: ContextBody) -> Context:
    """Core memory and the best memories as one block for a prompt, fenced as data, within a budget of tokens."""
    return Context(context=memory.context(**body.given_fields()))
