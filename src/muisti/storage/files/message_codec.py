"""The lines of conversations. Looking for changed files needs none of this, which imports much."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muisti.errors import InvalidRequest, quote_value
from muisti.model import ROLES, Problem
from muisti.ports.rows import MessageLine
from muisti.remember.conversations import DEEPEST_META, PRIVATE, collect_texts, derive_meta
from muisti.storage.files.timestamps import format_time
from muisti.text.redact import redact_meta, redact_texts

if TYPE_CHECKING:
    from muisti.model import Message
    from muisti.settings import Settings


def format_line(message: Message) -> bytes:
    """Return the line of a message. Raises InvalidRequest."""
    line: dict[str, object] = {
        "id": message.id,
        "ts": format_time(message.at),
        "role": message.role,
        "content": message.content,
        "type": message.type,
        "meta": {**derive_meta(message.conversation), **message.meta},
    }
    try:
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "content", error.object[error.start], "must not contain half of a surrogate pair"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            "meta", type(message.meta).__name__, f"must be JSON ({error})"
        ) from error


def parse_lines(
    path: str, data: bytes, start: int, problems: list[Problem]
) -> Iterator[MessageLine]:
    """Yield the messages of complete lines. A line that is not one is added to the problems."""
    place = start
    own = derive_meta(path.split("/")[1])
    day = Path(path).stem
    for raw in data.split(b"\n"):
        if raw:
            try:
                yield _parse_line(raw if place else raw.removeprefix(BOM_UTF8), day, place, own)
            except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
                reason = str(error)
                if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
                    reason = "not JSON"
                elif isinstance(error, KeyError):
                    reason = f"has no {error}"
                if raw.strip():
                    skipped = f"skipped the line at byte {place} ({reason}): fix it"
                    problems.append(Problem(path, skipped))
        place += len(raw) + 1


def parse_line(path: str, raw: bytes, place: int) -> MessageLine | None:
    """Return the message of one line of a file; None if it is not one."""
    text = raw.removesuffix(b"\n")
    text = text if place else text.removeprefix(BOM_UTF8)
    try:
        return _parse_line(text, Path(path).stem, place, derive_meta(path.split("/")[1]))
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None


def is_object(raw: bytes) -> bool:
    """Return whether a line is complete: one that was cut short is not JSON."""
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


_scan: Callable[[str, int], tuple[Any, int]]
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
"""The core of `json.loads`, which is faster: there are many lines."""


def _parse_line(raw: bytes, day: str, place: int, own: dict[str, str]) -> MessageLine:
    """Parse one line at byte `place`. Own: meta values that every line of the conversation has."""
    text = raw.decode()
    try:
        parsed, end = _scan(text, 0)
    except StopIteration:
        end = -1
    if end != len(text):
        parsed = json.loads(text)  # handles leading spaces, and explains errors
    if not isinstance(parsed, dict):
        raise TypeError("not an object")
    role, content, at = parsed["role"], parsed["content"], parsed["ts"]
    meta = parsed.get("meta") or {}
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, not {quote_value(role)}")
    if not isinstance(content, str):
        content = "" if content is None else json.dumps(content, ensure_ascii=False)
    if b"\\u" in raw:
        # Raises for half of a surrogate pair, which the index cannot store.
        json.dumps(parsed, ensure_ascii=False).encode()
    if not isinstance(at, str) or not isinstance(meta, dict):
        raise TypeError("ts must be a time and meta an object")
    sent_at = datetime.fromisoformat(at)
    if sent_at.tzinfo is None:
        sent_at = sent_at.replace(tzinfo=UTC)
    elif sent_at.tzinfo is not UTC:
        sent_at = sent_at.astimezone(UTC)
    others = {key: value for key, value in meta.items() if key not in own or str(value) != own[key]}
    if raw.count(b"[") + raw.count(b"{") > DEEPEST_META:
        collect_texts(others)  # raises if it is nested too deeply
    id_ = str(parsed.get("id") or f"line-{day}-{place}")
    type_ = parsed.get("type")
    return MessageLine(place, id_, sent_at, role, content, str(type_) if type_ else None, others)


def redact_lines(lines: list[MessageLine], written: dict[str, Message], settings: Settings) -> None:
    """Redact lines that others wrote, so that private text stays out of the index.

    Written: the messages that this process wrote, which are redacted already.
    """
    foreign = []
    for at, line in enumerate(lines):
        own = written.get(line.id)
        if own is None or (line.content, line.meta) != (own.content, own.meta):
            foreign.append(at)
    contents = [lines[at].content for at in foreign]
    redacted = redact_texts(contents, settings)
    for at, before, after in zip(foreign, contents, redacted, strict=True):
        if before != after:
            lines[at] = lines[at]._replace(content=after if after.strip() else PRIVATE)
    with_meta = [at for at in foreign if lines[at].meta]
    texts: list[str] = []
    for at in with_meta:
        texts += collect_texts(lines[at].meta)
    if redact_texts(texts, settings) == texts:
        return
    for at in with_meta:
        meta = redact_meta(lines[at].meta, settings)
        lines[at] = lines[at]._replace(meta=meta)
