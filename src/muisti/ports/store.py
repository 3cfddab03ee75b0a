"""The store: where the truth is kept. It speaks memories; what a file or a row looks like is its own business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from muisti.model import CoreMemory, Event, Exchange, Memory, Message, QueueStatus


class Clock(Protocol):
    """Where "now" comes from; tests bring their own."""

    def now(self) -> datetime:
        """Return the present moment, timezone-aware UTC."""
        ...


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory as the store has it now."""

    memory: Memory
    revision: str
    """Names this state of the memory: an `Update` that is based on another one is refused."""
    indexed: bool
    """Whether the index has this very state."""


@dataclass(frozen=True, slots=True)
class Update:
    """A memory with other fields, and the revision that it was made from."""

    memory: Memory
    revision: str
    keep_version: bool = False
    """Keep the memory as it was before. The event `updated` then says where."""
    optional: bool = False
    """Leave the memory alone, instead of raising Conflict, if somebody is changing it right now."""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """An earlier version of a memory, or a text that was merged into it."""

    reference: str
    at: datetime
    memory: Memory
    merged: bool
    """Whether it was merged into the memory that it is kept for; otherwise it is what that memory said before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """One change of the store. It is written in the order of these fields, the events last."""

    created: Sequence[Memory] = ()
    merged: Sequence[tuple[Memory, str]] = ()
    """Texts that are kept beside the memory with this id."""
    updated: Sequence[Update] = ()
    trashed: Sequence[Memory] = ()
    restored: Sequence[str] = ()
    """Ids of memories that come back from the trash or the archive."""
    archived: Sequence[Memory] = ()
    erased: Sequence[str] = ()
    """Ids of memories of which nothing may be left: no version, no archived copy, no byte in the index."""
    dropped: Sequence[StoredVersion] = ()
    """Versions and merged texts that are no longer needed."""
    core: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Entries of core memory by section; None removes one."""
    messages: Sequence[Message] = ()
    """New messages, all of one conversation."""
    events: Sequence[Event] = ()
    durable: bool = True
    """Whether the events are on the disk before `commit` returns. What is in files always is."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a change."""

    memories: Mapping[str, Memory]
    """The created, updated, trashed and restored memories as they are stored."""
    indexed: bool
    """False if the index was busy or full: the change is safe, and the index catches up later."""


class ExtractionQueue(Protocol):
    """Exchanges that wait for extraction. An accepted one outlives the process, and only one reader gets it."""

    def put(self, exchange: Exchange) -> None:
        """Accept an exchange; it is on the disk before this returns."""
        ...

    def take_over(self) -> list[Exchange]:
        """Return the exchanges that ended processes left behind; they belong to this process from now on."""
        ...

    def done(self, exchange_id: str) -> None:
        """Forget an exchange that was dealt with."""
        ...

    def status(self) -> QueueStatus:
        """Return how much waits, accepted by whichever process. Never raises: what cannot be read is not counted."""
        ...

    def close(self) -> None:
        """Leave what still waits to the next process."""
        ...


class Store(Protocol):
    """The source of truth. Every change goes through `commit`, which also updates the search index."""

    @property
    def queue(self) -> ExtractionQueue:
        """The exchanges that wait for extraction."""
        ...

    def prepare(self, *, wait: bool) -> None:
        """Make the index ready to be read: follow it if another process replaced it, and catch up if it is stale.

        With `wait` off no lock is waited for: what cannot be caught up now is left for later. Raises IndexProblem
        if there is no index that could answer.
        """
        ...

    def repair(self) -> None:
        """Replace a damaged index by a new one."""
        ...

    def lock(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Hold the store for a change, across processes and threads. Raises VaultBusy after the time-out.

        Without a time-out the setting `lock_timeout` counts. What is read inside is what `commit` will change.
        """
        ...

    def commit(self, changes: ChangeSet) -> Committed:
        """Write a change: all of it or nothing as far as the store can, and then the index. Call it inside `lock`.

        Raises Conflict, VaultError; a change that is refused leaves no created memory behind.
        """
        ...

    def current(self, memory: Memory) -> Stored | None:
        """Return a memory of the index as the store has it now; None if it is gone. Raises BrokenFile.

        Where the two differ, the index is marked as stale.
        """
        ...

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Return the earlier versions and merged texts of a memory, oldest first."""
        ...

    def merged_ids(self) -> list[str]:
        """Return the ids of memories that have merged texts, the latest merged first."""
        ...

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return a page of the archive, the latest memories first. What cannot be read is left out."""
        ...

    def archived_memory(self, memory_id: str) -> Memory | None:
        """Return one memory of the archive. Raises BrokenFile."""
        ...

    def archived_ids(self) -> list[str]:
        """Return the ids of everything in the archive."""
        ...

    def events(self, memory_id: str) -> list[Event]:
        """Return all journal events that name a memory, in their order."""
        ...

    def core(self) -> CoreMemory:
        """Return the core memory; both sections are empty if there is none yet. Raises BrokenFile."""
        ...
