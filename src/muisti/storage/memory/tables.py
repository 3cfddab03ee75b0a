"""The tables of the index in memory.

A transaction works on a copy, which then replaces the original. So a reader always sees one state,
and a transaction that fails changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from muisti.model import (
    DocumentSource,
    EntryType,
    Link,
    LinkType,
    Memory,
    Session,
    SessionUse,
    Usage,
)
from muisti.ports.rows import MessagePlace, Words
from muisti.recall.bm25 import count_length

if TYPE_CHECKING:
    from muisti.ports.vectors import Identity, Matrix, Piece

K = TypeVar("K", bound=Hashable)
I = TypeVar("I", bound=Hashable)  # noqa: E741  # the key within a group
V = TypeVar("V")


class Grouped(Generic[K, I, V]):
    """A dictionary of dictionaries. A copy shares the inner ones until it changes them."""

    def __init__(self, groups: Mapping[K, dict[I, V]] | None = None) -> None:
        self._groups: dict[K, dict[I, V]] = dict(groups or {})
        self._own: set[K] = set()

    def copy(self) -> Grouped[K, I, V]:
        """Return a copy. From now on, only the copy may be changed."""
        return Grouped(self._groups)

    def __iter__(self) -> Iterator[K]:
        return iter(self._groups)

    def __getitem__(self, group: K) -> Mapping[I, V]:
        return self._groups.get(group, {})

    def put(self, group: K, key: I, value: V) -> None:
        """Set one value of a group."""
        self._get_writable(group)[key] = value

    def remove(self, group: K, key: I) -> None:
        """Remove one value of a group, if present. Empty groups are removed."""
        if group in self._groups:
            inner = self._get_writable(group)
            inner.pop(key, None)
            if not inner:
                del self._groups[group]
                self._own.discard(group)

    def _get_writable(self, group: K) -> dict[I, V]:
        if group not in self._own:
            self._groups[group] = dict(self._groups.get(group, {}))
            self._own.add(group)
        return self._groups[group]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory, a message or a section of a document, as it was written, without usage."""

    number: int
    """Ascending in the order of insertion; kept when the entry is replaced."""
    memory: Memory
    created_at: int
    """Microseconds since 1970, for sorting. For a message, not exactly when it was sent."""
    words: Words
    source_hash: str
    labels: frozenset[tuple[str, str]] = frozenset()
    bands: tuple[int, ...] = ()
    message: MessagePlace | None = None

    @property
    def is_memory(self) -> bool:
        """Whether it is a memory."""
        return self.memory.origin is EntryType.MEMORY

    @property
    def is_indexed(self) -> bool:
        """Whether it counts as an indexed text: a message may have no words."""
        return self.is_memory or any(self.words)

    @property
    def length(self) -> int:
        """The number of index words."""
        return count_length(self.words)


@dataclass(slots=True)
class SpaceTable:
    """The vectors of one model."""

    number: int
    identity: Identity
    serving: bool
    vectors: dict[str, tuple[tuple[Piece, ...], Matrix]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    parts: dict[str, tuple[tuple[Piece, ...], Matrix]] = field(default_factory=dict)
    """The first pieces of waiting texts."""

    def copy(self) -> SpaceTable:
        """Return a copy."""
        return replace(
            self,
            vectors=dict(self.vectors),
            waiting=set(self.waiting),
            parts=dict(self.parts),
        )

    def forget(self, memory_id: str) -> None:
        """Remove a text's vectors; it no longer waits for any."""
        self.vectors.pop(memory_id, None)
        self.waiting.discard(memory_id)
        self.parts.pop(memory_id, None)


@dataclass(slots=True)
class Tables:
    """One state of the index."""

    entries: dict[str, Entry] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    """The number of index words of each indexed text, by ID."""
    total_length: int = 0
    last_number: int = 0
    postings: Grouped[str, str, float] = field(default_factory=Grouped)
    """By word, then by ID: how often the word occurs there, weighted by field."""
    bands: Grouped[int, str, None] = field(default_factory=Grouped)
    by_hash: Grouped[str, str, None] = field(default_factory=Grouped)
    by_session: Grouped[tuple[str, EntryType], str, None] = field(default_factory=Grouped)
    by_path: Grouped[tuple[EntryType, str], str, None] = field(default_factory=Grouped)
    by_conversation: Grouped[str, str, None] = field(default_factory=Grouped)
    links_to: Grouped[str, tuple[str, LinkType], Link] = field(default_factory=Grouped)
    """By target, then by source and type."""
    usage: dict[str, Usage] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    uses: list[SessionUse] = field(default_factory=list)
    sources: dict[str, DocumentSource] = field(default_factory=dict)
    assignments: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Project and user that were assigned to a conversation."""
    decayed_at: datetime | None = None
    spaces: list[SpaceTable] = field(default_factory=list)
    last_space: int = 0

    def copy(self) -> Tables:
        """Return a copy. From now on, only the copy may be changed."""
        return replace(
            self,
            entries=dict(self.entries),
            lengths=dict(self.lengths),
            postings=self.postings.copy(),
            bands=self.bands.copy(),
            by_hash=self.by_hash.copy(),
            by_session=self.by_session.copy(),
            by_path=self.by_path.copy(),
            by_conversation=self.by_conversation.copy(),
            links_to=self.links_to.copy(),
            usage=dict(self.usage),
            sessions=dict(self.sessions),
            uses=list(self.uses),
            sources=dict(self.sources),
            assignments=dict(self.assignments),
            spaces=[space.copy() for space in self.spaces],
        )

    @property
    def serving(self) -> SpaceTable | None:
        """The space that searches use."""
        return next((space for space in self.spaces if space.serving), None)


class Database:
    """The current tables: many threads can read them, one at a time replaces them."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._writing = threading.RLock()
        self._pinned = threading.local()

    @property
    def tables(self) -> Tables:
        """The tables that this thread reads. They never change."""
        pinned: Tables | None = getattr(self._pinned, "tables", None)
        return self._tables if pinned is None else pinned

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within the context, this thread reads the current tables."""
        if getattr(self._pinned, "tables", None) is not None:
            yield
            return
        self._pinned.tables = self._tables
        try:
            yield
        finally:
            self._pinned.tables = None

    @contextmanager
    def transaction(self) -> Iterator[Tables]:
        """Yield a copy to change. It replaces the current tables unless an error is raised."""
        with self._writing:
            changed = self._tables.copy()
            yield changed
            self._tables = changed
