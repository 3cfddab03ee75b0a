"""The search index: what answers questions. It is made from the store and can be made again at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import (
        Conversation,
        DocumentSource,
        Filter,
        Link,
        Memory,
        Message,
        Problem,
        Session,
        SessionUse,
        Stats,
        Usage,
    )

Order = Literal[
    "created_at",
    "created_at_desc",
    "salience",
    "salience_asc",
    "last_accessed",
    "last_accessed_asc",
    "deleted_at",
]


# -- Rows: what an index stores. `muisti.remember.index_rows` makes them.


class Words(NamedTuple):
    """The index words of a text, separated by blanks, in three fields of different weight."""

    title: str = ""
    labels: str = ""
    body: str = ""


class MemoryRow(NamedTuple):
    """A memory with everything that the index derives from it."""

    memory: Memory
    words: Words
    labels: tuple[tuple[str, str], ...]
    """Keywords and files, case-folded, for filters: ("keyword", "auth")."""
    bands: tuple[int, ...]
    """The parts of its simhash that near-duplicates are found by."""
    source_hash: str
    """Names the text that its vectors are made from."""


class MessageLine(NamedTuple):
    """A message as its line in a conversation has it."""

    place: int
    """Where in its file the line begins; ascends."""
    id: str
    at: datetime
    role: str
    content: str
    type: str | None
    meta: Mapping[str, object]


class MessagePlace(NamedTuple):
    """Where a message stands in its conversation."""

    conversation: str
    place: int
    """Its place in the file or day: messages are ordered by path and place."""
    message_id: str
    at: int
    role: str
    type: str | None
    meta: str
    """JSON, or empty."""


class TextRow(NamedTuple):
    """A message or a section of a document. A plain tuple: there may be hundreds of thousands."""

    origin: str
    id: str
    project: str
    session_id: str | None
    created_at: int
    """Microseconds; ascends within a file, so that the order of time is the order of lines."""
    updated_at: int
    source: str
    path: str
    title: str
    content: str
    trusted: bool
    content_hash: str
    source_hash: str
    words: Words
    message: MessagePlace | None = None


@dataclass(frozen=True, slots=True)
class JournalChanges:
    """What events of the journal change: usage, sessions and document sources."""

    restart: bool = False
    """Forget what earlier events said: the journal was replaced."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    sessions: Sequence[Session] = ()
    uses: Sequence[SessionUse] = ()
    sources: Mapping[str, DocumentSource | None] = field(default_factory=dict)
    """By path; None: it is no longer searched."""
    decayed_at: datetime | None = None
    """Up to when decay was recorded; None: as before."""


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """One transaction of the index."""

    memories: Sequence[MemoryRow] = ()
    """Each takes the place of the row with its id, and keeps its vectors if its text is the same."""
    removed: Sequence[str] = ()
    """Ids of memories."""
    texts: Sequence[TextRow] = ()
    emptied: Sequence[tuple[str, str]] = ()
    """Origins and paths of which all texts are removed first."""
    journal: JournalChanges | None = None


# -- What ranking needs


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common words are."""

    documents: int
    """How many texts are indexed."""
    counts: Mapping[str, int]
    """In how many of them each word occurs; words that occur in none are left out."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query, its weight, and the indexed words that may stand for it."""

    text: str
    weight: float = 1.0
    alternatives: tuple[str, ...] = ()
    prefix: bool = False
    sought: bool = True
    """False for a word so common that memories are not looked for by it; it counts where it occurs."""


class WordMatch(NamedTuple):
    """A text that has words of a query, as the index found it."""

    memory_id: str
    bm25: float
    """Larger is better."""
    words: Words
    opening: str
    """How its content begins."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What ranking has to know of a memory that may answer; most candidates are never read whole."""

    memory_id: str
    created_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    importance: float
    salience: float
    opening: str
    """How its content begins: there a conversation names the speaker."""
    content_hash: str
    session_id: str | None
    before: tuple[str, ...]
    """Up to two memories that came right before it in its session, the nearest first."""
    after: tuple[str, ...]
    origin: str
    """memory, document or message."""
    allowed: bool
    """Whether the filter lets it through: neighbours may be context without being an answer."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one memory takes up."""

    memory_id: str
    size: int
    """Bytes of the stored memory and of its vectors."""


# -- The port, in parts


class MemoryReader(Protocol):
    """Reads memories and sessions."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Let everything that this thread reads within see one state of the index."""
        ...

    def get(
        self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False
    ) -> Memory | None:
        """Return one memory. Any origin: or a message, or a section of a document."""
        ...

    def get_many(
        self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False
    ) -> list[Memory]:
        """Return those of these that exist, in the order asked."""
        ...

    def select(
        self, where: Filter, *, order: Order, limit: int | None, offset: int = 0
    ) -> list[Memory]:
        """Return a page of those that a filter lets through."""
        ...

    def find_by_keywords(
        self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int
    ) -> list[Memory]:
        """Return memories with these keywords, those with most of them first."""
        ...

    def get_neighbours(self, memory: Memory, before: int, after: int) -> list[Memory]:
        """Return its neighbours in time in the same project, itself included."""
        ...

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """Return these memories and their neighbours in their sessions."""
        ...

    def find_ids(self, part: str, limit: int) -> list[str]:
        """Return ids that begin or end with this text."""
        ...

    def session(self, session_id: str) -> Session | None:
        """Return one session."""
        ...

    def sessions(self, project: str | None, limit: int) -> list[Session]:
        """Return sessions, the latest first."""
        ...

    def session_uses(
        self, *, session_id: str | None = None, memory_id: str | None = None
    ) -> list[SessionUse]:
        """Return what sessions did with memories, in the order of time."""
        ...

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return what the journal said of these memories so far; those it said nothing of are left out."""
        ...


class WordIndex(Protocol):
    """Finds texts by their words."""

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return how common these words are."""
        ...

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        """Return indexed words that contain this one, the shortest first."""
        ...

    def find_similar_words(self, word: str) -> list[str]:
        """Return indexed words of similar length that share the beginning, the first half or the last half of this one.

        A superset of its other forms and misspellings; `muisti.recall.matching` decides.
        """
        ...

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """Return texts with any of the terms, best bm25 first."""
        ...

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Return ids of texts with exactly these characters: for queries without a word, such as `:-)`."""
        ...

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """Return the index words of these texts."""
        ...


class LinkReader(Protocol):
    """Reads links. Those to or from memories that do not exist, or are deleted, are left out."""

    def get_links(self, ids: Sequence[str]) -> list[Link]:
        """Return links that begin or end at any of these, oldest first."""
        ...

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return for each of these that was superseded: by which memories, the latest last."""
        ...


class DuplicateFinder(Protocol):
    """Finds memories that may say what a new one says, in the same scope. Its cost does not grow with the store."""

    def find_same_content(self, memory: Memory) -> Memory | None:
        """Return the memory with exactly this content and validity."""
        ...

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Return id → simhash of memories in the same scope that share a band and differ in at most so many bits."""
        ...

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Return id → simhash of memories in the same scope that have any, or all, of these words."""
        ...

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Return those of these that are not superseded or expired, in the order asked."""
        ...


class MessageReader(Protocol):
    """Reads conversations."""

    def window(self, chat: str, limit: int, *, whole: bool = False) -> list[Message]:
        """Return the latest messages since the last session break, in their order. Whole: and before it, breaks included."""
        ...

    def list_conversations(self) -> list[Conversation]:
        """Return all conversations, the latest first."""
        ...

    def messages(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return messages by the ids that searches return."""
        ...

    def find_messages(self, chat: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Return those of these that are in a conversation."""
        ...

    def document_sources(self) -> list[str]:
        """Return what indexed documents are called."""
        ...

    def sources(self) -> list[DocumentSource]:
        """Return the files and folders that are searched beside the memories, as the journal says."""
        ...


class Statistics(Protocol):
    """Counts and weighs memories."""

    def stats(self) -> Stats:
        """Return the vault in numbers."""
        ...

    def problems(self) -> list[Problem]:
        """Return what of the store cannot be used, and why."""
        ...

    def decayed_at(self) -> datetime | None:
        """Return up to when decay was recorded."""
        ...

    def count_decayed(self, least: float) -> int:
        """Return how many memories have lost at least so much since decay was last recorded."""
        ...

    def live_bytes(self) -> int:
        """Return what all memories take up that are not deleted."""
        ...

    def longest_unused(
        self, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[Footprint]:
        """Return memories that may be archived, the longest unused first: not pinned, of no active session or protected kind.

        Among: look at these only.
        """
        ...

    def weakest(
        self, below: float, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[str]:
        """Return ids of memories with a lower salience that may be cleaned up, the weakest first."""
        ...


class SearchIndex(
    MemoryReader, WordIndex, LinkReader, DuplicateFinder, MessageReader, Statistics, Protocol
):
    """Everything that can be asked of an index, and the one way to change it."""

    def is_ready(self) -> bool:
        """Return whether it can be read as it is. Takes no lock; if not, `Store.prepare` makes it ready."""
        ...

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction. Raises IndexBusy; then nothing was changed."""
        ...

    def close(self) -> None:
        """Close the index."""
        ...
