"""Redaction: removes private text and secrets before anything is stored or sent (contract C1).

Private parts are removed; known secrets become `[redacted:KIND]`. Every text is redacted exactly
once, where it enters:

- drafts, also those of an extractor: `remember.pipeline.prepare`
- exchanges, before they are queued: `remember.extraction_worker`
- conversations to extract from: `remember.extraction_worker`
- updates: `remember.change`
- messages: `remember.conversations`
- core memory, queries and summaries: `engine`
- files written outside muisti: their readers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from muisti.errors import InvalidMemory
from muisti.model.fields import Redaction
from muisti.model.memory import FIELDS
from muisti.text.private_tags import may_hold_tags, remove_private

if TYPE_CHECKING:
    from muisti.model import Exchange
    from muisti.settings import Settings

_TEXTS = tuple(field.name for field in FIELDS if field.redaction is Redaction.TEXT)
_LISTS = tuple(field.name for field in FIELDS if field.redaction is Redaction.LIST)
_NAMES = tuple(field.name for field in FIELDS if field.redaction is Redaction.NAME)
_DEFAULTS = {field.name: field.default for field in FIELDS}


def redact_text(text: str, settings: Settings) -> str:
    """Return the text without `<private>` parts and with `[redacted:KIND]` for each known secret.

    Secrets are kept if the setting `redact_secrets` is off. Idempotent.
    """
    public = remove_private(text) if text else text
    if not settings.redact_secrets or not public:
        return public
    from muisti.text.secrets import redact_secrets  # slow to import

    return redact_secrets(public)


def redact_texts(texts: Sequence[str], settings: Settings) -> list[str]:
    """Return each text redacted. Faster than `redact_text` for many texts."""
    public = list(texts)
    if may_hold_tags("\n".join(texts)):
        public = [remove_private(text) for text in texts]
    if not settings.redact_secrets:
        return public
    from muisti.text.secrets import may_hold_secrets, redact_secrets

    return [
        redact_secrets(text) if suspect else text
        for text, suspect in zip(public, may_hold_secrets(public), strict=True)
    ]


def redact_exchange(exchange: Exchange, settings: Settings) -> Exchange:
    """Return the exchange with its texts redacted, then cut to the longest content of a memory.

    Cutting comes last, because half a secret is not recognized. Raises InvalidMemory for a name
    that would have to be redacted.
    """
    most = settings.max_content_bytes
    check_name("session_id", exchange.session_id, settings)
    for name, value in (("project", exchange.project), ("user", exchange.owner)):
        if value is not None:
            check_name(name, value, settings)
    return replace(
        exchange,
        user=redact_text(exchange.user, settings)[:most],
        assistant=redact_text(exchange.assistant, settings)[:most],
        speaker=redact_text(exchange.speaker, settings).strip() or "User",
    )


def redact_fields(fields: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the given fields of a memory, redacted.

    Raises InvalidMemory if no content is left, or for a name that would have to be redacted.
    """
    safe = dict(fields)
    for name in _TEXTS:
        value = safe.get(name)
        if isinstance(value, str) and value != _DEFAULTS[name]:
            safe[name] = redact_text(value, settings)
    for name in _LISTS:
        if not safe.get(name) or not isinstance(safe[name], tuple | list):
            continue
        kept = []
        for item in safe[name]:
            redacted = redact_text(item, settings) if isinstance(item, str) else item
            if redacted or not item:  # validation reports items that were empty before
                kept.append(redacted)
        safe[name] = tuple(kept)
    for name in _NAMES:
        if safe.get(name) and isinstance(safe[name], str):
            check_name(name, safe[name], settings)
    content = fields.get("content")
    if isinstance(content, str) and content.strip() and not safe["content"].strip():
        raise InvalidMemory("content", "", "has no text outside of <private>; nothing was stored")
    return safe


def check_name(field: str, name: str, settings: Settings) -> str:
    """Return a name unchanged. Raises InvalidMemory if it would have to be redacted."""
    if redact_text(name, settings) != name:
        raise InvalidMemory(field, "…", "contains private text or a secret; choose another name")
    return name


def redact_meta(meta: Mapping[str, object], settings: Settings) -> dict[str, object]:
    """Return a message's meta with all texts and keys redacted, at any depth."""
    return {
        redact_text(key, settings): _redact_value(value, settings) for key, value in meta.items()
    }


def _redact_value(value: Any, settings: Settings) -> Any:
    if isinstance(value, str):
        return redact_text(value, settings)
    if isinstance(value, list):
        return [_redact_value(item, settings) for item in value]
    if isinstance(value, dict):
        return redact_meta(value, settings)
    return value
