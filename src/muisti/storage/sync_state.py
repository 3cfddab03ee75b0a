"""How far an index has read a vault's files. The file store keeps this state in the index.

It is written in the same transaction as the rows, so the two always agree. Only a store that other
programs can change needs it, so it is not part of the ports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from muisti.ports.search import SearchIndex

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import DocumentSource, Event, Memory, Problem, Session, Usage
    from muisti.ports.rows import IndexChanges, MessageLine


class FileStat(NamedTuple):
    """A file's status, from which changes are detected. A tuple: there are many."""

    size: int
    mtime_ns: int
    inode: int


class SeenFile(NamedTuple):
    """A file as the index last read it."""

    stat: FileStat
    seen_ns: int
    """When it was read. A file modified in the same clock tick is read again."""
    sha: str
    """SHA-256 of its bytes."""
    memory_id: str | None
    """None for a file that has a problem or is not a memory."""


class StoredFile(NamedTuple):
    """A memory with the state of its file when it was read or written."""

    memory: Memory
    seen: SeenFile

    @property
    def path(self) -> str:
        """The file's path, relative to the vault."""
        return str(self.memory.file_path)


class ReadOffset(NamedTuple):
    """How far a file was read, and a digest of the bytes before that offset."""

    offset: int
    tail_sha: str


class JournalDelta(NamedTuple):
    """New events of the journal, and where to continue next time."""

    events: Sequence[Event]
    offsets: Mapping[str, ReadOffset]
    restarted: bool
    """True if the journal was rewritten (git, a backup): `events` are all of its events."""
    problems: tuple[Problem, ...] = ()
    is_complete: bool = True
    """False if there is more to read after `offsets`: a very large journal is read in parts."""


class ConversationOffset(NamedTuple):
    """How far a conversation's file was read, and its status then."""

    stat: FileStat
    seen_ns: int
    read: ReadOffset


class ConversationDelta(NamedTuple):
    """New lines in one file of a conversation."""

    conversation: str
    path: str
    offset: ConversationOffset
    lines: Sequence[MessageLine]
    restarted: bool
    """True if the file was replaced or rewritten: `lines` are all of its lines."""
    problems: tuple[Problem, ...] = ()
    is_complete: bool = True
    """False if there is more to read after `offset`: a very large file is read in parts."""


class StateChanges(NamedTuple):
    """Changes of the file state, written in the same transaction as the rows."""

    seen: Mapping[str, SeenFile | None] = MappingProxyType({})
    """Files of memories by path; None removes one."""
    journal: Mapping[str, ReadOffset] | None = None
    """All offsets of the journal; None: unchanged."""
    conversations: Mapping[str, ConversationOffset | None] = MappingProxyType({})
    documents: Mapping[str, tuple[str, SeenFile] | None] = MappingProxyType({})
    """Documents by path: the path of the document source, and the file; None removes one."""
    reread: Sequence[str] = ()
    """Document sources whose documents must be read again because its settings changed."""
    problems: Mapping[str, Sequence[str]] = MappingProxyType({})
    """All current problems of a file, by path; empty if there are none."""


class IndexState(Protocol):
    """The file state of an index, or of one that is being built."""

    def seen(self, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
        """Return the known files of memories by path: all, or those with these paths."""
        ...

    def journal_offsets(self) -> dict[str, ReadOffset]:
        """Return how far each file of the journal was read, by file name."""
        ...

    def conversation_offsets(self, path: str | None = None) -> dict[str, ConversationOffset]:
        """Return how far each conversation file was read, by path: all, or this one."""
        ...

    def documents(self, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
        """Return the path of the document source and the file, by path: all, or these paths."""
        ...

    def sources(self) -> list[DocumentSource]:
        """Return the document sources, sorted by path."""
        ...

    def problems(self) -> list[Problem]:
        """Return the files with problems, sorted by path."""
        ...

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories by ID. Memories without any are left out."""
        ...

    def session(self, session_id: str) -> Session | None:
        """Return one session, or None."""
        ...

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded, or None."""
        ...

    def get_message_texts(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return role and content of indexed messages by the IDs that searches return."""
        ...

    def last_message_at(self, conversation: str, path: str) -> int | None:
        """Return `created_at` of the last indexed line of a conversation's file, or None."""
        ...

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        """Write one transaction: all of it or, if an error is raised, nothing."""
        ...

    def fingerprint(self) -> dict[str, str]:
        """Return a digest of each part of the index. Equal contents have equal digests."""
        ...


class IndexBuilder(IndexState, Protocol):
    """A new index that is filled beside the one in use."""

    def swap(self) -> None:
        """Make this the index in use. Call within the vault's lock."""
        ...


class SyncedIndex(SearchIndex, IndexState, Protocol):
    """A search index in its own file, which follows the vault and can be deleted at any time."""

    stale: bool
    """True if the vault has changes that the index lacks: a sync is needed."""

    def settled(self, tick_ns: int) -> tuple[dict[str, tuple[int, int, int]], dict[str, SeenFile]]:
        """Return the known files in two parts, in one read.

        The stats of memories that were read at least so long after they were changed, and all else.
        """
        ...

    def find_seen(self, ids: Collection[str]) -> dict[str, str]:
        """Return the ID by path of the known files that have one of these IDs."""
        ...

    def has_more_files(self, number: int) -> bool:
        """Return whether the index knows more files of memories than this."""
        ...

    def is_empty(self) -> bool:
        """Return whether the index knows no memory, document or conversation."""
        ...

    @property
    def moved(self) -> bool:
        """Whether the index was filled from another folder, and may be of another vault."""
        ...

    def read_with_writer(self) -> AbstractContextManager[None]:
        """Within the context, reads of this thread share the page cache of its writes.

        Call within the vault's lock.
        """
        ...

    def accept(self) -> None:
        """Use an index that was filled from another folder: it is of this vault."""
        ...

    def is_current(self) -> bool:
        """Return whether the open file is still in use. Another process may have replaced it."""
        ...

    def open_complete(self) -> bool:
        """Open the index in use if it is complete; return whether it is open. Needs no lock."""
        ...

    def open(self) -> bool:
        """Open the index in use, or create one. Return whether it must be filled.

        Call within the vault's lock. Raises IndexTooNew.
        """
        ...

    def quarantine(self) -> None:
        """Move a damaged index aside; the next `open` creates a new one.

        Call within the vault's lock.
        """
        ...

    def builder(self) -> AbstractContextManager[IndexBuilder]:
        """Create an empty index beside this one. It is deleted at the end unless swapped in."""
        ...

    def purge(self) -> None:
        """Remove every trace of deleted text from the index files.

        Raises IndexBusy while another process reads.
        """
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the index file itself; empty if nothing is."""
        ...
