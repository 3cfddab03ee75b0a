"""Privacy for everything that a memory says of itself, before anything else happens (contract C1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from muisti.errors import InvalidMemory
from muisti.model import Draft, Memory
from muisti.model.fields import Redaction
from muisti.model.memory import FIELDS
from muisti.remember.privacy import all_cleaned, cleaned

if TYPE_CHECKING:
    from muisti.settings import Settings

_TEXTS = tuple(field.name for field in FIELDS if field.redaction is Redaction.TEXT)
_LISTS = tuple(field.name for field in FIELDS if field.redaction is Redaction.LIST)
_NAMES = tuple(field.name for field in FIELDS if field.redaction is Redaction.NAME)

Written = TypeVar("Written", Draft, Memory)


def screened(written: Written, settings: Settings) -> Written:
    """The memory, or the draft of one, without what is private. Raises InvalidMemory if nothing is left of it."""
    return replace(written, **screened_fields({name: getattr(written, name) for name in (*_TEXTS, *_LISTS, *_NAMES)}, settings))


def screened_fields(fields: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Fields of a memory, all or some, without what is private. Raises InvalidMemory if nothing is left of the content."""
    safe = dict(fields)
    for name in _TEXTS:
        if isinstance(safe.get(name), str):
            safe[name] = screened_text(safe[name], settings)
    for name in _LISTS:
        if isinstance(safe.get(name), tuple | list):
            safe[name] = _screened_items(safe[name], settings)
    for name in _NAMES:
        if isinstance(safe.get(name), str):
            screened_name(name, safe[name], settings)
    content = fields.get("content")
    if isinstance(content, str) and content.strip() and not safe["content"].strip():
        raise InvalidMemory("content", "<private>…", "nothing of it is left outside of <private>; nothing was stored")
    return safe


def screened_name(field: str, name: str, settings: Settings) -> str:
    """A name that is used as it is, so nothing can be taken out of it. Raises InvalidMemory if it holds something private."""
    if screened_text(name, settings) != name:
        raise InvalidMemory(field, "…", "it holds something private or a secret, and names are not redacted: choose another")
    return name


def screened_text(text: str, settings: Settings) -> str:
    """One text without what is private."""
    return cleaned(text, redact=settings.redact_secrets)


def screened_texts(texts: Sequence[str], settings: Settings) -> list[str]:
    """Many texts without what is private."""
    return all_cleaned(texts, redact=settings.redact_secrets)


def _screened_items(items: tuple[Any, ...] | list[Any], settings: Settings) -> tuple[Any, ...]:
    """An item that was private as a whole is left out; one that was empty before is somebody else's mistake to tell."""
    safe = [(item, screened_text(item, settings) if isinstance(item, str) else item) for item in items]
    return tuple(after for before, after in safe if after or not before)
