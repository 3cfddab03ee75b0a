"""The JSON of memories: what a client sends, and what it is told. Names are camelCase; what is not known is an error."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from muisti.recall.layers import MAX_LIMIT

MOST_OFFSET = 2**31
_WHOLE = re.compile(r"\d{1,10}\Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)\Z")


class Given(BaseModel):
    """What a client sends as JSON: types are not guessed, and a field that we do not know is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
    )

    def said(self) -> dict[str, Any]:
        """The fields that were named, by the names that the engine has for them."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Asked(BaseModel):
    """What a client asks for in the address."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", allow_inf_nan=False, validate_by_alias=True, validate_by_name=False
    )

    def said(self) -> dict[str, Any]:
        """The options that were named, by the names that the engine has for them."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Told(BaseModel):
    """What a client is told."""

    model_config = ConfigDict(
        alias_generator=to_camel, from_attributes=True, validate_by_name=True, validate_by_alias=False, extra="ignore"
    )


def _moment(value: object) -> object:
    """Numbers and times without a zone are not guessed at."""
    if isinstance(value, datetime) or value is None:
        return value
    if not isinstance(value, str) or not _MOMENT.match(value):
        raise ValueError("it must be a time with a zone, such as 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("there is no such time between the years 1 and 9999") from None


def _whole(value: object) -> object:
    if isinstance(value, str) and not _WHOLE.match(value):
        raise ValueError("it must be a whole number")
    return value


def _flag(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("it must be true or false")
    return value == "true" if isinstance(value, str) else value


def _number(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?", value):
        raise ValueError("it must be a number")
    return value


Moment = Annotated[datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
Whole = Annotated[int, BeforeValidator(_whole)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]
_SAYING = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
_ONE_LINE = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
_SAYING_LINE = _ONE_LINE.replace("]*$", "]*[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]") + _ONE_LINE[1:]
Text = Annotated[str, Field(min_length=1, pattern=_SAYING)]
"""Any text that says something."""
Title = Annotated[str, Field(max_length=300, pattern=_ONE_LINE)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_SAYING_LINE)]
"""An id, a session, a chat: one short line."""
Line = Annotated[str, Field(min_length=1, max_length=300, pattern=_SAYING_LINE)]
Lines = Annotated[list[Line], Field(max_length=200)]
SectorName = Literal["episodic", "semantic", "procedural", "emotional", "reflective"]
TierName = Literal["session", "project", "global"]
LinkName = Literal[
    "SUPERSEDES", "CONTRADICTS", "RELATED_TO", "BUILDS_ON", "CONFIRMS", "APPLIES_TO", "DEPENDS_ON", "ALTERNATIVE_TO"
]


class Link(Told):
    """A line from one memory to another."""

    source: str
    type: LinkName
    target: str
    created_at: datetime
    confidence: float
    extracted_by: Literal["user", "llm", "system"]
    valid_from: datetime | None
    valid_until: datetime | None
    proposed: bool


class Memory(Told):
    """One thing worth remembering."""

    id: str
    content: str
    title: str
    summary: str
    kind: str
    sector: SectorName
    tier: TierName
    project: str
    session_id: str | None
    source: str
    keywords: list[str]
    concepts: list[str]
    files: list[str]
    importance: float
    salience: float
    access_count: int
    created_at: datetime
    updated_at: datetime
    last_accessed: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    pinned: bool
    trusted: bool
    links: list[Link]
    deleted_at: datetime | None
    content_hash: str
    simhash: str
    chunk_count: int
    embedding_model: str | None
    file_path: str | None
    origin: Literal["memory", "document", "message"]
    index_pending: bool


class Memories(Told):
    """One page of a list."""

    items: list[Memory]
    next_offset: int | None = Field(default=None, description="Where the next page begins; null on the last one.")


class _Fields(Given):
    """What may be said of a memory beside its content."""

    title: Title | None = None
    kind: Name | None = None
    sector: SectorName | None = None
    tier: TierName | None = None
    project: Annotated[str, Field(max_length=100)] | None = None
    session_id: Name | None = None
    summary: str = ""
    keywords: Lines = Field(default=[])
    files: Lines = Field(default=[])
    importance: Share | None = None
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    pinned: bool = False
    trusted: bool = True


class NewMemory(_Fields):
    """A text to remember. What is not said is worked out."""

    content: Text
    source: Name = "user"
    salience: Share | None = None
    created_at: Moment | None = None


class NewMemories(Given):
    """Several texts to remember, all or none."""

    items: Annotated[list[NewMemory], Field(min_length=1, max_length=1000)]


class Changes(Given):
    """What to change; what is not named stays."""

    content: Text = ""
    title: Title = ""
    kind: Name = ""
    sector: SectorName = "semantic"
    tier: TierName = "project"
    project: Annotated[str, Field(max_length=100)] = ""
    session_id: Name | None = None
    source: Name = ""
    summary: str = ""
    keywords: Lines = Field(default=[])
    files: Lines = Field(default=[])
    importance: Share = 0.5
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    pinned: bool = False
    trusted: bool = True


class Replacement(Given):
    """A memory as it shall be: what is not named becomes empty, but kind, sector, tier, project and trust stay."""

    content: Text
    title: Title = ""
    summary: str = ""
    keywords: Lines = Field(default=[])
    files: Lines = Field(default=[])
    importance: Share = 0.5
    valid_from: Moment | None = None
    valid_until: Moment | None = None
    pinned: bool = False


class Narrowing(Asked):
    """What narrows a search or a list."""

    project: Annotated[str, Field(max_length=200, description="`*`: of all projects.")] | None = None
    unfiled: Annotated[Flag, Field(description="With a project: what belongs to no project, too.")] = False
    session_id: Annotated[Name, Field(description="The session that asks.")] | None = None
    session: Annotated[Name, Field(description="Only memories made in this session.")] | None = None
    kind: list[Name] = Field(default=[])
    sector: list[SectorName] = Field(default=[])
    tier: list[TierName] = Field(default=[])
    keywords: list[Line] = Field(default=[])
    files: list[Line] = Field(default=[])
    min_salience: Share = 0.0
    since: Moment | None = None
    until: Moment | None = None
    as_of: Annotated[Moment, Field(description="What was true then.")] | None = None
    known_at: Annotated[Moment, Field(description="What was known then.")] | None = None


class Page(Asked):
    """Which part of a list."""

    limit: Annotated[Whole, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[Whole, Field(ge=0, le=MOST_OFFSET)] = 0


class ListQuery(Narrowing):
    """A list of memories."""

    limit: Annotated[Whole, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[Whole, Field(ge=0, le=MOST_OFFSET)] = 0
    order_by: Literal["created_at", "salience", "last_accessed"] = "created_at"
    order: Literal["asc", "desc"] = "desc"
    include_deleted: Flag = False


class OneQuery(Asked):
    """Which memory, exactly."""

    include_deleted: Annotated[Flag, Field(description="From the trash too.")] = False
    include_archived: Annotated[Flag, Field(description="From the archive too.")] = False


class DeleteQuery(Asked):
    """How to delete."""

    hard: Annotated[Flag, Field(description="Not to the trash: leave no byte of it.")] = False
