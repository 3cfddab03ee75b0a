"""Reads conversations and document sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from muisti.model import (
    SESSION_BREAK,
    Conversation,
    DocumentSource,
    EntryType,
    IndexedDocument,
    Message,
)
from muisti.storage.checked_values import check_text
from muisti.storage.memory.apply import to_time
from muisti.storage.memory.tables import Entry, Tables
from muisti.storage.memory.view import View


class _Line(NamedTuple):
    """A message and its position, by which lines are sorted."""

    path: str
    place: int
    id: str
    message: Message


class MemoryMessages:
    """Implements the port MessageReader."""

    view: Callable[[], View]

    def window(self, conversation: str, limit: int, *, whole: bool = False) -> list[Message]:
        """Return the latest messages since the last session break, or of all."""
        check_text(conversation)
        lines = _read_lines(self.view().tables, conversation)
        # Programs that sync folders leave the same message in a copy of its file.
        first: dict[tuple[object, ...], str] = {}
        shown = []
        for line in lines if whole else _skip_to_break(lines):
            message = line.message
            key = (message.id, message.at, message.role, message.content)
            if first.setdefault(key, line.path) == line.path:
                shown.append(message)
        return shown[max(0, len(shown) - limit) :]

    def list_conversations(self) -> list[Conversation]:
        """Return all conversations, the latest first."""
        tables = self.view().tables
        found = []
        for name in tables.by_conversation:
            lines = _read_lines(tables, name)
            times = [line.message.at for line in lines]
            count = sum(line.message.type != SESSION_BREAK for line in lines)
            segment = _skip_to_break(lines)
            last = lines[-1].message
            found.append(
                Conversation(
                    name,
                    count,
                    min(times),
                    max(times),
                    len(segment),
                    last.project,
                    last.user,
                    _find_model(lines),
                    segment[0].message.id if segment else "",
                )
            )
        found.sort(key=lambda conversation: conversation.name)
        return sorted(found, key=lambda conversation: conversation.last_at, reverse=True)

    def conversation(self, name: str) -> Conversation | None:
        """Return one conversation, or None."""
        check_text(name)
        return next((one for one in self.list_conversations() if one.name == name), None)

    def messages(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return messages by the IDs that searches return."""
        entries = self.view().tables.entries
        found = [entries[id_] for id_ in ids if id_ in entries]
        return {
            entry.memory.id: _make_line(entry).message
            for entry in found
            if entry.message is not None
        }

    def find_messages(self, conversation: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages of a conversation that have these message IDs."""
        found: dict[str, Message] = {}
        for line in _read_lines(self.view().tables, conversation):
            if line.message.id in message_ids:
                found.setdefault(line.message.id, line.message)
        return found

    def document_sources(self) -> list[str]:
        """Return the source names of indexed documents."""
        entries = self.view().tables.entries.values()
        return sorted(
            {entry.memory.source for entry in entries if entry.memory.origin is EntryType.DOCUMENT}
        )

    def sources(self) -> list[DocumentSource]:
        """Return the indexed files and folders."""
        sources = self.view().tables.sources
        return [sources[path] for path in sorted(sources)]

    def list_documents(self, paths: Sequence[str] | None = None) -> list[IndexedDocument]:
        """Return nothing: a vault in memory reads no files."""
        return []


def _read_lines(tables: Tables, conversation: str) -> list[_Line]:
    ids = tables.by_conversation[conversation]
    return sorted(_make_line(tables.entries[id_]) for id_ in ids)


def _find_model(lines: Sequence[_Line]) -> str:
    """Return the model of the latest assistant message that names one, or ""."""
    for line in reversed(lines):
        model = line.message.meta.get("model")
        if line.message.role == "assistant" and isinstance(model, str):
            return model
    return ""


def _make_line(entry: Entry) -> _Line:
    place = entry.message
    assert place is not None  # the caller passes messages only
    message = Message(
        id=place.message_id,
        conversation=place.conversation,
        role=place.role,
        content=entry.memory.content,
        at=to_time(place.at),
        type=place.type,
        meta=json.loads(place.meta) if place.meta else {},
        project=entry.memory.project,
        user=entry.memory.user,
    )
    return _Line(str(entry.memory.file_path), place.place, entry.memory.id, message)


def _skip_to_break(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines after the last session break."""
    breaks = [number for number, line in enumerate(lines) if line.message.type == SESSION_BREAK]
    return list(lines[breaks[-1] + 1 :] if breaks else lines)
