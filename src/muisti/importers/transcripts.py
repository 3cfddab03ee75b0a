"""What importers of agents' session files share: one conversation for each file of JSON lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muisti.importers.conversation_parts import name_conversation
from muisti.importers.jsonl import iterate_lines
from muisti.importers.source import Source
from muisti.ports import ImportedConversation, ImportedMessage, ImportItem, SkippedItem

_PROMPTS = "history.jsonl"


@dataclass(slots=True)
class Transcript:
    """What is known of a session while its file is read."""

    id: str = ""
    about: dict[str, Any] = field(default_factory=dict)


ReadLine = Callable[[Mapping[str, Any], Transcript], ImportedMessage | str | None]
"""Return the message of a line, why it is left out, or None for a line that holds no message.

Raises ValueError for a line that has not the expected form.
"""


def find_transcripts(source: Source, sign: re.Pattern[bytes]) -> list[str]:
    """Return the files of JSON lines whose beginning matches, without the list of all prompts."""
    return [
        path
        for path in source.find(".jsonl")
        if not path.endswith(_PROMPTS) and sign.search(source.read_head(path))
    ]


def require_type(line: Mapping[str, Any], *, is_known: bool = False) -> None:
    """Raise ValueError for a line without a type, unless it is known to have none."""
    if not is_known and not isinstance(line.get("type"), str):
        raise ValueError("`type` is missing")


def read_transcript(
    source: Source, path: str, channel: str, read_line: ReadLine
) -> Iterator[ImportItem]:
    """Yield the conversation of a file, and what of it is left out."""
    transcript = Transcript()
    messages: list[ImportedMessage] = []
    for where, line in iterate_lines(source, path):
        if isinstance(line, SkippedItem):
            yield line
        elif not isinstance(line, Mapping):
            yield SkippedItem(where, "must be an object")
        else:
            try:
                found = read_line(line, transcript)
            except ValueError as error:
                yield SkippedItem(where, f"{error}; the format may have changed")
                continue
            if isinstance(found, str):
                yield SkippedItem(where, found, expected=True)
            elif found is not None:
                own = found.id or f"line {where.rpartition(' ')[2]}"
                messages.append(replace(found, id=own[:120]))
    if messages:
        stem = path.rpartition("/")[2].removesuffix(".jsonl")
        messages[0] = replace(messages[0], meta={**transcript.about, **messages[0].meta})
        name = name_conversation(channel, transcript.id or stem)
        yield ImportedConversation(name, messages, source.describe(path))
