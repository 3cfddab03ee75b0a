"""A store in memory: the same rules as the vault of files, and nothing outlives the process.

A memory's `file_path` is where its file would be. There is no file; but the path tells, as in a
vault of files, whether a memory is in the trash or in the archive.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from muisti.errors import Conflict, IndexProblem, InvalidRequest, MemoryNotFound, VaultBusy
from muisti.lifecycle.journal_projection import project_events
from muisti.model import (
    CORE_SECTIONS,
    CoreMemory,
    Event,
    EventName,
    Exchange,
    Memory,
    Message,
    QueueStatus,
)
from muisti.ports.search import IndexChanges, MessageLine, TextRow
from muisti.ports.store import ChangeSet, Clock, Committed, Stored, StoredVersion, Update
from muisti.remember.index_rows import LONG_AGO, make_message_ids, project_memory, project_messages
from muisti.settings import Settings
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.tables import check_text

log = logging.getLogger("muisti")
_TRASH, _ARCHIVE, _HISTORY = ".trash", "archive", ".history"
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Record:
    """A memory, and how often the store had been changed when it was written."""

    memory: Memory
    revision: str


@dataclass(slots=True)
class _State:
    """All memories, and what is kept beside them.

    A change works on a copy, which then takes the place of the original.
    """

    changes: int = 0
    records: dict[str, _Record] = field(default_factory=dict)
    """Trashed ones included."""
    archive: dict[str, Memory] = field(default_factory=dict)
    versions: dict[str, tuple[StoredVersion, ...]] = field(default_factory=dict)
    core: dict[str, dict[str, str]] = field(
        default_factory=lambda: {section: {} for section in CORE_SECTIONS}
    )

    def copy(self) -> _State:
        """Return a copy that may be changed."""
        return _State(
            self.changes + 1,
            dict(self.records),
            dict(self.archive),
            dict(self.versions),
            {section: dict(entries) for section, entries in self.core.items()},
        )


@dataclass(slots=True)
class _Day:
    """What was said in a conversation on one day: as much as one file of a vault holds."""

    chat: str
    lines: list[MessageLine] = field(default_factory=list)
    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Role and content by the ids that searches return."""
    latest: int = LONG_AGO
    """The time of the last line in the index."""


class MemoryStore:
    """Memories, versions, archive, journal, conversations and core memory of one process."""

    def __init__(self, settings: Settings, clock: Clock, index: MemoryIndex) -> None:
        self.queue = MemoryQueue()
        self._settings = settings
        self._clock = clock
        self._index = index
        self._lock = threading.RLock()
        self._state = _State()
        self._events: list[Event] = []
        self._days: dict[str, _Day] = {}
        """By the path that the file would have."""

    # -- The index

    def prepare(self, *, wait: bool) -> None:
        """Build the index anew if a change did not reach it."""
        if self._index.stale:
            self.repair()

    def repair(self) -> None:
        """Build the index anew."""
        with self._lock:
            self._index.rebuild(self.project_all())

    def project_all(self) -> IndexChanges:
        """Return the rows of everything that is stored."""
        with self._lock:
            texts: list[TextRow] = []
            for path, day in self._days.items():
                texts += project_messages(day.chat, path, day.lines, {})
            return IndexChanges(
                memories=[project_memory(record.memory) for record in self._state.records.values()],
                texts=texts,
                journal=project_events(self._events, self._index, restart=True),
            )

    def count(self) -> tuple[int, int]:
        """Return how many memories there are, trashed ones included, and how many events."""
        return len(self._state.records), len(self._events)

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the store for a change, across threads."""
        wait = self._settings.lock_timeout if timeout is None else timeout
        if not self._lock.acquire(timeout=wait):
            raise VaultBusy(
                f"another thread has held the vault for {wait:g} seconds; try again in a moment"
            )
        try:
            yield
        finally:
            self._lock.release()

    # -- Writing

    def commit(self, changes: ChangeSet) -> Committed:
        """Write a change: all of it or, if something is refused, nothing. Then the index."""
        with self._lock:
            state = self._state.copy()
            events = [_checked_event(event) for event in changes.events]
            lines = [_to_line(message) for message in changes.messages]
            written = self._write(state, changes, events)
            self._state = state
            self._events += events
            texts = self._append(changes.messages[0].conversation, lines) if lines else []
            removed = [memory.id for memory in changes.archived] + list(changes.erased)
            indexed = self._update_index(written, removed, texts, events)
        return Committed(written, indexed)

    def _write(self, state: _State, changes: ChangeSet, events: list[Event]) -> dict[str, Memory]:
        """Change a copy of the state. Return the memories that changed."""
        now = self._clock.now()
        written: dict[str, Memory] = {}
        for memory in changes.created:
            if memory.id in state.records:
                raise Conflict(
                    f"there is a memory with the id {memory.id} already; leave the id out, or update that one"
                )
            written[memory.id] = replace(memory, file_path=_path_of(memory, self._settings))
        for memory, into in changes.merged:
            _keep(state, into, memory, now, merged=True)
        for update in changes.updated:
            written |= self._update(state, update, events, now)
        for memory in changes.trashed:
            known = _existing(state, memory.id)
            written[memory.id] = replace(
                known, deleted_at=now, file_path=f"{_TRASH}/{known.file_path}"
            )
        for memory_id in changes.restored:
            written[memory_id] = self._restored(state, memory_id)
        for memory_id, memory in written.items():
            state.records[memory_id] = _Record(memory, f"{state.changes}")
        for memory in changes.archived:
            known = _existing(state, memory.id)
            state.archive[memory.id] = replace(known, file_path=f"{_ARCHIVE}/{known.file_path}")
            del state.records[memory.id]
        for memory_id in changes.erased:
            state.records.pop(memory_id, None)
            state.archive.pop(memory_id, None)
            state.versions.pop(memory_id, None)
        for version in changes.dropped:
            _drop(state, version)
        for section, entries in changes.core.items():
            _write_core(state.core[section], entries)
        return written

    def _update(
        self, state: _State, update: Update, events: list[Event], now: datetime
    ) -> dict[str, Memory]:
        memory_id = update.memory.id
        record = state.records.get(memory_id)
        if record is None or record.revision != update.revision:
            if update.optional:
                return {}
            raise Conflict(
                f"{memory_id} was changed by somebody else; read the memory again and repeat the change"
            )
        if update.keep_version:
            kept = _keep(state, memory_id, record.memory, now, merged=False)
            events[:] = [_with_version(event, memory_id, kept) for event in events]
        path = (
            record.memory.file_path
            if record.memory.deleted_at
            else _path_of(update.memory, self._settings)
        )
        return {memory_id: replace(update.memory, file_path=path)}

    def _restored(self, state: _State, memory_id: str) -> Memory:
        record = state.records.get(memory_id)
        if record is not None and record.memory.deleted_at is not None:
            memory = replace(record.memory, deleted_at=None)
        elif record is None and memory_id in state.archive:
            memory = state.archive.pop(memory_id)
        else:
            raise MemoryNotFound(memory_id)
        return replace(memory, file_path=_path_of(memory, self._settings))

    def _append(self, chat: str, lines: Sequence[MessageLine]) -> list[TextRow]:
        """Add lines to the latest day of a conversation. Return the rows of what is new."""
        folder = f"conversations/{chat}/"
        latest = max((path for path in self._days if path.startswith(folder)), default="")
        path = max(f"{folder}{lines[0].at.date().isoformat()}.jsonl", latest)
        day = self._days.setdefault(path, _Day(chat))
        placed = [line._replace(place=len(day.lines) + number) for number, line in enumerate(lines)]
        rows = project_messages(chat, path, placed, day.said, day.latest)
        for id_, line in zip(make_message_ids(path, placed), placed, strict=True):
            day.said.setdefault(id_, (line.role, line.content))
        day.lines += placed
        day.latest = rows[-1].created_at if rows else day.latest
        return rows

    def _update_index(
        self,
        written: Mapping[str, Memory],
        removed: Sequence[str],
        texts: Sequence[TextRow],
        events: Sequence[Event],
    ) -> bool:
        if self._index.stale:
            return False  # the whole index is built anew at the next call
        gone = set(removed)
        rows = [project_memory(memory) for id_, memory in written.items() if id_ not in gone]
        try:
            journal = project_events(events, self._index) if events else None
            self._index.apply(IndexChanges(rows, removed, texts, journal=journal))
        except IndexProblem as error:
            log.warning("the change is saved, the index follows later: %s", error)
            self._index.stale = True
        return not self._index.stale

    # -- Reading

    def current(self, memory: Memory) -> Stored | None:
        """A memory as it is stored now."""
        record = self._state.records.get(memory.id)
        return (
            None
            if record is None
            else Stored(record.memory, record.revision, indexed=not self._index.stale)
        )

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """The earlier versions and merged texts of a memory, oldest first."""
        return list(self._state.versions.get(memory_id, ()))

    def merged_ids(self) -> list[str]:
        """The ids of memories that have merged texts, the latest merged first."""
        latest: dict[str, datetime] = {}
        for id_, kept in self._state.versions.items():
            for version in kept:
                if version.merged:
                    latest[id_] = version.at  # the last one is the latest
        return sorted(latest, key=lambda id_: (latest[id_], id_), reverse=True)

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """A page of the archive, the latest day first and, within a day, the latest id."""
        found = sorted(
            self._state.archive.values(),
            key=lambda one: (one.created_at.date(), one.id),
            reverse=True,
        )
        return found[offset : None if limit is None else offset + limit]

    def archived_memory(self, memory_id: str) -> Memory | None:
        """One memory of the archive."""
        return self._state.archive.get(memory_id)

    def archived_ids(self) -> list[str]:
        """The ids of everything in the archive."""
        return list(self._state.archive)

    def events(self, memory_id: str) -> list[Event]:
        """All events that name a memory, in their order."""
        return [
            event
            for event in self._events
            if memory_id in event.memory_ids or memory_id in event.data.values()
        ]

    def core(self) -> CoreMemory:
        """The core memory."""
        return CoreMemory(**{section: dict(self._state.core[section]) for section in CORE_SECTIONS})


class MemoryQueue:
    """Exchanges that wait for extraction. No other process can have left any."""

    def __init__(self) -> None:
        self._waiting: dict[str, Exchange] = {}

    def put(self, exchange: Exchange) -> None:
        """Accept an exchange."""
        self._waiting[exchange.id] = exchange

    def take_over(self) -> list[Exchange]:
        """Nothing: what was accepted here is dealt with here."""
        return []

    def done(self, exchange_id: str) -> None:
        """Forget an exchange that was dealt with."""
        self._waiting.pop(exchange_id, None)

    def status(self) -> QueueStatus:
        """Return how much waits."""
        oldest = min((exchange.at for exchange in self._waiting.values()), default=None)
        return QueueStatus(waiting=len(self._waiting), oldest=oldest)

    def close(self) -> None:
        """What still waits ends with the process."""
        self._waiting.clear()


def _path_of(memory: Memory, settings: Settings) -> str:
    """Where the file would be."""
    kind = settings.kinds.get(memory.kind)
    folder = kind.folder if kind is not None else memory.kind
    above = f"projects/{memory.project}/" if memory.project else ""
    return f"{above}{folder}/{memory.id}.md"


def _existing(state: _State, memory_id: str) -> Memory:
    if memory_id not in state.records:
        raise MemoryNotFound(memory_id)
    return state.records[memory_id].memory


def _keep(state: _State, memory_id: str, memory: Memory, at: datetime, *, merged: bool) -> str:
    """Keep a text beside a memory. Return its reference."""
    kept = state.versions.get(memory_id, ())
    while any(one.at == at for one in kept):
        at += _MICROSECOND  # the clock stood still or was set back
    reference = f"{_HISTORY}/{memory_id}/{at:%Y%m%dT%H%M%S%fZ}{'.merged' if merged else ''}.md"
    version = StoredVersion(reference, at, replace(memory, file_path=reference), merged)
    state.versions[memory_id] = tuple(sorted((*kept, version), key=lambda one: one.at))
    return reference


def _drop(state: _State, version: StoredVersion) -> None:
    for memory_id, kept in list(state.versions.items()):
        left = tuple(one for one in kept if one.reference != version.reference)
        if left:
            state.versions[memory_id] = left
        else:
            del state.versions[memory_id]


def _write_core(entries: dict[str, str], changes: Mapping[str, str | None]) -> None:
    for key, value in changes.items():
        check_text(key, value)
        if value is None:
            entries.pop(key, None)
        else:
            entries[key] = value


def _checked_event(event: Event) -> Event:
    """The event with data of its own, as a journal would give it back. Raises InvalidRequest."""
    try:
        told = json.dumps(
            [event.name, event.memory_ids, event.session_id, dict(event.data)], ensure_ascii=False
        )
        told.encode()
    except UnicodeEncodeError as error:
        cure = "half of a surrogate pair is no text; remove it"
        raise InvalidRequest(event.name, error.object[error.start], cure) from error
    return replace(
        event, name=str(event.name), memory_ids=tuple(event.memory_ids), data=json.loads(told)[3]
    )


def _to_line(message: Message) -> MessageLine:
    """The message as a line, its meta copied as JSON would. Raises InvalidRequest."""
    check_text(message.id, message.role, message.content, message.type)
    try:
        meta = json.loads(json.dumps(dict(message.meta), ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            "meta", type(message.meta).__name__, f"must be plain JSON ({error})"
        ) from error
    return MessageLine(0, message.id, message.at, message.role, message.content, message.type, meta)


def _with_version(event: Event, memory_id: str, kept: str) -> Event:
    """The event says where the version before it is kept."""
    if event.name != EventName.UPDATED or memory_id not in event.memory_ids:
        return event
    return replace(event, data={**event.data, "kept": kept})
