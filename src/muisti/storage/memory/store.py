"""A store in memory, with the same rules as a vault of files.

A memory's `file_path` is the path that its file would have. As in a vault of files, it shows
whether a memory is in the trash or in the archive.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from muisti.errors import Conflict, IndexProblem, MemoryNotFound, VaultBusy
from muisti.lifecycle.journal_projection import project_events
from muisti.model import (
    CORE_SECTIONS,
    CoreMemory,
    Event,
    EventName,
    Exchange,
    Memory,
    Problem,
    QueueStatus,
)
from muisti.ports.change_set import ChangeSet, Committed
from muisti.ports.rows import IndexChanges, MessageLine, TextRow
from muisti.ports.store import (
    Clock,
    Stored,
    StoredVersion,
    Update,
)
from muisti.ports.unshared import UnsharedQueue, UnsharedWork
from muisti.remember.index_rows import make_message_ids, project_memory, project_messages
from muisti.settings import Settings
from muisti.storage.checked_values import check_text, copy_event, to_message_line
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.removal import Day, MemoryRemoval

log = logging.getLogger("muisti")
_TRASH, _ARCHIVE, _HISTORY = ".trash", "archive", ".history"
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Record:
    """A memory and its revision: the number of the change that wrote it."""

    memory: Memory
    revision: str


@dataclass(slots=True)
class _State:
    """Everything that is stored. A change works on a copy, which then replaces the original."""

    changes: int = 0
    records: dict[str, _Record] = field(default_factory=dict)
    """By ID, including trashed memories."""
    archive: dict[str, _Record] = field(default_factory=dict)
    versions: dict[str, tuple[StoredVersion, ...]] = field(default_factory=dict)
    core: dict[str, dict[str, str]] = field(
        default_factory=lambda: {section: {} for section in CORE_SECTIONS}
    )
    user_core: dict[str, dict[str, str]] = field(default_factory=dict)
    """The section `user` of each user's core memory."""

    def copy(self) -> _State:
        """Return a copy that may be changed."""
        return _State(
            self.changes + 1,
            dict(self.records),
            dict(self.archive),
            dict(self.versions),
            {section: dict(entries) for section, entries in self.core.items()},
            {user: dict(entries) for user, entries in self.user_core.items()},
        )


class MemoryStore(MemoryRemoval):
    """Implements the port Store."""

    _state: _State

    def __init__(self, settings: Settings, clock: Clock, index: MemoryIndex) -> None:
        self.queue = MemoryQueue()
        self.work = UnsharedWork()
        self._settings = settings
        self._clock = clock
        self._index = index
        self._lock = threading.RLock()
        self._state = _State()
        self._events: list[Event] = []
        self._days: dict[str, Day] = {}
        """By the path that their file would have."""
        self._trash: dict[str, list[MessageLine]] = {}
        """Removed messages, by the same path."""

    # -- The index

    def prepare(self, *, wait: bool) -> None:
        """Rebuild the index if it lacks a change."""
        if self._index.stale:
            self.repair()

    def repair(self) -> None:
        """Rebuild the index."""
        with self._lock:
            self._index.rebuild(self.project_all())

    def project_all(self) -> IndexChanges:
        """Return the rows of everything that is stored."""
        with self._lock:
            texts: list[TextRow] = []
            for path, day in self._days.items():
                texts += project_messages(day.conversation, path, day.lines, {})
            return IndexChanges(
                memories=[project_memory(record.memory) for record in self._state.records.values()],
                texts=texts,
                journal=project_events(
                    self._events,
                    self._index,
                    restart=True,
                    grace_days=self._settings.salience_decay_days,
                ),
            )

    def count(self) -> tuple[int, int]:
        """Return the number of memories, including trashed ones, and of events."""
        return len(self._state.records), len(self._events)

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the store exclusively, across threads. Raises VaultBusy."""
        wait = self._settings.lock_timeout if timeout is None else timeout
        if not self._lock.acquire(timeout=wait):
            raise VaultBusy(f"another thread has locked the vault for {wait:g} seconds; try again")
        try:
            yield
        finally:
            self._lock.release()

    # -- Writing

    def commit(self, changes: ChangeSet) -> Committed:
        """Write a change, or nothing if an error is raised; then update the index."""
        with self._lock:
            state = self._state.copy()
            events = [copy_event(event) for event in changes.events]
            lines = [to_message_line(message) for message in changes.messages]
            written = self._write(state, changes, events)
            self._state = state
            self._events += events
            texts = self._append(changes.messages[0].conversation, lines) if lines else []
            removed = [memory.id for memory in changes.archived] + list(changes.erased)
            if not self._index.stale:  # else the next call rebuilds the whole index
                left = [memory for id_, memory in written.items() if id_ not in removed]
                rows = [project_memory(memory) for memory in left]
                try:
                    grace = self._settings.salience_decay_days
                    journal = (
                        project_events(events, self._index, grace_days=grace) if events else None
                    )
                    self._index.apply(IndexChanges(rows, removed, texts, journal=journal))
                except IndexProblem as error:
                    log.warning("the change is saved; the index will be updated later: %s", error)
                    self._index.stale = True
            return Committed(written, not self._index.stale)

    def _write(self, state: _State, changes: ChangeSet, events: list[Event]) -> dict[str, Memory]:
        """Change a copy of the state. Return the memories that changed."""
        now = self._clock.now()
        written: dict[str, Memory] = {}
        for memory in changes.created:
            if memory.id in state.records:
                raise Conflict(
                    f"a memory with the ID {memory.id} already exists; omit the ID, or update it"
                )
            written[memory.id] = replace(memory, file_path=_make_path(memory, self._settings))
        for memory, into in changes.merged:
            _keep_version(state, into, memory, now, merged=True)
        for update in changes.updated:
            written |= self._update(state, update, events, now)
        for memory in changes.trashed:
            known = _get_existing(state, memory.id)
            path = f"{_TRASH}/{known.file_path}"
            written[memory.id] = replace(known, deleted_at=now, file_path=path)
        for memory_id in changes.restored:
            written[memory_id] = self._restore(state, memory_id)
        for memory_id, memory in written.items():
            state.records[memory_id] = _Record(memory, f"{state.changes}")
        for memory in changes.archived:
            known = _get_existing(state, memory.id)
            archived = replace(known, file_path=f"{_ARCHIVE}/{known.file_path}")
            state.archive[memory.id] = _Record(archived, f"{state.changes}")
            del state.records[memory.id]
        for memory_id in changes.erased:
            state.records.pop(memory_id, None)
            state.archive.pop(memory_id, None)
            state.versions.pop(memory_id, None)
        if changes.dropped:
            _drop_versions(state, changes.dropped)
        for section, entries in changes.core.items():
            core = state.user_core if changes.core_user else state.core
            _write_core(core.setdefault(changes.core_user or section, {}), entries)
        return written

    def _update(
        self, state: _State, update: Update, events: list[Event], now: datetime
    ) -> dict[str, Memory]:
        memory_id = update.memory.id
        record = state.records.get(memory_id) or state.archive.get(memory_id)
        if record is None or record.revision != update.revision:
            if update.optional:
                return {}
            raise Conflict(f"{memory_id} has changed; read it again and repeat the change")
        if update.keep_version:
            kept = _keep_version(state, memory_id, record.memory, now, merged=False)
            for at, event in enumerate(events):
                if event.name == EventName.UPDATED and memory_id in event.memory_ids:
                    events[at] = event._replace(data={**event.data, "kept": kept})
        path = record.memory.file_path
        if memory_id not in state.records:  # it is archived, and not indexed
            archived = replace(update.memory, file_path=path)
            state.archive[memory_id] = _Record(archived, f"{state.changes}")
            return {}
        if not record.memory.deleted_at:
            path = _make_path(update.memory, self._settings)
        return {memory_id: replace(update.memory, file_path=path)}

    def _restore(self, state: _State, memory_id: str) -> Memory:
        record = state.records.get(memory_id)
        if record is not None and record.memory.deleted_at is not None:
            memory = replace(record.memory, deleted_at=None)
        elif record is None and memory_id in state.archive:
            memory = state.archive.pop(memory_id).memory
        else:
            raise MemoryNotFound(memory_id)
        return replace(memory, file_path=_make_path(memory, self._settings))

    def _append(self, conversation: str, lines: Sequence[MessageLine]) -> list[TextRow]:
        """Add lines to the latest day of a conversation. Return the new rows."""
        folder = f"conversations/{conversation}/"
        latest = max((path for path in self._days if path.startswith(folder)), default="")
        path = max(f"{folder}{lines[0].at.date().isoformat()}.jsonl", latest)
        day = self._days.setdefault(path, Day(conversation))
        placed = [line._replace(place=len(day.lines) + number) for number, line in enumerate(lines)]
        rows = project_messages(conversation, path, placed, day.texts, day.latest)
        for id_, line in zip(make_message_ids(path, placed), placed, strict=True):
            day.texts.setdefault(id_, (line.role, line.content))
        day.lines += placed
        day.latest = rows[-1].created_at if rows else day.latest
        return rows

    # -- Reading

    def current(self, memory: Memory) -> Stored | None:
        """Return the stored state of a memory, or None."""
        record = self._state.records.get(memory.id)
        if record is not None:
            return Stored(record.memory, record.revision, indexed=not self._index.stale)
        record = self._state.archive.get(memory.id)
        return Stored(record.memory, record.revision, indexed=False) if record else None

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Return the earlier versions and merged texts of a memory, oldest first."""
        return list(self._state.versions.get(memory_id, ()))

    def merged_ids(self) -> list[str]:
        """Return the IDs of memories with merged texts, the most recently merged first."""
        latest: dict[str, datetime] = {}
        for id_, kept in self._state.versions.items():
            for version in kept:
                if version.merged:
                    latest[id_] = version.at  # the last one is the latest
        return sorted(latest, key=lambda id_: (latest[id_], id_), reverse=True)

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return one page of the archive, the latest day first, then the latest ID."""
        found = [record.memory for record in self._state.archive.values()]
        found.sort(key=lambda memory: (memory.created_at.date(), memory.id), reverse=True)
        return found[offset : None if limit is None else offset + limit]

    def archived_memory(self, memory_id: str) -> Memory | None:
        """Return one archived memory, or None."""
        record = self._state.archive.get(memory_id)
        return record.memory if record else None

    def archived_ids(self) -> list[str]:
        """Return the IDs of all archived memories."""
        return list(self._state.archive)

    def events(self, memory_id: str) -> list[Event]:
        """Return all events that mention a memory, in journal order."""
        return [
            event
            for event in self._events
            if memory_id in event.memory_ids or memory_id in event.data.values()
        ]

    lag = ""

    def problems(self) -> list[Problem]:
        """Return nothing: there are no files."""
        return []

    def core(self, user: str = "", problems: list[Problem] | None = None) -> CoreMemory:
        """Return the core memory, of a user or of the vault."""
        core = self._state.core
        facts = self._state.user_core.get(user, {}) if user else core["user"]
        return CoreMemory(user=dict(facts), agent=dict(core["agent"]))


class MemoryQueue(UnsharedQueue):
    """Implements the port ExtractionQueue. Other processes have no exchanges here."""

    def __init__(self) -> None:
        self._waiting: dict[str, Exchange] = {}

    def put(self, exchange: Exchange, *, claim: bool = True) -> bool:
        """Add an exchange."""
        self._waiting[exchange.id] = exchange
        return True

    def take_over(self, limit: int | None = None) -> list[Exchange]:
        """Return nothing: there are no other processes."""
        return []

    def done(self, exchange_id: str) -> None:
        """Remove an exchange that was processed."""
        self._waiting.pop(exchange_id, None)

    def holds(self, exchange_id: str) -> bool:
        """Return whether an exchange is still waiting."""
        return exchange_id in self._waiting

    def discard(self, matches: Callable[[Exchange], bool], *, dry_run: bool = False) -> int:
        """Remove exchanges and return how many matched."""
        matching = [id_ for id_, exchange in list(self._waiting.items()) if matches(exchange)]
        for id_ in () if dry_run else matching:
            self._waiting.pop(id_, None)
        return len(matching)

    def status(self) -> QueueStatus:
        """Count the waiting exchanges."""
        oldest = min((exchange.at for exchange in self._waiting.values()), default=None)
        return QueueStatus(waiting=len(self._waiting), oldest=oldest)

    def close(self) -> None:
        """Drop the waiting exchanges."""
        self._waiting.clear()


def _make_path(memory: Memory, settings: Settings) -> str:
    """Return the path that the file would have."""
    kind = settings.kinds.get(memory.kind)
    folder = kind.folder if kind is not None else memory.kind
    above = f"projects/{memory.project}/" if memory.project else ""
    return f"{above}{folder}/{memory.id}.md"


def _get_existing(state: _State, memory_id: str) -> Memory:
    if memory_id not in state.records:
        raise MemoryNotFound(memory_id)
    return state.records[memory_id].memory


def _keep_version(
    state: _State, memory_id: str, memory: Memory, at: datetime, *, merged: bool
) -> str:
    """Keep a version of a memory, or a text merged into it. Return its reference."""
    kept = state.versions.get(memory_id, ())
    while any(version.at == at for version in kept):
        at += _MICROSECOND  # the clock did not advance
    reference = f"{_HISTORY}/{memory_id}/{at:%Y%m%dT%H%M%S%fZ}{'.merged' if merged else ''}.md"
    version = StoredVersion(reference, at, replace(memory, file_path=reference), merged)
    state.versions[memory_id] = tuple(sorted((*kept, version), key=lambda each: each.at))
    return reference


def _drop_versions(state: _State, versions: Sequence[StoredVersion]) -> None:
    dropped = {version.reference for version in versions}
    for memory_id, kept in list(state.versions.items()):
        left = tuple(version for version in kept if version.reference not in dropped)
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
