"""What importers of conversations share: names, times and the texts of content blocks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_OTHER = re.compile(r"[^\w.@+=~!#,-]+")
META_TEXT = 2_000
"""The most characters of one text in a message's meta."""


def name_conversation(channel: str, id_: object, *otherwise: object) -> str:
    """Return the name of a conversation: by its ID, or by a hash of other values."""
    text = _OTHER.sub("-", id_).strip("-.")[:100] if isinstance(id_, str) else ""
    if not text:
        text = hashlib.sha256(repr(otherwise).encode("utf-8", "replace")).hexdigest()[:32]
    return f"{channel}_{text}"


def parse_moment(value: object) -> datetime | None:
    """Return a time given as ISO 8601 or in seconds since 1970; None if it is neither."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def select_meta(values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return the values of these keys that are not empty; long texts are cut."""
    found = {}
    for key in keys:
        value = values.get(key)
        if value in (None, "", [], {}, False):
            continue
        found[key] = value[:META_TEXT] if isinstance(value, str) else value
    return found


def join_blocks(content: object) -> tuple[str, list[str]]:
    """Return the text of a message's content blocks, and the types of the other blocks."""
    if isinstance(content, str):
        return content, []
    texts, others = [], []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            texts.append(block)
            continue
        kind = block.get("type") if isinstance(block, dict) else None
        text = block.get("text") if isinstance(block, dict) else None
        if kind in ("text", "input_text", "output_text") and isinstance(text, str):
            texts.append(text)
        else:
            others.append(str(kind or "unknown"))
    return "\n\n".join(text for text in texts if text.strip()), others
