"""Reads conversations and documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from muisti.model import SESSION_BREAK, Conversation, DocumentSource, EntryType, Message
from muisti.storage.memory.apply import to_time
from muisti.storage.memory.tables import Entry, Tables, check_text
from muisti.storage.memory.view import View


class _Line(NamedTuple):
    """A message at its place; lines sort as they were said."""

    path: str
    place: int
    id: str
    message: Message


class MemoryMessages:
    """Reads messages, and what is searched beside the memories."""

    view: Callable[[], View]

    def window(self, chat: str, limit: int, *, whole: bool = False) -> list[Message]:
        """The latest since the last session break, or of all."""
        check_text(chat)
        lines = _lines(self.view().tables, chat)
        shown = _without_copies(lines if whole else _since_break(lines))
        return [line.message for line in shown[max(0, len(shown) - limit) :]]

    def list_conversations(self) -> list[Conversation]:
        """All conversations, the latest first."""
        tables = self.view().tables
        found = []
        for name in tables.by_conversation:
            lines = _lines(tables, name)
            times = [line.message.at for line in lines]
            count = sum(line.message.type != SESSION_BREAK for line in lines)
            found.append(
                Conversation(name, count, min(times), max(times), len(_since_break(lines)))
            )
        found.sort(key=lambda chat: chat.name)
        return sorted(found, key=lambda chat: chat.last_at, reverse=True)

    def messages(self, ids: Sequence[str]) -> dict[str, Message]:
        """Messages by the ids that searches return."""
        entries = self.view().tables.entries
        found = [entries[id_] for id_ in ids if id_ in entries]
        return {
            entry.memory.id: _line(entry).message for entry in found if entry.message is not None
        }

    def find_messages(self, chat: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Those of these that are in a conversation; of several with one id the first."""
        found: dict[str, Message] = {}
        for line in _lines(self.view().tables, chat):
            if line.message.id in message_ids:
                found.setdefault(line.message.id, line.message)
        return found

    def document_sources(self) -> list[str]:
        """What indexed documents are called."""
        entries = self.view().tables.entries.values()
        return sorted(
            {entry.memory.source for entry in entries if entry.memory.origin is EntryType.DOCUMENT}
        )

    def sources(self) -> list[DocumentSource]:
        """The files and folders that are searched beside the memories."""
        sources = self.view().tables.sources
        return [sources[path] for path in sorted(sources)]


def _lines(tables: Tables, chat: str) -> list[_Line]:
    return sorted(_line(tables.entries[id_]) for id_ in tables.by_conversation[chat])


def _line(entry: Entry) -> _Line:
    place = entry.message
    assert place is not None  # only messages are in a conversation
    message = Message(
        id=place.message_id,
        conversation=place.conversation,
        role=place.role,
        content=entry.memory.content,
        at=to_time(place.at),
        type=place.type,
        meta=json.loads(place.meta) if place.meta else {},
    )
    return _Line(str(entry.memory.file_path), place.place, entry.memory.id, message)


def _since_break(lines: Sequence[_Line]) -> list[_Line]:
    """What was said after the last session break."""
    breaks = [number for number, line in enumerate(lines) if line.message.type == SESSION_BREAK]
    return list(lines[breaks[-1] + 1 :] if breaks else lines)


def _without_copies(lines: Sequence[_Line]) -> list[_Line]:
    """Without what a program that syncs folders leaves: the same message in a copy of its file."""
    first: dict[tuple[object, ...], str] = {}
    shown = []
    for line in lines:
        message = line.message
        said = (message.id, message.at, message.role, message.content)
        if first.setdefault(said, line.path) == line.path:
            shown.append(line)
    return shown
