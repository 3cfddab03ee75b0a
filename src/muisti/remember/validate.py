"""Validate every field of a memory before anything is written (contract A4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from muisti.errors import InvalidMemory
from muisti.model.fields import Field, Given, ValueType
from muisti.model.memory import FIELDS
from muisti.ports.lookups import ID

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.settings import Settings

MAX_TITLE = 300
MAX_NAME = 200
MAX_ITEMS = 200
_PROJECT = re.compile(r"[^\W_](?:[\w .+-]{0,98}[\w+-])?\Z")


def validate_memory(memory: Memory, settings: Settings) -> Memory:
    """Return the memory with every field in its normal form. Raises InvalidMemory."""
    values = {field.name: getattr(memory, field.name) for field in _VALIDATED}
    return replace(memory, **validate_values(values, settings))


def validate_values(
    values: Mapping[str, Any], settings: Settings, known: Container[str] = ()
) -> dict[str, Any]:
    """Return the values of a memory's fields, each in its normal form. Raises InvalidMemory.

    A field that is left out has its default. Known: fields that are validated already.
    """
    valid = dict(values)
    for field in _REQUIRED:
        if field.name not in known:
            valid.setdefault(field.name, field.default)
    try:
        for name, value in valid.items():
            described = _BY_NAME.get(name)
            # Every default is valid.
            if described and (value is not described.default or described.required):
                valid[name] = validate_value(described, value, settings)
    except InvalidMemory:
        for field in _VALIDATED:  # report the first in the order of the fields
            value = values.get(field.name, field.default)
            if field.name not in known and (value is not field.default or field.required):
                validate_value(field, value, settings)
        raise
    start, end = valid.get("valid_from"), valid.get("valid_until")
    if start is not None and end is not None and end < start:
        reason = f"must not be before valid_from ({start.isoformat()})"
        raise InvalidMemory("valid_until", end.isoformat(), reason)
    return valid


def validate_value(field: Field, value: Any, settings: Settings) -> Any:  # noqa: PLR0912
    """Return a field's value in its normal form. Raises InvalidMemory."""
    if value is None and field.nullable:
        return None
    match field.value_type:
        case ValueType.BODY:
            return validate_content(value, settings)
        case ValueType.TEXT:
            return validate_text(field.name, value, settings)
        case ValueType.LINE:
            return validate_line(field.name, value, MAX_TITLE)
        case ValueType.NAME:
            if field.name == "user":
                return validate_user(value)
            may_be_empty = field.default == "" and value == ""
            return value if may_be_empty else validate_name(field.name, value)
        case ValueType.KIND:
            return validate_kind(value, settings)
        case ValueType.PROJECT:
            return validate_project(value)
        case ValueType.WORD:
            choices: type[StrEnum] = field.choices or StrEnum
            try:
                return choices(str(value).strip().casefold())
            except ValueError:
                reason = f"must be one of {', '.join(choices)}"
                raise InvalidMemory(field.name, value, reason) from None
        case ValueType.LIST:
            return validate_list(field.name, value)
        case ValueType.SHARE:
            return validate_share(field.name, value)
        case ValueType.TIME:
            return validate_time(field.name, value)
        case ValueType.FLAG:
            if not isinstance(value, bool):
                raise InvalidMemory(field.name, value, "must be true or false")
            return value
        case _:
            raise TypeError(f"{field.name}: cannot validate the type {field.value_type.value}")


_VALIDATED = tuple(
    field
    for field in FIELDS
    if (field.given >= Given.SAVE or field.front_matter)
    and field.value_type not in (ValueType.ID, ValueType.LINKS)
)
"""The fields that a caller or a file can set. IDs and links are validated where they are read."""


_BY_NAME = {field.name: field for field in _VALIDATED}
_REQUIRED = tuple(field for field in _VALIDATED if field.required)


def validate_id(memory_id: str) -> str:
    """Return the ID. Raises InvalidMemory."""
    if not isinstance(memory_id, str) or not ID.fullmatch(memory_id):
        raise InvalidMemory("id", memory_id, "must be up to 64 letters, digits, - and _")
    return memory_id


def validate_content(content: str, settings: Settings) -> str:
    """Return the content. Raises InvalidMemory if it is empty, too long or cannot be stored."""
    validate_text("content", content, settings)
    if not content.strip():
        raise InvalidMemory("content", content, "must not be empty")
    return content


def validate_kind(kind: str, settings: Settings) -> str:
    """Return the kind's name for a name or plural in any case. Raises InvalidMemory."""
    known = settings.kind(kind) if isinstance(kind, str) else None
    if known is None:
        names = ", ".join(settings.kinds)
        reason = f"must be one of {names}, or be added under [kinds] in muisti.toml"
        raise InvalidMemory("kind", kind, reason)
    return known.name


def validate_project(project: str) -> str:
    """Return the project's name in NFC. Raises InvalidMemory if it cannot name a folder."""
    if not isinstance(project, str):
        raise InvalidMemory("project", project, "must be a text")
    name = unicodedata.normalize("NFC", project[:400])  # some file systems return decomposed names
    is_valid = (
        len(project) <= 400
        and _PROJECT.match(name)
        and _is_encodable(name)
        and len(name.encode()) <= 180
    )
    if project and not is_valid:
        raise InvalidMemory(
            "project",
            project,
            "must be up to 100 letters, digits, spaces and . _ + - and begin with a letter or "
            "digit",
        )
    return name


def validate_name(field: str, name: str) -> str:
    """Return a session ID, a source or another short name. Raises InvalidMemory."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidMemory(field, name, "must be a non-empty text")
    return validate_line(field, name, MAX_NAME)


def validate_user(user: str) -> str:
    """Return the name of a user; empty for none. Raises InvalidMemory."""
    if user == "*":
        raise InvalidMemory("user", user, "must not be *, which stands for all users")
    return user if user == "" else validate_name("user", user)


def validate_line(field: str, text: str, most: int) -> str:
    """Return a text of one line and at most `most` characters. Raises InvalidMemory."""
    if not isinstance(text, str):
        raise InvalidMemory(field, text, "must be a text")
    for char in "" if text.isprintable() else text:
        if unicodedata.category(char) in ("Cc", "Cs") or char in "\u2028\u2029":
            name = "a NUL" if char == "\0" else f"the control character U+{ord(char):04X}"
            raise InvalidMemory(field, text, f"must be one line of text, without {name}")
    if len(text) > most:
        reason = f"must have at most {most} characters, not {len(text)}"
        raise InvalidMemory(field, text, reason)
    return text


def validate_share(field: str, value: float) -> float:
    """Return a number between 0 and 1. Raises InvalidMemory."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:  # NaN fails the comparison
        raise InvalidMemory(field, value, "must be a number between 0 and 1")
    return float(value)


def validate_time(field: str, at: datetime) -> datetime:
    """Return a time in UTC. Raises InvalidMemory."""
    if not isinstance(at, datetime):
        raise InvalidMemory(field, at, "must be a datetime")
    if at.tzinfo is None:
        raise InvalidMemory(field, at, "must have a time zone, for example datetime.now(UTC)")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        reason = "must be between the years 1 and 9999 in UTC"
        raise InvalidMemory(field, at.isoformat(), reason) from None


def validate_text(field: str, text: str, settings: Settings) -> str:
    """Return a text. Raises InvalidMemory if it is too long or a file cannot hold it."""
    if not isinstance(text, str):
        raise InvalidMemory(field, text, "must be a text")
    if "\0" in text:
        raise InvalidMemory(field, text, f"contains a NUL at position {text.index(chr(0))}")
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        reason = "contains half of a surrogate pair, which is not UTF-8"
        raise InvalidMemory(field, text, reason) from None
    limit = settings.max_content_bytes
    if size > limit:
        reason = f"must have at most {limit} bytes (max_content_bytes in muisti.toml), not {size}"
        raise InvalidMemory(field, text, reason)
    return text


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def validate_list(field: str, items: Sequence[str]) -> tuple[str, ...]:
    """Return a list of lines, stripped and without duplicates. Raises InvalidMemory."""
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise InvalidMemory(field, items, "must be a list of texts")
    if len(items) > MAX_ITEMS:
        raise InvalidMemory(field, len(items), f"must have at most {MAX_ITEMS} items")
    stripped = [validate_line(field, item, MAX_TITLE).strip() for item in items]
    if not all(stripped):
        raise InvalidMemory(field, tuple(items), "must not contain empty items")
    return tuple(dict.fromkeys(stripped))
