"""The JSON of memories: what a client sends, and what it is told. Names are camelCase; what is not known is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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
_INTEGER = re.compile(r"\d{1,10}\Z")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)\Z")


class RequestModel(BaseModel):
    """What a client sends as JSON: types are not guessed, and a field that we do not know is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
    )

    def given_fields(self) -> dict[str, Any]:
        """The fields that were named, by the names that the engine has for them."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class QueryModel(BaseModel):
    """What a client asks for in the address."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=False,
    )

    def given_fields(self) -> dict[str, Any]:
        """The options that were named, by the names that the engine has for them."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class ResponseModel(BaseModel):
    """What a client is told."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        from_attributes=True,
        validate_by_name=True,
        validate_by_alias=False,
        extra="ignore",
    )


def _parse_timestamp(value: object) -> object:
    """Numbers and times without a zone are not guessed at."""
    if isinstance(value, datetime) or value is None:
        return value
    if not isinstance(value, str) or not _TIMESTAMP.match(value):
        raise ValueError("must be a time with a zone, such as 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("there is no such time between the years 1 and 9999") from None


def _check_integer(value: object) -> object:
    if isinstance(value, str) and not _INTEGER.match(value):
        raise ValueError("must be a whole number")
    return value


def _parse_flag(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("must be true or false")
    return value == "true" if isinstance(value, str) else value


def _check_number(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(
        r"-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?", value
    ):
        raise ValueError("must be a number")
    return value


Timestamp = Annotated[
    datetime,
    BeforeValidator(_parse_timestamp),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Integer = Annotated[int, BeforeValidator(_check_integer)]
Flag = Annotated[bool, BeforeValidator(_parse_flag)]
Fraction = Annotated[float, Field(ge=0, le=1), BeforeValidator(_check_number)]
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
_ONE_LINE = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
_NOT_BLANK_LINE = (
    _ONE_LINE.replace("]*$", "]*[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]") + _ONE_LINE[1:]
)
NonBlankText = Annotated[str, Field(min_length=1, pattern=_NOT_BLANK)]
"""Any text that says something."""
Title = Annotated[str, Field(max_length=300, pattern=_ONE_LINE)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=_NOT_BLANK_LINE)]
"""An id, a session, a chat: one short line."""
NameOrEmpty = Annotated[str, Field(max_length=200, pattern=rf"^$|{_NOT_BLANK_LINE}")]
"""A name, or the empty text for none."""
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


Extended = TypeVar("Extended", bound=BaseModel)


def add_fields(
    fields: Iterable[MemoryField], make: Callable[[MemoryField], tuple[Any, Any]]
) -> Callable[[type[Extended]], type[Extended]]:
    """A decorator that adds fields of a memory to a model. Make: the type and the default of one."""

    def extend(base: type[Extended]) -> type[Extended]:
        made: dict[str, Any] = {field.name: make(field) for field in fields}
        return create_model(
            base.__name__, __base__=base, __module__=base.__module__, __doc__=base.__doc__, **made
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
    """A field as an answer has it."""
    plain = _CHOICES.get(field.choices) or _RESPONSE_TYPES.get(field.value_type, str)
    return (plain | None if field.nullable else plain), ...


def _request_type(field: MemoryField) -> Any:
    if field.value_type is ValueType.NAME and field.default == "":
        return NameOrEmpty
    return _CHOICES.get(field.choices) or _REQUEST_TYPES[field.value_type]


def _define_save_field(field: MemoryField) -> tuple[Any, Any]:
    """A field as a client gives it for a new memory; what a draft need not say may be null."""
    given = _request_type(field)
    default = _DRAFT_DEFAULTS[field.name]
    if default is MISSING:
        return given, ...
    if default is None:
        return given | None, None
    return given, Field(default=list(default) if isinstance(default, tuple) else default)


def _define_update_field(field: MemoryField) -> tuple[Any, Any]:
    """A field as a client gives it to change it. It has no default: what is not named stays."""
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
    """One thing worth remembering."""


class MemoryPage(ResponseModel):
    """One page of a list."""

    items: list[Memory]
    next_offset: int | None = Field(
        default=None, description="Where the next page begins; null on the last one."
    )


@add_fields(_SAVE_FIELDS, _define_save_field)
class NewMemory(RequestModel):
    """A text to remember. What is not said is worked out."""


class NewMemoryBatch(RequestModel):
    """Several texts to remember, all or none."""

    items: Annotated[list[NewMemory], Field(min_length=1, max_length=1000)]


@add_fields(_UPDATE_FIELDS, _define_update_field)
class MemoryUpdate(RequestModel):
    """What to change; what is not named stays."""


class MemoryReplacement(RequestModel):
    """A memory as it shall be: what is not named becomes empty, but kind, sector, tier, project and trust stay."""

    content: NonBlankText
    title: Title = ""
    summary: str = ""
    keywords: Lines = Field(default=[])
    files: Lines = Field(default=[])
    importance: Fraction = 0.5
    valid_from: Timestamp | None = None
    valid_until: Timestamp | None = None
    pinned: bool = False


def define_filter_field(field: MemoryField) -> tuple[Any, Any]:
    """A field as a client names the values that it is looking for."""
    if field.match in (Match.EXACT, Match.EXACT_OR_EMPTY):
        return NameOrEmpty | None, Field(default=None, description=field.match_help)
    given = Line if field.value_type is ValueType.LIST else _request_type(field)
    return list[given], Field(default=[])  # type: ignore[valid-type]  # made at run time


@add_fields(FILTERED, define_filter_field)
class FilterQuery(QueryModel):
    """What narrows a search or a list."""

    project: Annotated[str, Field(max_length=200, description="`*`: of all projects.")] | None = (
        None
    )
    unfiled: Annotated[
        Flag, Field(description="With a project: what belongs to no project, too.")
    ] = False
    session_id: Annotated[Name, Field(description="The session that asks.")] | None = None
    session: Annotated[Name, Field(description="Only memories made in this session.")] | None = None
    min_salience: Fraction = 0.0
    since: Timestamp | None = None
    until: Timestamp | None = None
    as_of: Annotated[Timestamp, Field(description="What was true then.")] | None = None
    known_at: Annotated[Timestamp, Field(description="What was known then.")] | None = None


class PageQuery(QueryModel):
    """Which part of a list."""

    limit: Annotated[Integer, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[Integer, Field(ge=0, le=MAX_OFFSET)] = 0


class ListQuery(FilterQuery):
    """A list of memories."""

    limit: Annotated[Integer, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[Integer, Field(ge=0, le=MAX_OFFSET)] = 0
    order_by: Literal["created_at", "salience", "last_accessed"] = "created_at"
    order: Literal["asc", "desc"] = "desc"
    include_deleted: Flag = False


class GetQuery(QueryModel):
    """Which memory, exactly."""

    include_deleted: Annotated[Flag, Field(description="From the trash too.")] = False
    include_archived: Annotated[Flag, Field(description="From the archive too.")] = False


class DeleteQuery(QueryModel):
    """How to delete."""

    hard: Annotated[Flag, Field(description="Not to the trash: leave no byte of it.")] = False
