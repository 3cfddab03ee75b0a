"""What may be kept: every field is checked before anything is written (contract A4)."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from muisti.errors import InvalidMemory
from muisti.model import Memory
from muisti.model.fields import Field, Given, ValueType
from muisti.model.memory import FIELDS
from muisti.settings import Settings

MAX_TITLE = 300
MAX_NAME = 200
MAX_ITEMS = 200
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
_PROJECT = re.compile(r"[^\W_](?:[\w .+-]{0,98}[\w+-])?\Z")

Word = TypeVar("Word", bound=StrEnum)


def validate_memory(memory: Memory, settings: Settings) -> Memory:
    """The memory with every field in its proper form. Raises InvalidMemory."""
    checked = {
        field.name: validate_value(field, getattr(memory, field.name), settings)
        for field in _CHECKED
    }
    start, end = checked["valid_from"], checked["valid_until"]
    if start is not None and end is not None and end < start:
        reason = f"must not be before valid_from ({start.isoformat()})"
        raise InvalidMemory("valid_until", end.isoformat(), reason)
    return replace(memory, **checked)


def validate_value(field: Field, value: Any, settings: Settings) -> Any:  # noqa: PLR0912  # one branch for each type
    """A value of one field in its proper form. Raises InvalidMemory."""
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
            may_be_empty = field.default == "" and value == ""
            return value if may_be_empty else validate_name(field.name, value)
        case ValueType.KIND:
            return validate_kind(value, settings)
        case ValueType.PROJECT:
            return validate_project(value)
        case ValueType.WORD:
            return _word(field.name, value, field.choices or StrEnum)
        case ValueType.LIST:
            return _checked_items(field.name, value)
        case ValueType.SHARE:
            return validate_share(field.name, value)
        case ValueType.TIME:
            return validate_time(field.name, value)
        case ValueType.FLAG:
            return _checked_flag(field.name, value)
        case _:
            raise TypeError(
                f"{field.name}: values of the type {field.value_type.value} are not checked here"
            )


_CHECKED = tuple(
    field
    for field in FIELDS
    if (field.given >= Given.SAVE or field.front_matter)
    and field.value_type not in (ValueType.ID, ValueType.LINKS)
)
"""What a caller or a file can say, but for ids and links, which are checked where they are read."""


def validate_id(memory_id: str) -> str:
    """An id is one short word. Raises InvalidMemory."""
    if not isinstance(memory_id, str) or not _ID.match(memory_id):
        raise InvalidMemory("id", memory_id, "an id is up to 64 letters, digits, - and _")
    return memory_id


def validate_content(content: str, settings: Settings) -> str:
    """Any text but an empty, an unstorable or an oversize one."""
    validate_text("content", content, settings)
    if not content.strip():
        raise InvalidMemory("content", content, "must not be empty")
    return content


def validate_kind(kind: str, settings: Settings) -> str:
    """The kind's own name; plurals and any case are understood."""
    known = settings.kind(kind) if isinstance(kind, str) else None
    if known is None:
        names = ", ".join(settings.kinds)
        raise InvalidMemory(
            "kind", kind, f"must be one of {names}, or be added under [kinds] in muisti.toml"
        )
    return known.name


def validate_project(project: str) -> str:
    """A project's name becomes a folder, so it must be a plain name."""
    if not isinstance(project, str):
        raise InvalidMemory("project", project, "must be a text")
    name = unicodedata.normalize(
        "NFC", project[:400]
    )  # decomposed letters, as some disks give them, are letters too
    if project and (
        not _PROJECT.match(name)
        or not _encodable(name)
        or len(name.encode()) > 180
        or len(project) > 400
    ):
        raise InvalidMemory(
            "project",
            project,
            "a project's name is up to 100 letters, digits, spaces and . _ + - and begins with a letter or digit",
        )
    return name


def validate_name(field: str, name: str) -> str:
    """A session id or a source: one short line."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidMemory(field, name, "must be a text that is not empty")
    return validate_line(field, name, MAX_NAME)


def validate_line(field: str, text: str, most: int) -> str:
    """One line of visible text."""
    if not isinstance(text, str):
        raise InvalidMemory(field, text, "must be a text")
    bad = next(
        (
            char
            for char in text
            if unicodedata.category(char) in ("Cc", "Cs") or char in "\u2028\u2029"
        ),
        None,
    )
    if bad is not None:
        what = "a NUL" if bad == "\0" else f"the control character U+{ord(bad):04X}"
        raise InvalidMemory(
            field, text, f"it contains {what}; remove it, one line of plain text is needed"
        )
    if len(text) > most:
        raise InvalidMemory(field, text, f"it has {len(text)} characters; at most {most} are kept")
    return text


def validate_share(field: str, value: float) -> float:
    """A number between 0 and 1."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or math.isnan(value)
        or not 0 <= value <= 1
    ):
        raise InvalidMemory(field, value, "must be a number between 0 and 1")
    return float(value)


def validate_time(field: str, at: datetime) -> datetime:
    """A moment in UTC."""
    if not isinstance(at, datetime):
        raise InvalidMemory(field, at, "must be a datetime")
    if at.tzinfo is None:
        raise InvalidMemory(field, at, "must have a time zone, for example datetime.now(UTC)")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidMemory(
            field, at.isoformat(), "in UTC it must lie between the years 1 and 9999"
        ) from None


def _checked_flag(field: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise InvalidMemory(field, value, "must be true or false")
    return value


def _word(field: str, value: str, words: type[Word]) -> Word:
    try:
        return words(str(value).strip().casefold())
    except ValueError:
        raise InvalidMemory(field, value, f"must be one of {', '.join(words)}") from None


def validate_text(field: str, text: str, settings: Settings) -> str:
    """Any text that a file can hold and that is not too long."""
    if not isinstance(text, str):
        raise InvalidMemory(field, text, "must be a text")
    if "\0" in text:
        raise InvalidMemory(
            field, text, f"it contains a NUL at position {text.index(chr(0))}; remove it"
        )
    if not _encodable(text):
        raise InvalidMemory(
            field, text, "it contains half of a surrogate pair, which no text file can hold"
        )
    size = len(text.encode())
    if size > settings.max_content_bytes:
        limit = settings.max_content_bytes
        raise InvalidMemory(
            field,
            text,
            f"it has {size} bytes; the limit is {limit} (max_content_bytes in muisti.toml)",
        )
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked_items(field: str, items: Sequence[str]) -> tuple[str, ...]:
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise InvalidMemory(field, items, "must be a list of texts")
    if len(items) > MAX_ITEMS:
        raise InvalidMemory(field, f"{len(items)} items", f"at most {MAX_ITEMS} are kept")
    cleaned = [validate_line(field, item, MAX_TITLE).strip() for item in items]
    if not all(cleaned):
        raise InvalidMemory(field, tuple(items), "none of them may be empty")
    return tuple(dict.fromkeys(cleaned))
