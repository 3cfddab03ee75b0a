"""Read exchanges from an agent's transcript, a JSON Lines file.

Claude Code's lines have a `type` (`user`, `assistant`) and a `message`, Cursor's a `role` instead
of the type. Those of VS Code and Copilot have a `type` (`user.message`) and `data`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from muisti.filesystem import open_file

MAX_BYTES = 8 * 1024 * 1024
"""Only the end of a longer transcript is read."""
_NOISE = re.compile(
    r"(?s)<(system-reminder|local-command-stdout|local-command-stderr|local-command-caveat)>"
    r".*?(?:</\1>|\Z)"
)
_COMMAND = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args|contents)|bash-(?:input|stdout|stderr)"
    r"|user-memory-input)\b|\[Request interrupted)"
)
_NOT_DIALOGUE = (
    "isMeta",
    "isSidechain",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "toolUseResult",
)
"""Marks of lines that the program added, or that agents say to one another."""
_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "user.message": "user",
    "assistant.message": "assistant",
}
_QUERY = re.compile(r"(?s)\A.*?<user_query>\s*(.*?)\s*</user_query>.*\Z")
"""Cursor puts the prompt between these tags, after what it adds itself."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and its final reply; either may be empty."""

    prompt: str
    answer: str
    at: datetime | None = None


def read_exchanges(path: str) -> list[Exchange]:
    """Return the exchanges of a transcript, in order. Raises OSError if it cannot be read."""
    exchanges: list[Exchange] = []
    for role, text, at in _parse_messages(_read_lines(path)):
        if role == "user":
            exchanges.append(Exchange(text, "", at))
        elif exchanges:  # of several messages between tool calls, the last is the reply
            exchanges[-1] = Exchange(exchanges[-1].prompt, text, exchanges[-1].at)
        else:
            exchanges.append(Exchange("", text, at))
    return exchanges


def _read_lines(path: str) -> list[bytes]:
    fd = open_file(Path(path))
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        start = max(0, status.st_size - MAX_BYTES)
        file.seek(start)
        lines = file.read(MAX_BYTES).split(b"\n")
    return lines[1:] if start else lines  # the first of a cut file is not whole


def _parse_messages(lines: list[bytes]) -> Iterator[tuple[str, str, datetime | None]]:
    """Yield role, text and time of each message between the user and the agent."""
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict) or any(record.get(mark) for mark in _NOT_DIALOGUE):
            continue
        role = _ROLES.get(str(record.get("type", record.get("role"))))
        if role is None:
            continue
        text = _get_text(role, record.get("message", record.get("data")))
        if not text:
            continue
        try:
            at = datetime.fromisoformat(str(record.get("timestamp")))
        except ValueError:
            yield role, text, None
        else:
            yield role, text, at if at.tzinfo is not None else None


def _get_text(role: str, message: Any) -> str:
    """Return the text of a message, without thinking, tool calls and tool results."""
    if not isinstance(message, dict) or message.get("role", role) != role:
        return ""
    if message.get("parentToolCallId"):  # said by an agent that the agent started
        return ""
    content = message.get("content")
    if isinstance(content, str):
        texts = [content]
    else:
        parts = content if isinstance(content, list) else []
        found = [part for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        texts = [part["text"] for part in found if isinstance(part.get("text"), str)]
    text = _NOISE.sub("", "\n".join(texts)).replace("\0", " ")
    text = text.encode("utf-8", "replace").decode().strip()
    text = _QUERY.sub(r"\1", text) if role == "user" else text
    return "" if role == "user" and _COMMAND.match(text) else text
