"""The store: the source of truth. Callers pass memories; the store decides how to write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.model import CoreMemory, Event, Exchange, Memory, Message, Problem, QueueStatus
    from muisti.ports.change_set import ChangeSet, Committed


class Clock(Protocol):
    """The current time; tests use their own clock."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware UTC."""
        ...


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory as it is stored now."""

    memory: Memory
    revision: str
    """Identifies this state: an `Update` based on another revision is refused."""
    indexed: bool
    """Whether the index has exactly this state."""
    text: str = ""
    """The text of its file, which may have further keys; empty in a store without files."""


@dataclass(frozen=True, slots=True)
class Update:
    """A changed memory, and the revision it is based on."""

    memory: Memory
    revision: str
    keep_version: bool = False
    """Keep the previous state as a version. The event `updated` then gets its reference."""
    optional: bool = False
    """Skip the update, instead of raising Conflict, if the memory has another revision now."""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """An earlier version of a memory, or a text that was merged into it."""

    reference: str
    at: datetime
    memory: Memory
    merged: bool
    """True for a text that was merged into the memory, False for an earlier version of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Texts to remove that are not memories. Memories are removed by a ChangeSet."""

    messages: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    """IDs of messages by conversation; None: the whole conversation."""
    core_users: Sequence[str] = ()
    """Users whose core memory is removed."""
    sessions: AbstractSet[str] = frozenset()
    """Sessions to remove from the journal."""
    memories: AbstractSet[str] = frozenset()
    """IDs of memories to remove from the journal; only with `hard`."""
    paths: AbstractSet[str] = frozenset()
    """Document sources to remove from the journal; only with `hard`."""
    is_source: Callable[[str, str], bool] | None = None
    """Whether a source of this project and user is removed from the journal; only with `hard`."""
    hard: bool = False
    """Leave no copy. Otherwise messages and core memory go to the trash."""


class ExtractionQueue(Protocol):
    """Exchanges that wait for extraction. Each survives a crash and goes to one process only."""

    is_shared: bool
    """Whether processes take exchanges from each other while they run."""

    def put(self, exchange: Exchange, *, claim: bool = True) -> bool:
        """Add an exchange. It is on disk when this returns. Raises VaultError.

        Returns whether it belongs to this process. Without `claim`, a shared queue leaves it to the
        first process that takes it over.
        """
        ...

    def take_over(self, limit: int | None = None) -> list[Exchange]:
        """Return exchanges that no running process has. They now belong to this one.

        A shared queue returns at most `limit`, others all that ended processes left.
        """
        ...

    def postpone(self, exchange_id: str, error: str, pause: float, *, counts: bool) -> bool:
        """Give an exchange back that could not be processed; return False if that is not possible.

        A shared queue offers it again after this many seconds, and longer after each failure that
        counts; after several of them it is given up, which `Store.problems` reports.
        """
        ...

    def count_accepted(self) -> int:
        """Return how many exchanges of this process wait in a shared queue; otherwise 0."""
        ...

    def done(self, exchange_id: str) -> None:
        """Remove an exchange that was processed. An unknown ID is ignored."""
        ...

    def holds(self, exchange_id: str) -> bool:
        """Return whether an exchange of this process is still waiting."""
        ...

    def discard(self, matches: Callable[[Exchange], bool], *, dry_run: bool = False) -> int:
        """Remove exchanges, with their bytes, and return how many matched.

        Exchanges of other processes that are running are counted, but stay.
        """
        ...

    def status(self) -> QueueStatus:
        """Count the waiting exchanges of all processes. Never raises; skips what it cannot read."""
        ...

    def close(self) -> None:
        """Release the waiting exchanges, so that the next process can take them over."""
        ...


class BackgroundWork(Protocol):
    """Work that several processes of one store must not do twice."""

    def begin_maintenance(self, every: float) -> bool:
        """Return whether maintenance is due, and that this process runs it.

        Not if another process runs it, or has run it in the last `every` seconds.
        """
        ...

    def end_maintenance(self, *, complete: bool) -> None:
        """Record that maintenance ended. If it is not complete, it is due again soon."""
        ...

    def retry(self) -> int:
        """Let everything that was given up be tried again, and return how much it is."""
        ...


class Store(Protocol):
    """The source of truth. Every change goes through `commit`, which also updates the index."""

    @property
    def lag(self) -> str:
        """Why searches may lack recent changes, such as a full disk; "" if they do not."""
        ...

    @property
    def queue(self) -> ExtractionQueue:
        """The exchanges that wait for extraction."""
        ...

    @property
    def work(self) -> BackgroundWork:
        """What processes agree on before they work in the background."""
        ...

    def prepare(self, *, wait: bool) -> None:
        """Make the index readable: reopen it if it was replaced, update it if it is stale.

        Without `wait`, do not wait for a lock: use a stale index as it is. Raises IndexProblem or
        VaultBusy if no index can be read.
        """
        ...

    def repair(self) -> None:
        """Replace a damaged index with a new one."""
        ...

    def lock(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Hold the store exclusively, across processes and threads, to read and then commit.

        Raises VaultBusy after `timeout` seconds; the default is the setting `lock_timeout`.
        Re-entrant within a thread.
        """
        ...

    def commit(self, changes: ChangeSet) -> Committed:
        """Write a change, then update the index. Call it within `lock`.

        Raises Conflict if a created ID exists or an updated memory has another revision,
        MemoryNotFound if a memory to restore is missing, InvalidRequest for text that is not valid
        Unicode, and VaultError if the store cannot be written. After an error no created memory is
        left behind. An index that cannot be written is not an error: see `Committed.indexed`.
        """
        ...

    def remove(self, removal: Removal) -> None:
        """Remove messages, core memory and lines of the journal. Call it within `lock`."""
        ...

    def trashed_messages(self) -> list[Message]:
        """Return the messages in the trash. Their scope is what they say themselves."""
        ...

    def restore_messages(self, conversation: str) -> int:
        """Put a conversation's messages back from the trash, and return how many."""
        ...

    def current(self, memory: Memory) -> Stored | None:
        """Return the stored state of an indexed or archived memory, or None if it is gone.

        Raises BrokenFile. Marks the index as stale if the two differ.
        """
        ...

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Return the earlier versions and merged texts of a memory, oldest first."""
        ...

    def merged_ids(self) -> list[str]:
        """Return the IDs of memories with merged texts, the most recently merged first."""
        ...

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return one page of the archive, newest memories first. Skips what cannot be read."""
        ...

    def archived_memory(self, memory_id: str) -> Memory | None:
        """Return one archived memory, or None. Raises BrokenFile."""
        ...

    def archived_ids(self) -> list[str]:
        """Return the IDs of all archived memories."""
        ...

    def events(self, memory_id: str) -> list[Event]:
        """Return all journal events that mention a memory, in journal order."""
        ...

    def problems(self) -> list[Problem]:
        """Return problems that the index does not know, each with what to do."""
        ...

    def core(self, user: str = "", problems: list[Problem] | None = None) -> CoreMemory:
        """Return the core memory; its sections are empty if there is none. Raises BrokenFile.

        For a user: the user's own section `user`, and the vault's section `agent`. With `problems`,
        a broken file is added to them and left out instead.
        """
        ...
