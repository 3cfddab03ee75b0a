"""What was said, read from an agent's transcript: lines of JSON, of which only some are the user's or the agent's own words."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

LARGEST = 8 * 1024 * 1024
"""Bytes of a transcript that are looked at: the last ones."""
_NOISE = re.compile(
    r"(?s)<(system-reminder|local-command-stdout|local-command-stderr|local-command-caveat)>.*?(?:</\1>|\Z)"
)
_COMMAND = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args|contents)|bash-(?:input|stdout|stderr)|user-memory-input)\b|\[Request interrupted)"
)
_ASIDE = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "toolUseResult")


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a user asked and, at last, was answered; either may be empty."""

    prompt: str
    answer: str
    at: datetime | None = None


def read_exchanges(path: str) -> list[Exchange]:
    """The exchanges of a transcript, in their order. Raises OSError if it is no plain file that can be read."""
    found: list[Exchange] = []
    for role, text, at in _spoken(_lines(path)):
        if role == "user":
            found.append(Exchange(text, "", at))
        elif found:  # of what an agent says between calls of tools, the last is its answer
            found[-1] = Exchange(found[-1].prompt, text, found[-1].at)
        else:
            found.append(Exchange("", text, at))
    return found


def _lines(path: str) -> Iterable[bytes]:
    fd = os.open(
        path,
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | os.O_CLOEXEC,
    )
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no plain file")
        cut = max(0, status.st_size - LARGEST)
        file.seek(cut)
        lines = file.read(LARGEST).split(b"\n")
    return lines[1:] if cut else lines


def _spoken(lines: Iterable[bytes]) -> Iterator[tuple[str, str, datetime | None]]:
    for line in lines:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if (
            not isinstance(said, dict)
            or said.get("type") not in ("user", "assistant")
            or _is_aside(said)
        ):
            continue
        text = _text(said["type"], said.get("message"))
        if text:
            yield said["type"], text, _moment(said.get("timestamp"))


def _is_aside(said: dict[str, object]) -> bool:
    """Not said between the user and the agent: what the program added, what agents say to one another."""
    return any(said.get(mark) for mark in _ASIDE)


def _text(role: str, message: object) -> str:
    if not isinstance(message, dict) or message.get("role", role) != role:
        return ""
    content = message.get("content")
    pieces = [content] if isinstance(content, str) else _pieces(content)
    text = (
        _NOISE.sub("", "\n".join(pieces))
        .replace("\0", " ")
        .encode("utf-8", "replace")
        .decode()
        .strip()
    )
    return "" if role == "user" and _COMMAND.match(text) else text


def _pieces(content: object) -> list[str]:
    """The texts of a message in parts: neither thoughts, nor calls of tools, nor what these gave back."""
    parts = content if isinstance(content, list) else []
    texts = (
        part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
    return [text for text in texts if isinstance(text, str)]


def _moment(text: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(text))
        return at if at.tzinfo is not None else None
    except ValueError:
        return None
