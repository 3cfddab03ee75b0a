"""Options of searches and lists, and how they become a Filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from muisti.errors import InvalidRequest
from muisti.model import EntryType, Filter
from muisti.model.argument_names import FIELD_OF, report_names, to_field_names
from muisti.model.fields import Field, Match, ValueType
from muisti.model.memory import FIELDS

if TYPE_CHECKING:
    from muisti.ports import Order
    from muisti.settings import Settings

ALL = "*"
"""A project or a user that stands for all of them."""
Mode = Literal["hybrid", "vector", "keyword"]


class ScopeOptions(TypedDict, total=False):
    """Whose memories a read sees. Without any: those of all projects and users."""

    project: str | None
    """Project-tier memories of this project (global ones are always included); `"*"`: of all."""
    user: str | None
    """Memories of this user and those without a user; `""`: only those; `"*"`: of all users."""
    session_id: str | None
    """The current session. It fixes project and user; its session-tier memories are included."""


class FilterOptions(ScopeOptions, total=False):
    """Restricts a search or a list. All are optional."""

    unfiled: bool
    """With a project: include memories that have no project."""
    session: str | None
    """Only memories created in this session."""
    kind: str | Sequence[str] | None
    """Only memories of this kind, or of one of these."""
    sector: str | Sequence[str] | None
    """Only memories of this sector, or of one of these."""
    tier: str | Sequence[str] | None
    """Only memories of this tier, or of one of these."""
    agent: str | None
    """Only memories that this agent wrote."""
    trusted: bool | None
    """Only trusted memories, or only those that no person has confirmed."""
    keywords: Sequence[str]
    """Only memories that have all of these."""
    files: Sequence[str]
    """Only memories about all of these files."""
    standing: bool | None
    """Only standing instructions and preferences, or only the others."""
    min_salience: float
    """Only memories with at least this salience, 0 to 1."""
    since: datetime | None
    """Only memories created at or after this time."""
    until: datetime | None
    """Only memories created before this time."""
    as_of: datetime | None
    """Only memories that were valid at this time."""
    known_at: datetime | None
    """Only memories that existed at this time."""
    include_deleted: bool
    """Include the trash."""
    source: str | Sequence[str] | None
    """Only `memory`, `document`, `message`, or a document's name such as `MEMORY.md`."""
    category: str | Sequence[str] | None
    """Accepted instead of `kind`."""
    tags: Sequence[str]
    """Accepted instead of `keywords`."""


OPTIONS = {
    name: hint
    for name, hint in {**ScopeOptions.__annotations__, **FilterOptions.__annotations__}.items()
    if name not in FIELD_OF
}
"""All options by name, without other names of the same option."""
FILTERED = tuple(field for field in FIELDS if field.match is not None)
"""The fields that a list or a search can be filtered by."""
_TYPES = tuple(EntryType)
_ORDERS: dict[tuple[str, str], Order] = {
    ("created_at", "asc"): "created_at",
    ("created_at", "desc"): "created_at_desc",
    ("salience", "desc"): "salience",
    ("salience", "asc"): "salience_asc",
    ("last_accessed", "desc"): "last_accessed",
    ("last_accessed", "asc"): "last_accessed_asc",
}


def to_filter(settings: Settings, options: FilterOptions, *, all_sessions: bool = False) -> Filter:
    """Return the options as a validated filter. Raises InvalidRequest with the option's name."""
    if not options:  # most searches: there is nothing to validate
        own = [None if name in ("", ALL) else name for name in (settings.project, settings.user)]
        return Filter(project=own[0], user=own[1], all_sessions=all_sessions)
    values = to_field_names(options)
    unknown = values.keys() - OPTIONS.keys()
    if unknown:
        from muisti.text.near_names import format_suggestion  # only errors need it

        name = min(unknown)
        hint = format_suggestion(name, [*OPTIONS, "limit"])
        raise InvalidRequest("option", name, f"must be one of {', '.join(OPTIONS)}{hint}")
    project, session_id = options.get("project"), options.get("session_id")
    for name, value in (("project", project), ("session_id", session_id)):
        if value is not None and not isinstance(value, str):
            raise InvalidRequest(name, value, "must be a text")
    if project is None and session_id is None:
        project = settings.project or None
    least = options.get("min_salience", 0.0)
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        raise InvalidRequest("min_salience", least, "must be a number between 0 and 1")
    sources = _to_texts("source", options.get("source"))
    types = [name for name in sources if name in _TYPES]
    documents = tuple(name for name in sources if name not in _TYPES)
    if documents and EntryType.DOCUMENT not in types:
        types.append(EntryType.DOCUMENT.value)
    with report_names(options):
        fields = {
            field.filter_name: _parse_field(field, values[field.name], settings)
            for field in FILTERED
            if values.get(field.name) is not None
        }
    user = fields.get("user")
    if user is None and session_id is None:
        user = settings.user or None
    fields["user"] = None if user == ALL else user
    return Filter(
        project=None if project == ALL else project,
        unfiled=bool(options.get("unfiled", False)),
        session_id=session_id,
        session=options.get("session"),
        all_sessions=all_sessions,
        min_salience=float(least),
        since=to_utc("since", options.get("since")),
        until=to_utc("until", options.get("until")),
        as_of=to_utc("as_of", options.get("as_of")),
        known_at=to_utc("known_at", options.get("known_at")),
        include_deleted=bool(options.get("include_deleted", False)),
        origins=tuple(types),
        documents=documents,
        **fields,
    )


def is_among(wanted: str | None, name: str) -> bool:
    """Return whether a project or a user is the wanted one; None and `"*"` want all."""
    return wanted in (None, ALL, name)


def _parse_field(field: Field, value: Any, settings: Settings) -> Any:
    """Return the value, or values, of a field that pass the filter. Raises InvalidRequest."""
    if field.value_type is ValueType.FLAG:
        if value is not None and not isinstance(value, bool):
            raise InvalidRequest(field.name, value, "must be true or false")
        return value
    if field.match in (Match.EXACT, Match.EXACT_OR_EMPTY):
        if value is not None and not isinstance(value, str):
            raise InvalidRequest(field.name, value, "must be a text")
        return value
    texts = _to_texts(field.name, value)
    if field.value_type is ValueType.KIND:
        names = []
        for name in texts:
            kind = settings.kind(name)
            if kind is None:
                raise InvalidRequest("kind", name, f"must be one of {', '.join(settings.kinds)}")
            names.append(kind.name)
        return tuple(names)
    if field.choices is not None:
        for text in texts:
            if text not in tuple(field.choices):
                choices = ", ".join(field.choices)
                raise InvalidRequest(field.name, text, f"must be one of {choices}")
        return tuple(str(text) for text in texts)
    return texts


def _to_texts(option: str, value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    values: tuple[Any, ...] = (value,)
    if isinstance(value, Sequence) and not isinstance(value, str):
        values = tuple(value)
    if not all(isinstance(item, str) for item in values):
        raise InvalidRequest(option, value, "must be a text or a list of texts")
    return values


def reject_source(options: FilterOptions) -> None:
    """Raises InvalidRequest for the option `source`, in calls that list memories only."""
    if options.get("source"):
        raise InvalidRequest(
            "source", options["source"], "is an option of `search` only; leave it out here"
        )


def to_order(order_by: str, order: str) -> Order:
    """Return the sort order of a list. Raises InvalidRequest."""
    if (order_by, order) not in _ORDERS:
        raise InvalidRequest(
            "order_by",
            f"{order_by} {order}",
            "must be created_at, salience or last_accessed, with order asc or desc",
        )
    return _ORDERS[order_by, order]


def to_utc(option: str, value: datetime | None) -> datetime | None:
    """Return a time in UTC, or None. Raises InvalidRequest if it has no time zone."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidRequest(option, value, "must be a datetime with a time zone")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidRequest(
            option, value.isoformat(), "must be between the years 1 and 9999 in UTC"
        ) from None
