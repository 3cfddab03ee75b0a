"""The JSON of searches and their results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from muisti.recall.filters import FILTERED
from muisti.recall.lookups import MAX_LIMIT
from muisti.surfaces.rest.schemas import (
    FilterQuery,
    Flag,
    Fraction,
    Integer,
    Memory,
    Name,
    NonBlankText,
    RequestModel,
    ResponseModel,
    SessionScopeQuery,
    Timestamp,
    UserName,
    add_fields,
    define_filter_field,
)
from muisti.surfaces.rest.schemas_conversations import Message

ModeName = Literal["hybrid", "vector", "keyword"]
Limit = Annotated[Integer, Field(ge=1, le=MAX_LIMIT)]
Query = Annotated[NonBlankText, Field(max_length=5000)]
"""Short enough for a URL."""
LongQuery = Annotated[NonBlankText, Field(max_length=100_000)]


class SearchQuery(FilterQuery):
    """A search."""

    query: Query
    limit: Limit = 10
    mode: ModeName = "hybrid"
    asked_at: Timestamp | None = Field(
        default=None, description="The time that “yesterday” is relative to. Default: now."
    )
    source: list[Name] = Field(
        default=[], description="memory, document, message, or the name of a document source."
    )
    include_deleted: Flag = False


class CompactQuery(FilterQuery):
    """A search for IDs and titles."""

    query: Query
    limit: Limit = 10
    mode: ModeName = "hybrid"
    source: list[Name] = Field(default=[])


class ExplainQuery(FilterQuery):
    """A search and the memory to explain."""

    query: Query
    memory_id: Name
    mode: ModeName = "hybrid"
    asked_at: Timestamp | None = Field(
        default=None, description="The time that “yesterday” is relative to. Default: now."
    )
    source: list[Name] = Field(
        default=[], description="memory, document, message, or the name of a document source."
    )
    include_deleted: Flag = False


class TimelineQuery(SessionScopeQuery):
    """How many neighbours in time to return."""

    before: Annotated[Integer, Field(ge=0, le=MAX_LIMIT)] = 5
    after: Annotated[Integer, Field(ge=0, le=MAX_LIMIT)] = 5


class RelatedQuery(FilterQuery):
    """Filters for related memories."""

    limit: Limit = 10


@add_fields(FILTERED, define_filter_field)
class SearchRequest(RequestModel):
    """A search whose query is too long or too private for a URL."""

    query: LongQuery
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    mode: ModeName = "hybrid"
    asked_at: Timestamp | None = None
    source: list[Name] = Field(default=[])
    project: Annotated[str, Field(max_length=200)] | None = None
    session_id: Name | None = None
    session: Name | None = None
    min_salience: Fraction = 0.0
    since: Timestamp | None = None
    until: Timestamp | None = None
    as_of: Timestamp | None = None
    known_at: Timestamp | None = None
    include_deleted: bool = False
    unfiled: bool = False


class ContextRequest(RequestModel):
    """A question, and the token budget of its context."""

    query: LongQuery
    budget: Annotated[int, Field(ge=1, le=1_000_000)] = 2000
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 20
    project: Annotated[str, Field(max_length=200)] | None = None
    user: UserName | None = None
    session_id: Name | None = None
    include_outdated: bool = Field(
        default=False, description="Include replaced and expired memories, marked as outdated."
    )


class DetailsRequest(RequestModel):
    """The memories to read."""

    ids: Annotated[list[Name], Field(min_length=1, max_length=100)]
    project: Annotated[str, Field(max_length=200)] | None = None
    user: UserName | None = None
    session_id: Name | None = None


class Signal(ResponseModel):
    """One reason for the rank of a result."""

    name: str
    rank: int | None
    score: float
    note: str


class SearchResult(ResponseModel):
    """A search result, and why it matched."""

    memory: Memory
    score: float = Field(description="The probability that this answers the query.")
    distance: float | None = Field(
        description="Cosine distance of the best chunk; null if no vector was compared."
    )
    matched_snippet: str
    matched_keywords: list[str]
    why: list[Signal]
    source: Literal["memory", "document", "message"]
    message: Message | None
    outdated: bool = Field(description="Whether it was replaced or its validity has ended.")
    superseded_by: str | None = Field(
        description="The ID of the memory that replaced it, if it is outdated."
    )
    weak: bool = Field(description="Whether the score is below the floor.")
    document_version: str = Field(
        description="Of a document's section: the version of the file; otherwise empty."
    )
    vault: str = Field(description="The vault it is from, if several are searched; else empty.")


class SearchResults(ResponseModel):
    """The results of a search, best first."""

    results: list[SearchResult]
    mode: str = Field(description="The mode that was used: hybrid, vector or keyword.")
    degraded: str = Field(description="Why a lesser mode than requested was used; empty if not.")
    hint: str = Field(description="Advice, such as the nearest name of an unknown project.")
    has_good_match: bool = Field(description="Whether at least one result is not weak.")


class CompactResult(ResponseModel):
    """A search result without its text."""

    id: str
    title: str
    kind: str
    score: float
    created_at: datetime
    outdated: bool = Field(description="Whether it was replaced or its validity has ended.")
    superseded_by: str | None = Field(
        description="The ID of the memory that replaced it, if it is outdated."
    )


class Explanation(ResponseModel):
    """Why a memory matches a query, or does not."""

    id: str
    query: str
    recalled: bool
    rank: int | None
    terms: list[str]
    matched: list[str]
    reasons: list[str]
    signals: list[Signal]
    score: float | None = Field(description="As in a search; null if it is not found.")
    weak: bool


class PromptContext(ResponseModel):
    """One block of text for a prompt."""

    context: str
