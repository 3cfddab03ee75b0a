"""The options of `save` and `update`, and how they become a draft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict

from muisti.errors import InvalidMemory
from muisti.model import Draft
from muisti.model.argument_names import to_field_names
from muisti.model.fields import Given, ValueType
from muisti.model.memory import FIELDS

_LISTS = tuple(
    field.name
    for field in FIELDS
    if field.value_type is ValueType.LIST and field.given >= Given.SAVE
)


class SaveOptions(TypedDict, total=False):
    """The fields of a new memory other than its content. Missing ones are derived."""

    title: str | None
    aliases: Sequence[str]
    kind: str | None
    sector: str | None
    tier: str | None
    project: str | None
    user: str | None
    agent: str | None
    session_id: str | None
    conversation: str
    from_message: str
    to_message: str
    source: str
    summary: str
    keywords: Sequence[str]
    categories: Sequence[str]
    files: Sequence[str]
    importance: float | None
    salience: float | None
    created_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    pinned: bool
    trusted: bool
    tags: Sequence[str]
    """Accepted instead of `keywords`."""


class UpdateOptions(TypedDict, total=False):
    """The fields of a memory that can be changed. Other fields are unchanged."""

    content: str
    title: str
    aliases: Sequence[str]
    kind: str
    sector: str
    tier: str
    project: str
    user: str
    agent: str
    session_id: str | None
    source: str
    summary: str
    keywords: Sequence[str]
    categories: Sequence[str]
    files: Sequence[str]
    importance: float
    valid_from: datetime | None
    valid_until: datetime | None
    pinned: bool
    trusted: bool
    category: str
    """Accepted instead of `kind`."""
    tags: Sequence[str]
    """Accepted instead of `keywords`."""


def to_draft(content: str, options: Mapping[str, Any]) -> Draft:
    """Return a draft. Raises InvalidMemory for an unknown field or a list that is not one.

    The options are those of SaveOptions and `category`. Raises InvalidRequest if a field is given
    under two names.
    """
    given = to_field_names(options)
    for name in _LISTS:
        items = () if given.get(name) is None else given[name]
        if isinstance(items, str) or not isinstance(items, Iterable):
            raise InvalidMemory(name, items, "must be a list of texts")
        given[name] = tuple(items)
    unknown = sorted(given.keys() - SaveOptions.__annotations__.keys())
    if unknown:
        from muisti.text.near_names import format_suggestion  # only errors need it

        name = unknown[0]
        hint = format_suggestion(name, ["content", *SaveOptions.__annotations__])
        raise InvalidMemory(name, given[name], f"is not a field of a memory{hint}")
    return replace(Draft(content=content), **given)


def parse_draft(item: Draft | str | dict[str, Any]) -> Draft:
    """Return a draft for one item of a batch. Raises InvalidMemory."""
    if isinstance(item, Draft):
        return item
    if isinstance(item, str):
        return Draft(content=item)
    if not isinstance(item, dict) or "content" not in item:
        raise InvalidMemory(
            "content", item, "is missing: pass a text, a Draft, or a dict with `content`"
        )
    rest = {key: value for key, value in item.items() if key != "content"}
    return to_draft(item["content"], rest)
