"""The JSON of searches and their answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from muisti.recall.filters import FILTERED
from muisti.recall.lookups import MAX_LIMIT
from muisti.surfaces.rest.schemas import (
    Flag,
    Memory,
    Moment,
    Name,
    Narrowing,
    QueryModel,
    RequestModel,
    ResponseModel,
    Share,
    Text,
    Whole,
    filtered,
    with_fields,
)
from muisti.surfaces.rest.schemas_conversations import Message

ModeName = Literal["hybrid", "vector", "keyword"]
Limit = Annotated[Whole, Field(ge=1, le=MAX_LIMIT)]
Query = Annotated[Text, Field(max_length=5000)]
"""What an address has room for."""
LongQuery = Annotated[Text, Field(max_length=100_000)]


class SearchQuery(Narrowing):
    """A search."""

    query: Query
    limit: Limit = 10
    mode: ModeName = "hybrid"
    asked_at: (
        Annotated[Moment, Field(description="From when on “yesterday” counts back; unset: now.")]
        | None
    ) = None
    source: Annotated[
        list[Name], Field(description="memory, document, message, or what a document is called.")
    ] = Field(default=[])
    include_deleted: Flag = False


class CompactQuery(Narrowing):
    """A search for ids and titles."""

    query: Query
    limit: Limit = 10
    mode: ModeName = "hybrid"
    source: list[Name] = Field(default=[])


class ExplainQuery(Narrowing):
    """Why a memory is, or is not, found."""

    query: Query
    memory_id: Name
    mode: ModeName = "hybrid"


class TimelineQuery(QueryModel):
    """How far to look around."""

    before: Annotated[Whole, Field(ge=0, le=MAX_LIMIT)] = 5
    after: Annotated[Whole, Field(ge=0, le=MAX_LIMIT)] = 5


class RelatedQuery(Narrowing):
    """How many, and which."""

    limit: Limit = 10


@with_fields(FILTERED, filtered)
class SearchBody(RequestModel):
    """A search whose text is too long, or too private, for an address."""

    query: LongQuery
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    mode: ModeName = "hybrid"
    asked_at: Moment | None = None
    source: list[Name] = Field(default=[])
    project: Annotated[str, Field(max_length=200)] | None = None
    session_id: Name | None = None
    session: Name | None = None
    min_salience: Share = 0.0
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = None
    known_at: Moment | None = None
    include_deleted: bool = False
    unfiled: bool = False


class ContextBody(RequestModel):
    """A question, and how many tokens the context for it may have."""

    query: LongQuery
    budget: Annotated[int, Field(ge=1, le=1_000_000)] = 2000
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 20
    project: Annotated[str, Field(max_length=200)] | None = None
    session_id: Name | None = None


class DetailsBody(RequestModel):
    """Which memories to read as a whole."""

    ids: Annotated[list[Name], Field(min_length=1, max_length=100)]
    session_id: Name | None = None


class Signal(ResponseModel):
    """One reason for a result's place."""

    name: str
    rank: int | None
    score: float
    note: str


class Result(ResponseModel):
    """A memory that answers, and why."""

    memory: Memory
    score: float
    distance: float
    matched_snippet: str
    matched_keywords: list[str]
    why: list[Signal]
    source: Literal["memory", "document", "message"]
    message: Message | None


class Found(ResponseModel):
    """The answers to a search, best first."""

    results: list[Result]
    mode: str = Field(description="hybrid, vector or keyword: what the answers go by.")
    degraded: str = Field(
        description="Why the answers go by less than was asked for; empty when they do not."
    )


class Compact(ResponseModel):
    """Enough to choose from."""

    id: str
    title: str
    kind: str
    score: float
    created_at: datetime


class Explained(ResponseModel):
    """Why a memory is, or is not, an answer."""

    id: str
    query: str
    recalled: bool
    rank: int | None
    terms: list[str]
    matched: list[str]
    reasons: list[str]
    signals: list[Signal]


class Context(ResponseModel):
    """One block for a prompt."""

    context: str
