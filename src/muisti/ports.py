"""What the core needs from the outside world. Adapters implement these; the core names no adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from muisti.model import (
    Draft,
    Event,
    Filter,
    Memory,
    Problem,
    Session,
    SessionUse,
    Stats,
    Usage,
)
from muisti.settings import Settings


class Clock(Protocol):
    """Where "now" comes from; tests bring their own."""

    def now(self) -> datetime:
        """The present moment, timezone-aware UTC."""
        ...


class Stamp(NamedTuple):
    """What the file system says of a file without reading it. A tuple: there are many, and they are made often."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A memory together with the state of its file at the moment it was read or written."""

    memory: Memory
    stamp: Stamp
    sha: str
    """SHA-256 of the file's bytes."""
    seen_ns: int
    """When it was looked at; a file changed in the same tick is read again."""


class Known(NamedTuple):
    """What the index remembers of a file."""

    stamp: Stamp
    seen_ns: int
    sha: str
    memory_id: str | None
    """None for a file that has a problem, or is no memory."""


class Vault(Protocol):
    """The files: the truth. Paths are relative to the vault, with forward slashes."""

    def lock(self) -> AbstractContextManager[None]:
        """Hold the vault for writing, across processes and threads. Raises VaultBusy."""
        ...

    def create(self, memories: Sequence[Memory]) -> list[StoredFile]:
        """Write new files, all or none, durably. Names are chosen here and never overwrite anything."""
        ...

    def rewrite(self, memory: Memory, expected_sha: str) -> StoredFile:
        """Replace a file's known fields and body, keep all else in it. Raises Conflict if the file is not that one."""
        ...

    def trash(self, path: str, at: datetime) -> str:
        """Move a file to the trash; answers its new path."""
        ...

    def restore(self, path: str) -> str:
        """Move a file out of the trash; answers its new path."""
        ...

    def erase(self, path: str) -> None:
        """Remove a file for good."""
        ...

    def read(self, path: str, *, adopt: bool = False) -> StoredFile | None:
        """Read one file; None if it is no memory. Adopt: write an id into it if it lacks one. Raises BrokenFile."""
        ...

    def is_home(self, path: str) -> bool:
        """Whether a path is where every Markdown file is a memory."""
        ...

    def scan(self) -> Iterator[tuple[str, Stamp]]:
        """Every Markdown file that may be a memory, trash included."""
        ...

    def follow_move(self, file: StoredFile, old_path: str) -> StoredFile:
        """A person moved a file to another kind's or project's folder: let its front matter say so too."""
        ...

    def leftovers(self) -> bool:
        """Whether a process died, or is at work, in the middle of a write."""
        ...

    def recover(self) -> None:
        """Finish or undo what a crashed process left half done. Call under the lock."""
        ...


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a journal file has been read, and what its last bytes were then."""

    offset: int
    tail_sha: str


@dataclass(frozen=True, slots=True)
class Reading:
    """New events of the journal, and where to go on next time."""

    events: Sequence[Event]
    marks: Mapping[str, Mark]
    restarted: bool
    """True when the journal was rewritten (git, a restore): the events are all of them, from the start."""
    problems: tuple[Problem, ...] = ()


class Journal(Protocol):
    """The append-only log of what files do not tell: sessions, use, audit."""

    def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Add lines. Durable: on the disk before this returns. Call under the vault's lock."""
        ...

    def read(self, marks: Mapping[str, Mark]) -> Reading:
        """All whole lines after these marks."""
        ...


@dataclass(frozen=True, slots=True)
class Changes:
    """One transaction of the index."""

    files: Sequence[StoredFile] = ()
    removed: Sequence[str] = ()
    """Paths that no longer hold a memory."""
    seen: Mapping[str, Known] = field(default_factory=dict)
    """Files whose stamp moved on though their bytes did not, and files that are no memories."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Path → reason."""
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common words are."""

    documents: int
    """How many memories are indexed."""
    counts: Mapping[str, int]
    """In how many of them each word stands; words that stand in none are left out."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query, how much it tells, and the indexed words that may stand for it."""

    text: str
    weight: float = 1.0
    alternatives: tuple[str, ...] = ()
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A memory that matched words of the query, with what ranking needs to know: most hits are never read whole."""

    memory_id: str
    score: float
    """Between 0 and 1."""
    created_at: datetime
    importance: float
    salience: float
    matched: frozenset[str]
    """The words of the query that it has, or has a stand-in for."""
    loose: frozenset[str] = frozenset()
    """Those of them that only a stand-in matched."""
    found: frozenset[str] = frozenset()
    """The words of the memory that matched."""


class MemoryReader(Protocol):
    """Reads memories and sessions from the index."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything that this thread reads within, words included, sees one state of the index."""
        ...

    def get(self, memory_id: str, *, include_deleted: bool = False) -> Memory | None:
        """One memory."""
        ...

    def many(self, ids: Sequence[str], *, include_deleted: bool = False) -> list[Memory]:
        """Those of these that exist, in the order asked."""
        ...

    def select(self, where: Filter, *, order: Order, limit: int | None, offset: int = 0) -> list[Memory]:
        """A page of those that a filter lets through."""
        ...

    def by_keywords(self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int) -> list[Memory]:
        """Memories with these keywords, those with most of them first."""
        ...

    def twin(self, memory: Memory) -> Memory | None:
        """The memory that already says exactly this, where this one would be seen."""
        ...

    def around(self, memory: Memory, before: int, after: int) -> list[Memory]:
        """Its neighbours in time in the same project, itself included."""
        ...

    def session(self, session_id: str) -> Session | None:
        """One session."""
        ...

    def sessions(self, project: str | None, limit: int) -> list[Session]:
        """The latest first."""
        ...

    def uses(self, *, session_id: str | None = None, memory_id: str | None = None) -> list[SessionUse]:
        """What sessions did with memories, in the order of time."""
        ...

    def stats(self) -> Stats:
        """The vault in numbers."""
        ...

    def matching_ids(self, part: str, limit: int) -> list[str]:
        """Ids that begin or end with this text."""
        ...


class Lexical(Protocol):
    """Finds memories by their words."""

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """How common these words are."""
        ...

    def similar_words(self, word: str, limit: int) -> list[str]:
        """Indexed words that contain this one, or nearly are it, best first."""
        ...

    def lexical(self, terms: Sequence[Term], where: Filter, limit: int) -> list[LexicalHit]:
        """Memories with any of the terms, best first."""
        ...

    def literal(self, text: str, where: Filter, limit: int) -> list[LexicalHit]:
        """Memories with exactly these characters: for queries without a single word, such as `:-)`."""
        ...

    def words_of(self, memory_id: str) -> dict[str, int]:
        """The indexed words of one memory with their counts."""
        ...


class Index(Protocol):
    """The index as a file that follows the vault and can be thrown away."""

    behind: bool
    """True when something was written that the index does not have yet: a reconciliation is due."""

    def is_current(self) -> bool:
        """False when another process has swapped or removed the index file that is open here."""
        ...

    def open(self) -> bool:
        """Open the current index; True if it was just made and so is behind. Under the lock. Raises IndexTooNew."""
        ...

    def set_aside(self) -> None:
        """Put a damaged index out of the way; the next `open` makes a new one. Call under the vault's lock."""
        ...

    def apply(self, changes: Changes) -> None:
        """One transaction. Raises IndexBusy; then nothing was changed."""
        ...

    def known(self) -> dict[str, Known]:
        """Every file that the index has seen."""
        ...

    def marks(self) -> dict[str, Mark]:
        """How far the journal was read."""
        ...

    def problems(self) -> list[Problem]:
        """Files that cannot be used, and why."""
        ...

    def scrub(self) -> None:
        """Leave no byte of removed text in the index files."""
        ...

    def shadow(self) -> AbstractContextManager[Shadow]:
        """An empty index beside this one, removed again unless it is swapped in."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the index file itself; empty when sound."""
        ...

    def fingerprint(self) -> dict[str, str]:
        """A digest for each part of the index; equal for equal contents, however they came about."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Shadow(Protocol):
    """A new index being built."""

    def apply(self, changes: Changes) -> None:
        """One transaction."""
        ...

    def known(self) -> dict[str, Known]:
        """Every file that it has seen."""
        ...

    def marks(self) -> dict[str, Mark]:
        """How far the journal was read."""
        ...

    def fingerprint(self) -> dict[str, str]:
        """A digest for each part."""
        ...

    def swap(self) -> None:
        """Make it the current one. Call under the vault's lock."""
        ...


@dataclass(frozen=True, slots=True)
class Incoming:
    """A memory from elsewhere, with the use it had there."""

    draft: Draft
    usage: Usage = field(default_factory=Usage)


class Exchange(Protocol):
    """Memories as text for other programs, and back."""

    def dump(self, memories: Sequence[Memory], form: str) -> str:
        """As `markdown` or `json`. Raises InvalidRequest for another form."""
        ...

    def load(self, source: Path) -> list[Incoming]:
        """What a file or folder holds. Raises ImportFailed."""
        ...


Order = Literal["created_at", "created_at_desc", "salience", "salience_asc", "last_accessed", "last_accessed_asc"]

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that an operation may touch."""

    vault: Vault
    journal: Journal
    index: Index
    reader: MemoryReader
    lexical: Lexical
    exchange: Exchange
    clock: Clock
    settings: Settings
