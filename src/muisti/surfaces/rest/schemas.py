"""The JSON of memories, requests and responses. Names are camelCase; unknown fields are errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model
from pydantic.alias_generators import to_camel

from muisti import model
from muisti.model.fields import Field as MemoryField
from muisti.model.fields import Given, Match, ValueType
from muisti.model.memory import FIELDS
from muisti.recall.filters import FILTERED
from muisti.recall.lookups import MAX_LIMIT

MAX_OFFSET = 2**31
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)\Z")


class RequestModel(BaseModel):
    """A request body: types are not coerced, and an unknown field is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
    )

    def given_fields(self) -> dict[str, Any]:
        """Return the fields that the client sent, by their Python names."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class QueryModel(BaseModel):
    """The query of a URL."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
    )

    def given_fields(self) -> dict[str, Any]:
        """Return the options that the client sent, by their Python names."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class ResponseModel(BaseModel):
    """A response body."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        from_attributes=True,
        validate_by_name=True,
        validate_by_alias=False,
        extra="ignore",
    )


def _parse_timestamp(value: object) -> object:
    """Return the time in UTC. Numbers and times without a time zone are not accepted."""
    if isinstance(value, datetime) or value is None:
        return value
    if not isinstance(value, str) or not _TIMESTAMP.match(value):
        raise ValueError("must be a time with a time zone, such as 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a valid time between the years 1 and 9999") from None


def _check_pattern(pattern: str, message: str) -> BeforeValidator:
    """Return a validator for numbers and flags in a URL, which arrive as text."""

    def check(value: object) -> object:
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            raise ValueError(message)
        return value

    return BeforeValidator(check)


Timestamp = Annotated[
    datetime,
    BeforeValidator(_parse_timestamp),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Integer = Annotated[int, _check_pattern(r"\d{1,10}", "must be a whole number")]
Flag = Annotated[bool, _check_pattern("true|false", "must be true or false")]
Fraction = Annotated[
    float,
    Field(ge=0, le=1),
    _check_pattern(r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?", "must be a number"),
]
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
_ONE_LINE = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
_NOT_BLANK_LINE = (
    _ONE_LINE.replace("]*$", "]*[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]") + _ONE_LINE[1:]
)
NonBlankText = Annotated[str, Field(min_length=1, pattern=_NOT_BLANK)]
"""Text that is not blank."""
Title = Annotated[str, Field(max_length=300, pattern=_ONE_LINE)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_NOT_BLANK_LINE)]
"""An ID or a name: one short line."""
NameOrEmpty = Annotated[str, Field(max_length=200, pattern=rf"^$|{_NOT_BLANK_LINE}")]
"""A name, or the empty string for none."""
Line = Annotated[str, Field(min_length=1, max_length=300, pattern=_NOT_BLANK_LINE)]
Lines = Annotated[list[Line], Field(max_length=200)]
SectorName = Literal["episodic", "semantic", "procedural", "emotional", "reflective"]
TierName = Literal["session", "project", "global"]
LinkName = Literal[
    "SUPERSEDES",
    "CONTRADICTS",
    "RELATED_TO",
    "BUILDS_ON",
    "CONFIRMS",
    "APPLIES_TO",
    "DEPENDS_ON",
    "ALTERNATIVE_TO",
]


class Link(ResponseModel):
    """A link from one memory to another."""

    source: str
    type: LinkName
    target: str
    created_at: datetime
    confidence: float
    extracted_by: Literal["user", "llm", "system", "wikilink"]
    valid_from: datetime | None
    valid_until: datetime | None
    proposed: bool


Extended = TypeVar("Extended", bound=BaseModel)


def add_fields(
    fields: Iterable[MemoryField], make: Callable[[MemoryField], tuple[Any, Any]]
) -> Callable[[type[Extended]], type[Extended]]:
    """Return a decorator that adds memory fields to a model.

    Make: returns the type and the default of a field.
    """

    def extend(base: type[Extended]) -> type[Extended]:
        definitions: dict[str, Any] = {field.name: make(field) for field in fields}
        return create_model(
            base.__name__,
            __base__=base,
            __module__=base.__module__,
            __doc__=base.__doc__,
            **definitions,
        )

    return extend


_CHOICES: dict[type[StrEnum] | None, Any] = {
    model.Sector: SectorName,
    model.Tier: TierName,
    model.EntryType: Literal["memory", "document", "message"],
}
_RESPONSE_TYPES: dict[ValueType, Any] = {
    ValueType.LIST: list[str],
    ValueType.SHARE: float,
    ValueType.COUNT: int,
    ValueType.TIME: datetime,
    ValueType.FLAG: bool,
    ValueType.LINKS: list[Link],
}
_REQUEST_TYPES: dict[ValueType, Any] = {
    ValueType.BODY: NonBlankText,
    ValueType.TEXT: str,
    ValueType.LINE: Title,
    ValueType.NAME: Name,
    ValueType.KIND: Name,
    ValueType.PROJECT: Annotated[str, Field(max_length=100)],
    ValueType.LIST: Lines,
    ValueType.SHARE: Fraction,
    ValueType.TIME: Timestamp,
    ValueType.FLAG: bool,
}


def _define_response_field(field: MemoryField) -> tuple[Any, Any]:
    """Return the type of a field in a response."""
    value = _CHOICES.get(field.choices) or _RESPONSE_TYPES.get(field.value_type, str)
    return (value | None if field.nullable else value), ...


def _request_type(field: MemoryField) -> Any:
    if field.value_type is ValueType.NAME and field.default == "":
        return NameOrEmpty
    return _CHOICES.get(field.choices) or _REQUEST_TYPES[field.value_type]


def _define_save_field(field: MemoryField) -> tuple[Any, Any]:
    """Return type and default of a field of a new memory; an optional one may be null."""
    given = _request_type(field)
    default = _DRAFT_DEFAULTS[field.name]
    if default is MISSING:
        return given, ...
    if default is None:
        return given | None, None
    return given, Field(default=list(default) if isinstance(default, tuple) else default)


def _define_update_field(field: MemoryField) -> tuple[Any, Any]:
    """Return the type of a field of an update. It has no default: omitted fields are unchanged."""
    given = _request_type(field)
    unset = Field(default=None, json_schema_extra=_drop_default)
    return (given | None if field.nullable else given), unset


def _drop_default(schema: dict[str, Any]) -> None:
    schema.pop("default")


_DRAFT_DEFAULTS = {one.name: one.default for one in dataclass_fields(model.Draft)}
_SAVE_FIELDS = [field for field in FIELDS if field.given >= Given.SAVE]
_UPDATE_FIELDS = [field for field in FIELDS if field.given is Given.UPDATE]


@add_fields(FIELDS, _define_response_field)
class Memory(ResponseModel):
    """A memory."""


class MemoryDetails(Memory):
    """A memory, and whether it is still true."""

    outdated: bool = Field(description="Whether it was replaced or its validity has ended.")
    superseded_by: str | None = Field(
        description="The ID of the memory that replaced it, if it is outdated."
    )


def make_details(
    memories: Sequence[model.Memory], outdated: Mapping[str, model.Memory | None]
) -> list[MemoryDetails]:
    """Return memories with their marks. Outdated: what `find_outdated` returned for them."""
    details = []
    for one in memories:
        replacement = outdated.get(one.id)
        values = Memory.model_validate(one).model_dump()
        values["outdated"] = one.id in outdated
        values["superseded_by"] = replacement.id if replacement else None
        details.append(MemoryDetails.model_validate(values))
    return details


class MemoryPage(ResponseModel):
    """One page of a list of memories."""

    items: list[MemoryDetails]
    next_offset: int | None = Field(
        default=None, description="The offset of the next page; null on the last one."
    )


@add_fields(_SAVE_FIELDS, _define_save_field)
class NewMemory(RequestModel):
    """A memory to save. Omitted fields are inferred."""


class SaveMemory(NewMemory):
    """A memory to save, and the one that it replaces."""

    replaces: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        description="The ID of an outdated memory, which is marked as superseded by the new one.",
    )


class NewMemoryBatch(RequestModel):
    """Memories to save, all or none."""

    items: Annotated[list[NewMemory], Field(min_length=1, max_length=1000)]


@add_fields(_UPDATE_FIELDS, _define_update_field)
class MemoryUpdate(RequestModel):
    """The fields to update; omitted fields are unchanged."""


class MemoryReplacement(RequestModel):
    """A replacement for a memory: omitted fields are reset.

    Kind, sector, tier, project and trust are kept.
    """

    content: NonBlankText
    title: Title = ""
    aliases: Lines = Field(default=[])
    summary: str = ""
    keywords: Lines = Field(default=[])
    categories: Lines = Field(default=[])
    files: Lines = Field(default=[])
    importance: Fraction = 0.5
    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None
    pinned: bool = False


def define_filter_field(field: MemoryField) -> tuple[Any, Any]:
    """Return type and default of a filter."""
    if field.value_type is ValueType.FLAG:
        return Flag | None, Field(default=None, description=field.match_help)
    if field.match in (Match.EXACT, Match.EXACT_OR_EMPTY):
        return NameOrEmpty | None, Field(default=None, description=field.match_help)
    given = Line if field.value_type is ValueType.LIST else _request_type(field)
    many = list[given]  # type: ignore[valid-type]  # a type that is built at run time
    return many, Field(default=[], description=field.match_help)


UserName = Annotated[str, Field(max_length=200)]


class ScopeQuery(QueryModel):
    """Whose memories a request sees. Omitted: those of all projects and users."""

    project: Annotated[str, Field(max_length=200)] | None = None
    user: UserName | None = None


class SessionScopeQuery(ScopeQuery):
    """Whose memories a request sees. A session fixes project and user."""

    session_id: Name | None = None


@add_fields(FILTERED, define_filter_field)
class FilterQuery(QueryModel):
    """Filters of a search or a list."""

    project: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="Only this project; `*`: all projects."
    )
    unfiled: Flag = Field(
        default=False, description="With a project: include memories without a project."
    )
    session_id: Name | None = Field(
        default=None, description="The session that this request belongs to."
    )
    session: Name | None = Field(default=None, description="Only memories of this session.")
    min_salience: Fraction = 0.0
    since: Timestamp | None = Field(default=None, description="Only memories from this time on.")
    until: Timestamp | None = Field(default=None, description="Only memories up to this time.")
    as_of: Timestamp | None = Field(default=None, description="Only what was valid at this time.")
    known_at: Timestamp | None = Field(
        default=None, description="Only what was known at this time."
    )


class PageQuery(QueryModel):
    """A page of a list."""

    limit: Annotated[Integer, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[Integer, Field(ge=0, le=MAX_OFFSET)] = 0


class ListQuery(FilterQuery):
    """A list of memories."""

    limit: Annotated[Integer, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[Integer, Field(ge=0, le=MAX_OFFSET)] = 0
    order_by: Literal["created_at", "salience", "last_accessed"] = "created_at"
    order: Literal["asc", "desc"] = "desc"
    include_deleted: Flag = False


class GetQuery(SessionScopeQuery):
    """Where to look for a memory."""

    include_deleted: Flag = Field(default=False, description="Also look in the trash.")
    include_archived: Flag = Field(default=False, description="Also look in the archive.")


class DeleteQuery(QueryModel):
    """Options of a deletion."""

    hard: Annotated[Flag, Field(description="Delete permanently, not to the trash.")] = False
