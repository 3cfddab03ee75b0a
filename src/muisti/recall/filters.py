"""Search options as callers give them, checked and made into a Filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from muisti.errors import InvalidRequest
from muisti.model import EntryType, Filter
from muisti.model.fields import Field, Match, ValueType
from muisti.model.memory import FIELDS

if TYPE_CHECKING:
    from muisti.ports import Order
    from muisti.settings import Settings

ALL_PROJECTS = "*"
Mode = Literal["hybrid", "vector", "keyword"]


class FilterOptions(TypedDict, total=False):
    """What narrows a search or a list. All are optional."""

    project: str | None
    """Project-tier memories of this project (global ones are always seen); `"*"`: of all projects."""
    unfiled: bool
    """With a project: what belongs to no project is seen, too."""
    session_id: str | None
    """The session that asks; it sees its own session-tier memories."""
    session: str | None
    """Only memories made in this session."""
    kind: str | Sequence[str] | None
    sector: str | Sequence[str] | None
    tier: str | Sequence[str] | None
    user: str | None
    """Memories of this user, and those without one."""
    agent: str | None
    """Only memories that this agent wrote."""
    keywords: Sequence[str]
    files: Sequence[str]
    min_salience: float
    since: datetime | None
    until: datetime | None
    as_of: datetime | None
    known_at: datetime | None
    """Only what had been remembered by then."""
    include_deleted: bool
    source: str | Sequence[str] | None
    """Only these: `memory`, `document`, `message`, or what a document is called, such as `MEMORY.md`."""


def to_filter(settings: Settings, options: FilterOptions, *, all_sessions: bool = False) -> Filter:
    """A checked filter. Raises InvalidRequest that names the option."""
    unknown = set(options) - set(FilterOptions.__annotations__)
    if unknown:
        known = ", ".join(FilterOptions.__annotations__)
        raise InvalidRequest("option", sorted(unknown)[0], f"known are: {known}")
    project = options.get("project")
    if project is None:
        project = settings.project or None
    return Filter(
        project=None if project == ALL_PROJECTS else project,
        unfiled=bool(options.get("unfiled", False)),
        session_id=options.get("session_id"),
        session=options.get("session"),
        all_sessions=all_sessions,
        min_salience=_share(options.get("min_salience", 0.0)),
        since=to_utc("since", options.get("since")),
        until=to_utc("until", options.get("until")),
        as_of=to_utc("as_of", options.get("as_of")),
        known_at=to_utc("known_at", options.get("known_at")),
        include_deleted=bool(options.get("include_deleted", False)),
        **_sources(options.get("source")),
        **{
            field.filter_name: _wanted(field, options.get(field.name), settings)
            for field in FILTERED
        },
    )


FILTERED = tuple(field for field in FIELDS if field.match is not None)
"""The fields that a list or a search can be narrowed by."""


def _wanted(field: Field, value: Any, settings: Settings) -> Any:
    """The value or values of a field that are let through. Raises InvalidRequest."""
    if field.match in (Match.EXACT, Match.EXACT_OR_EMPTY):
        if value is not None and not isinstance(value, str):
            raise InvalidRequest(field.name, value, "must be a text")
        return value
    if field.value_type is ValueType.KIND:
        return _kinds(value, settings)
    if field.choices is not None:
        return _words(field.name, value, field.choices)
    return _texts(field.name, value)


_ORDERS: dict[tuple[str, str], Order] = {
    ("created_at", "asc"): "created_at",
    ("created_at", "desc"): "created_at_desc",
    ("salience", "desc"): "salience",
    ("salience", "asc"): "salience_asc",
    ("last_accessed", "desc"): "last_accessed",
    ("last_accessed", "asc"): "last_accessed_asc",
}


def reject_source(options: FilterOptions) -> None:
    """Raises InvalidRequest for a `source`: what lists memories lists nothing else, and an empty list would not tell."""
    if options.get("source"):
        raise InvalidRequest(
            "source",
            options["source"],
            "only `search` finds messages and documents; leave it out here",
        )


def to_order(order_by: str, order: str) -> Order:
    """How to sort a list. Raises InvalidRequest."""
    if (order_by, order) not in _ORDERS:
        raise InvalidRequest(
            "order_by",
            f"{order_by} {order}",
            "must be created_at, salience or last_accessed, with order asc or desc",
        )
    return _ORDERS[order_by, order]


def _texts(option: str, value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    values = (
        (value,)
        if isinstance(value, str)
        else tuple(value)
        if isinstance(value, Sequence)
        else (value,)
    )
    if not all(isinstance(item, str) for item in values):
        raise InvalidRequest(option, value, "must be a text or a list of texts")
    return values


def _kinds(value: str | Sequence[str] | None, settings: Settings) -> tuple[str, ...]:
    names = []
    for name in _texts("kind", value):
        kind = settings.kind(name)
        if kind is None:
            raise InvalidRequest("kind", name, f"must be one of {', '.join(settings.kinds)}")
        names.append(kind.name)
    return tuple(names)


def _words(option: str, value: str | Sequence[str] | None, words: type[StrEnum]) -> tuple[str, ...]:
    for item in _texts(option, value):
        if item not in tuple(words):
            raise InvalidRequest(option, item, f"must be one of {', '.join(words)}")
    return tuple(str(item) for item in _texts(option, value))


class _Sources(TypedDict):
    origins: tuple[str, ...]
    documents: tuple[str, ...]


def _sources(value: str | Sequence[str] | None) -> _Sources:
    given = _texts("source", value)
    origins = [name for name in given if name in tuple(EntryType)]
    documents = tuple(name for name in given if name not in tuple(EntryType))
    if documents and EntryType.DOCUMENT not in origins:
        origins.append(EntryType.DOCUMENT.value)
    return {"origins": tuple(origins), "documents": documents}


def _share(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidRequest("min_salience", value, "must be a number between 0 and 1")
    return float(value)


def to_utc(option: str, value: datetime | None) -> datetime | None:
    """A time in UTC. Raises InvalidRequest for one without a time zone."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidRequest(option, value, "must be a datetime with a time zone")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidRequest(
            option, value.isoformat(), "in UTC it must lie between the years 1 and 9999"
        ) from None
