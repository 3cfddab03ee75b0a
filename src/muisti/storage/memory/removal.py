"""Remove texts that are not memories: messages, core memory, events."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from muisti.lifecycle.journal_projection import assign_messages, remove_from_event
from muisti.model import Event, Message
from muisti.ports.rows import MessageLine
from muisti.ports.store import Removal
from muisti.remember.index_rows import (
    LONG_AGO,
    get_own_scope,
    make_message_ids,
    project_messages,
)


@dataclass(slots=True)
class Day:
    """The messages of a conversation on one day: one file in a vault of files."""

    conversation: str
    lines: list[MessageLine] = field(default_factory=list)
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Role and content by the IDs that searches return."""
    latest: int = LONG_AGO
    """`created_at` of the last line in the index."""


class MemoryRemoval:
    """The part of the store that removes texts."""

    _lock: threading.RLock
    _state: Any
    _events: list[Event]
    _days: dict[str, Day]
    _trash: dict[str, list[MessageLine]]

    def repair(self) -> None:
        """Rebuild the index."""
        raise NotImplementedError

    def remove(self, removal: Removal) -> None:
        """Remove messages, core memory and events; then rebuild the index."""
        with self._lock:
            for conversation, ids in removal.messages.items():
                for path, day in list(self._days.items()):
                    if day.conversation == conversation:
                        self._remove_lines(path, day, ids)
                if removal.hard:
                    self._empty_trash(conversation, ids)
            for user in removal.core_users:
                self._state.user_core.pop(user, None)
            changed = [remove_from_event(event, removal) for event in self._events]
            self._events = [event for event in changed if event is not None]
            self.repair()

    def _remove_lines(self, path: str, day: Day, ids: Sequence[str] | None) -> None:
        trash = self._trash.setdefault(path, [])
        kept = []
        for line in day.lines:
            if ids is None or line.id in ids:
                trash.append(line)
            else:
                kept.append(line)
        self._replace_day(path, day.conversation, kept)

    def _empty_trash(self, conversation: str, ids: Sequence[str] | None) -> None:
        """Remove these messages, or all of a conversation, from the trash."""
        folder = f"conversations/{conversation}/"
        for path in [path for path in self._trash if path.startswith(folder)]:
            kept = [line for line in self._trash.pop(path) if ids and line.id not in ids]
            if kept:
                self._trash[path] = kept

    def _replace_day(self, path: str, conversation: str, lines: Sequence[MessageLine]) -> None:
        self._days.pop(path, None)
        if lines:
            day = self._days[path] = Day(conversation)
            day.lines = [line._replace(place=place) for place, line in enumerate(lines)]
            for id_, line in zip(make_message_ids(path, day.lines), day.lines, strict=True):
                day.texts.setdefault(id_, (line.role, line.content))
            day.latest = project_messages(conversation, path, day.lines, {})[-1].created_at

    def trashed_messages(self) -> list[Message]:
        """Return the messages in the trash."""
        found = []
        for path, lines in self._trash.items():
            for line in lines:
                project, user = get_own_scope(line.meta)
                message = Message(
                    id=line.id,
                    conversation=path.split("/")[1],
                    role=line.role,
                    content=line.content,
                    at=line.at,
                    project=project,
                    user=user,
                )
                found.append(message)
        return assign_messages(found, self._events)

    def restore_messages(self, conversation: str) -> int:
        """Put a conversation's messages back from the trash, and return how many."""
        folder = f"conversations/{conversation}/"
        count = 0
        with self._lock:
            for path in [path for path in self._trash if path.startswith(folder)]:
                kept = self._days[path].lines if path in self._days else []
                trashed = self._trash.pop(path)
                count += len(trashed)
                lines = sorted([*kept, *trashed], key=lambda line: line.at)
                self._replace_day(path, conversation, lines)
            self.repair()
        return count
