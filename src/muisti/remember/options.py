"""What callers may say of a memory, and how it becomes a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, cast

from muisti.errors import InvalidMemory
from muisti.model import Draft
from muisti.model.fields import Given, ValueType
from muisti.model.memory import FIELDS

_LISTS = tuple(
    field.name
    for field in FIELDS
    if field.value_type is ValueType.LIST and field.given >= Given.SAVE
)


class SaveOptions(TypedDict, total=False):
    """What a caller may say of a memory beside its content. What is not said is worked out."""

    title: str | None
    kind: str | None
    sector: str | None
    tier: str | None
    project: str | None
    user: str | None
    agent: str | None
    session_id: str | None
    source: str
    summary: str
    keywords: Sequence[str]
    files: Sequence[str]
    importance: float | None
    salience: float | None
    created_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    pinned: bool
    trusted: bool


class UpdateOptions(TypedDict, total=False):
    """What can be changed in a memory. What is not named stays."""

    content: str
    title: str
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
    files: Sequence[str]
    importance: float
    valid_from: datetime | None
    valid_until: datetime | None
    pinned: bool
    trusted: bool


def to_draft(content: str, options: SaveOptions) -> Draft:
    """A draft from a call's arguments. Raises InvalidMemory for a field that memories do not have."""
    given: dict[str, Any] = dict(options)
    for name in _LISTS:
        if isinstance(given.get(name), str):
            raise InvalidMemory(name, given[name], "must be a list of texts")
        given[name] = tuple(given.get(name) or ())
    unknown = set(given) - set(SaveOptions.__annotations__)
    if unknown:
        raise InvalidMemory(
            sorted(unknown)[0], given[sorted(unknown)[0]], "a memory has no such field"
        )
    return replace(Draft(content=content), **given)


def parse_draft(item: Draft | str | dict[str, Any]) -> Draft:
    """A draft from whatever a batch holds."""
    if isinstance(item, Draft):
        return item
    if isinstance(item, str):
        return Draft(content=item)
    if not isinstance(item, dict) or "content" not in item:
        raise InvalidMemory(
            "content", item, "every item of a batch is a text, a Draft, or a dict with `content`"
        )
    rest = {key: value for key, value in item.items() if key != "content"}
    return to_draft(item["content"], cast("SaveOptions", rest))
