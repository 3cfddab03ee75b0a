"""The tables of an index in memory.

One state of them never changes: a transaction works on a copy, which then takes its place. So a reader
sees one state for as long as it wants, and a transaction that fails leaves nothing behind.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from muisti.errors import InvalidRequest
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
from muisti.ports.search import MessagePlace, Words

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
        """Return a copy. From now on only the copy may be changed."""
        return Grouped(self._groups)

    def __iter__(self) -> Iterator[K]:
        return iter(self._groups)

    def __getitem__(self, group: K) -> Mapping[I, V]:
        return self._groups.get(group, {})

    def put(self, group: K, key: I, value: V) -> None:
        """Set one value of a group."""
        self._writable(group)[key] = value

    def remove(self, group: K, key: I) -> None:
        """Remove one value of a group, if it is there; a group without values is none."""
        if group in self._groups:
            inner = self._writable(group)
            inner.pop(key, None)
            if not inner:
                del self._groups[group]
                self._own.discard(group)

    def _writable(self, group: K) -> dict[I, V]:
        if group not in self._own:
            self._groups[group] = dict(self._groups.get(group, {}))
            self._own.add(group)
        return self._groups[group]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory, a message or a section of a document, as it was written: without usage."""

    number: int
    """Ascends in the order in which texts came; stays when a text is written again."""
    memory: Memory
    created_at: int
    """Microseconds: its place in the order of time. Of a message that is not quite when it was said."""
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
        """Whether it counts among the indexed texts: a message may have no word."""
        return self.is_memory or any(self.words)

    @property
    def length(self) -> int:
        """How many index words it has."""
        return sum(len(field.split()) for field in self.words)


@dataclass(slots=True)
class SpaceTable:
    """The vectors of one model."""

    number: int
    identity: Identity
    serving: bool
    vectors: dict[str, tuple[tuple[Piece, ...], Matrix]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    def copy(self) -> SpaceTable:
        """Return a copy."""
        return replace(self, vectors=dict(self.vectors), waiting=set(self.waiting))

    def forget(self, memory_id: str) -> None:
        """Take a text's vectors out; it does not wait for any either."""
        self.vectors.pop(memory_id, None)
        self.waiting.discard(memory_id)


@dataclass(slots=True)
class Tables:
    """One state of the index."""

    entries: dict[str, Entry] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    """How many index words each indexed text has."""
    total_length: int = 0
    last_number: int = 0
    postings: Grouped[str, str, float] = field(default_factory=Grouped)
    """Word → text → how often it occurs there, weighted by field."""
    bands: Grouped[int, str, None] = field(default_factory=Grouped)
    by_hash: Grouped[str, str, None] = field(default_factory=Grouped)
    by_session: Grouped[tuple[str, EntryType], str, None] = field(default_factory=Grouped)
    by_path: Grouped[tuple[EntryType, str], str, None] = field(default_factory=Grouped)
    by_conversation: Grouped[str, str, None] = field(default_factory=Grouped)
    links_to: Grouped[str, tuple[str, LinkType], Link] = field(default_factory=Grouped)
    """Target → source and type → link."""
    usage: dict[str, Usage] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    uses: list[SessionUse] = field(default_factory=list)
    sources: dict[str, DocumentSource] = field(default_factory=dict)
    decayed_at: datetime | None = None
    spaces: list[SpaceTable] = field(default_factory=list)
    last_space: int = 0

    def copy(self) -> Tables:
        """Return a copy, which may be changed; this state may not be changed any more."""
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
            spaces=[space.copy() for space in self.spaces],
        )

    @property
    def serving(self) -> SpaceTable | None:
        """The space that searches go by."""
        return next((space for space in self.spaces if space.serving), None)


class Database:
    """The current state of the tables, which several threads read and one at a time replaces."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._writing = threading.RLock()
        self._pinned = threading.local()

    @property
    def tables(self) -> Tables:
        """The state that this thread reads. Nobody changes it."""
        pinned: Tables | None = getattr(self._pinned, "tables", None)
        return self._tables if pinned is None else pinned

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let this thread go on reading the present state."""
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
        """Give a copy to change. It takes the place of the present state, unless something is raised."""
        with self._writing:
            changed = self._tables.copy()
            yield changed
            self._tables = changed


def check_text(*texts: str | None) -> None:
    """Raise InvalidRequest for what no file and no database can hold."""
    for text in texts:
        try:
            (text or "").encode()
        except UnicodeEncodeError as error:
            cure = "half of a surrogate pair is no text; remove it"
            raise InvalidRequest("text", error.object[error.start], cure) from error
