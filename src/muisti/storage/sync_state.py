"""How far an index has read a vault's files: what the file store keeps in the index beside the rows it makes of them.

It is written in the same transaction as the rows, so that the two can never disagree. Only stores that others may change
behind our back need it; it is no part of the ports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from muisti.ports.search import SearchIndex

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import DocumentSource, Event, Memory, Problem, Session, Usage
    from muisti.ports.search import IndexChanges, MessageLine


class FileStat(NamedTuple):
    """What the file system says of a file without reading it. A tuple: there are many, and they are made often."""

    size: int
    mtime_ns: int
    inode: int


class SeenFile(NamedTuple):
    """What the index remembers of a file."""

    stat: FileStat
    seen_ns: int
    """When it was looked at; a file changed in the same tick is read again."""
    sha: str
    """SHA-256 of its bytes."""
    memory_id: str | None
    """None for a file that has a problem, or is no memory."""


class StoredFile(NamedTuple):
    """A memory together with the state of its file at the moment it was read or written."""

    memory: Memory
    seen: SeenFile

    @property
    def path(self) -> str:
        """Where the file is, relative to the vault."""
        return str(self.memory.file_path)


@dataclass(frozen=True, slots=True)
class ReadOffset:
    """How far a file was read, and what its last bytes were then."""

    offset: int
    tail_sha: str


@dataclass(frozen=True, slots=True)
class JournalDelta:
    """New events of the journal, and where to go on next time."""

    events: Sequence[Event]
    offsets: Mapping[str, ReadOffset]
    restarted: bool
    """True when the journal was rewritten (git, a restore): the events are all of them, from the start."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationOffset:
    """How far a file of a conversation was read, and what it looked like then."""

    stat: FileStat
    seen_ns: int
    read: ReadOffset


@dataclass(frozen=True, slots=True)
class ConversationDelta:
    """What is new in one file of a conversation."""

    conversation: str
    path: str
    offset: ConversationOffset
    lines: Sequence[MessageLine]
    restarted: bool
    """True when the file is not the one that was read before: these are all its lines."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class StateChanges:
    """What is to be remembered of files, in the same transaction as their rows."""

    seen: Mapping[str, SeenFile | None] = field(default_factory=dict)
    """Files of memories by path; None: forget it."""
    journal: Mapping[str, ReadOffset] | None = None
    """All offsets of the journal; None: as before."""
    conversations: Mapping[str, ConversationOffset | None] = field(default_factory=dict)
    documents: Mapping[str, tuple[str, SeenFile] | None] = field(default_factory=dict)
    """Documents by path: the path of their source, and what was seen."""
    reread: Sequence[str] = ()
    """Sources whose documents have to be read again: they are called something else now."""
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By path: all that is wrong with a file now; empty: nothing is."""


class IndexState(Protocol):
    """What an index, or one that is being built, knows of the files."""

    def seen(self, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
        """Return every file that was seen, or those of these."""
        ...

    def journal_offsets(self) -> dict[str, ReadOffset]:
        """Return how far the journal was read."""
        ...

    def conversation_offsets(self, path: str | None = None) -> dict[str, ConversationOffset]:
        """Return how far each file of a conversation, or one, was read."""
        ...

    def documents(self, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
        """Return every document that was read, or those of these: the path of its source, and what was seen."""
        ...

    def sources(self) -> list[DocumentSource]:
        """Return what is searched beside the memories, as the journal says."""
        ...

    def problems(self) -> list[Problem]:
        """Return files that cannot be used, and why."""
        ...

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return what the journal said of these memories so far."""
        ...

    def session(self, session_id: str) -> Session | None:
        """Return one session."""
        ...

    def decayed_at(self) -> datetime | None:
        """Return up to when decay was recorded."""
        ...

    def get_message_texts(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return role and content of the indexed messages that have one of these ids."""
        ...

    def last_message_at(self, chat: str, path: str) -> int | None:
        """Return the time, in microseconds, of the last indexed line of a conversation's file."""
        ...

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        """Write one transaction. Raises IndexBusy; then nothing was changed."""
        ...

    def fingerprint(self) -> dict[str, str]:
        """Return a digest for each part of the index: equal for equal contents, however they came about."""
        ...


class IndexBuilder(IndexState, Protocol):
    """A new index that is being filled beside the one in use."""

    def swap(self) -> None:
        """Make it the one in use. Call under the vault's lock."""
        ...


class SyncedIndex(SearchIndex, IndexState, Protocol):
    """A search index in a file of its own, which follows the vault and can be thrown away."""

    stale: bool
    """True when something was written that the index does not have yet: a reconciliation is due."""

    def is_current(self) -> bool:
        """Return whether the open file is the one in use: another process may have swapped or removed it."""
        ...

    def open_complete(self) -> bool:
        """Open the index in use, if there is one that is complete. Needs no lock."""
        ...

    def open(self) -> bool:
        """Open the index in use, or make one. Return whether it has to be filled. Under the lock. Raises IndexTooNew."""
        ...

    def quarantine(self) -> None:
        """Put a damaged index out of the way; the next `open` makes a new one. Call under the vault's lock."""
        ...

    def builder(self) -> AbstractContextManager[IndexBuilder]:
        """Return an empty index beside this one, removed again unless it is swapped in."""
        ...

    def purge(self) -> None:
        """Leave no byte of removed text in the index files. Raises IndexBusy if a reader is in the way."""
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the index file itself; empty when it is sound."""
        ...
