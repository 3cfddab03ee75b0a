"""Redaction: what must not be stored, logged or sent is taken out of a text (contract C1).

Private parts go, known secrets become `[redacted:KIND]`. Every text passes here once, at the door
through which it enters, and nothing behind the door looks again:

- a draft: `remember.pipeline.prepare`, the only maker of what `store` takes. What an extractor
  wrote is a new text and enters here too.
- an exchange to learn from: `Learner.accept`, before it is queued
- a talk: `remember.learn.extract_from`
- a change: `remember.change.update`
- a message: `remember.talk.made_message`
- core memory, queries, summaries: `engine`
- what people and other programs wrote into files: the readers of those files
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from muisti.errors import InvalidMemory
from muisti.model import Draft, Exchange, Memory
from muisti.model.fields import Redaction
from muisti.model.memory import FIELDS
from muisti.text.private_tags import may_hold_tags, remove_private

if TYPE_CHECKING:
    from muisti.settings import Settings

_TEXTS = tuple(field.name for field in FIELDS if field.redaction is Redaction.TEXT)
_LISTS = tuple(field.name for field in FIELDS if field.redaction is Redaction.LIST)
_NAMES = tuple(field.name for field in FIELDS if field.redaction is Redaction.NAME)

Written = TypeVar("Written", Draft, Memory)


def redact_text(text: str, settings: Settings) -> str:
    """Return the text without `<private>` parts and with `[redacted:KIND]` for each known secret.

    Secrets stay if the settings say so (`redact_secrets`). Redacting again changes nothing.
    """
    public = remove_private(text)
    if not settings.redact_secrets:
        return public
    from muisti.text.secrets import redact_secrets  # its tables take time to load

    return redact_secrets(public)


def redact_texts(texts: Sequence[str], settings: Settings) -> list[str]:
    """Return what `redact_text` returns for each. Quicker for many: most hold nothing to redact."""
    public = (
        [remove_private(text) for text in texts] if may_hold_tags("\n".join(texts)) else list(texts)
    )
    if not settings.redact_secrets:
        return public
    from muisti.text.secrets import may_hold_secrets, redact_secrets

    return [
        redact_secrets(text) if suspect else text
        for text, suspect in zip(public, may_hold_secrets(public), strict=True)
    ]


def redact_draft(written: Written, settings: Settings) -> Written:
    """Return the draft, or the memory, with every text in it redacted.

    Raises InvalidMemory if no content is left, or for a name with something private in it.
    """
    fields = {name: getattr(written, name) for name in (*_TEXTS, *_LISTS, *_NAMES)}
    return replace(written, **redact_fields(fields, settings))


def redact_labels(memory: Memory, settings: Settings) -> Memory:
    """Return a memory whose content is redacted with all its other texts redacted as well."""
    fields = {
        name: getattr(memory, name) for name in (*_TEXTS, *_LISTS, *_NAMES) if name != "content"
    }
    return replace(memory, **redact_fields(fields, settings))


def redact_exchange(exchange: Exchange, settings: Settings) -> Exchange:
    """Return the exchange with its texts redacted, then cut to the length that a memory may have.

    Cutting comes last: half of a secret is not recognised. Raises InvalidMemory for a name with
    something private in it.
    """
    most = settings.max_content_bytes
    check_name("session_id", exchange.session_id, settings)
    if exchange.project is not None:
        check_name("project", exchange.project, settings)
    return replace(
        exchange,
        user=redact_text(exchange.user, settings)[:most],
        assistant=redact_text(exchange.assistant, settings)[:most],
        speaker=redact_text(exchange.speaker, settings).strip() or "User",
    )


def redact_fields(fields: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return all or some fields of a memory, redacted.

    Raises InvalidMemory if no content is left, or for a name with something private in it.
    """
    safe = dict(fields)
    for name in _TEXTS:
        if isinstance(safe.get(name), str):
            safe[name] = redact_text(safe[name], settings)
    for name in _LISTS:
        if isinstance(safe.get(name), tuple | list):
            safe[name] = _redact_items(safe[name], settings)
    for name in _NAMES:
        if isinstance(safe.get(name), str):
            check_name(name, safe[name], settings)
    content = fields.get("content")
    if isinstance(content, str) and content.strip() and not safe["content"].strip():
        raise InvalidMemory(
            "content",
            "<private>…",
            "nothing of it is left outside of <private>; nothing was stored",
        )
    return safe


def check_name(field: str, name: str, settings: Settings) -> str:
    """Return a name that is used as it is. Raises InvalidMemory if it would have to be redacted."""
    if redact_text(name, settings) != name:
        raise InvalidMemory(
            field,
            "…",
            "it holds something private or a secret, and names are not redacted: choose another",
        )
    return name


def redact_meta(meta: Mapping[str, object], settings: Settings) -> dict[str, object]:
    """Return a message's meta with all texts in it redacted, however deep they are."""
    return {key: _redact_value(value, settings) for key, value in meta.items()}


def _redact_value(value: Any, settings: Settings) -> Any:
    if isinstance(value, str):
        return redact_text(value, settings)
    if isinstance(value, list):
        return [_redact_value(item, settings) for item in value]
    if isinstance(value, dict):
        return {key: _redact_value(item, settings) for key, item in value.items()}
    return value


def _redact_items(items: tuple[Any, ...] | list[Any], settings: Settings) -> tuple[Any, ...]:
    """Leave out what was private as a whole. What was empty before is for the validation to report."""
    safe = [
        (item, redact_text(item, settings) if isinstance(item, str) else item) for item in items
    ]
    return tuple(after for before, after in safe if after or not before)
