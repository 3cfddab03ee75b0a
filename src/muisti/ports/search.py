"""The search index. It is derived from the store and can be rebuilt from it at any time."""

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


# -- Rows: what an index stores. `muisti.remember.index_rows` creates them.


class Words(NamedTuple):
    """The index words of a text, separated by spaces, in three fields of different weight."""

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
    """Parts of the simhash, by which near-duplicates are found."""
    source_hash: str
    """Identifies the text that is embedded: vectors stay valid while it is unchanged."""


class MessageLine(NamedTuple):
    """One line of a conversation's file."""

    place: int
    """The line's position in its file; ascending."""
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
    """The position in the file: messages are ordered by path, then by place."""
    message_id: str
    at: int
    """Microseconds since 1970."""
    role: str
    type: str | None
    meta: str
    """JSON, or empty."""


class TextRow(NamedTuple):
    """A message or a section of a document. A tuple: there may be hundreds of thousands."""

    origin: str
    """message or document."""
    id: str
    project: str
    session_id: str | None
    """The conversation of a message; None for a session break and for a section."""
    created_at: int
    """Microseconds since 1970; ascending within a file: sorting by it keeps the line order."""
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
    """What new journal events change: usage, sessions and document sources."""

    restart: bool = False
    """Delete what earlier events produced first: the journal was replaced."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """New usage by memory ID; replaces the stored usage."""
    sessions: Sequence[Session] = ()
    """New or changed sessions."""
    uses: Sequence[SessionUse] = ()
    """Appended to the stored ones."""
    sources: Mapping[str, DocumentSource | None] = field(default_factory=dict)
    """Document sources by path; None removes one."""
    decayed_at: datetime | None = None
    """The time up to which decay was recorded; None: unchanged."""


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """One transaction of the index."""

    memories: Sequence[MemoryRow] = ()
    """Each replaces the row with its ID, and keeps its vectors if `source_hash` is unchanged."""
    removed: Sequence[str] = ()
    """IDs of memories to remove, with their words, links and vectors."""
    texts: Sequence[TextRow] = ()
    emptied: Sequence[tuple[str, str]] = ()
    """Origins and paths whose texts are removed before `texts` are written."""
    journal: JournalChanges | None = None


# -- Input for ranking


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common words are."""

    documents: int
    """How many texts are indexed."""
    counts: Mapping[str, int]
    """In how many texts each word occurs; words that occur in none are left out."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query, its weight, and indexed words that count as the same."""

    text: str
    weight: float = 1.0
    alternatives: tuple[str, ...] = ()
    prefix: bool = False
    """Also match words that begin with `text`."""
    sought: bool = True
    """False for a very common word: it adds to the score of a text but does not select it."""


class WordMatch(NamedTuple):
    """A text that contains words of a query."""

    memory_id: str
    bm25: float
    """Larger is better."""
    words: Words
    opening: str
    """The first 80 characters of the content."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What ranking needs to know about a text. Most candidates are never loaded in full."""

    memory_id: str
    created_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    """Its own end of validity, or the time at which a memory that supersedes it became valid."""
    importance: float
    salience: float
    opening: str
    """The first 80 characters of the content: in a conversation they name the speaker."""
    content_hash: str
    session_id: str | None
    before: tuple[str, ...]
    """IDs of up to two texts right before it in its session, the nearest first."""
    after: tuple[str, ...]
    """IDs of up to two texts right after it in its session, the nearest first."""
    origin: str
    """memory, document or message."""
    allowed: bool
    """Whether the filter accepts it. A neighbour that is not accepted still serves as context."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """How much space one memory uses."""

    memory_id: str
    size: int
    """Bytes of the stored memory and of its vectors."""


# -- The port, in parts. Every method may raise IndexProblem.


class MemoryReader(Protocol):
    """Reads memories and sessions."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Within the context, all reads of this thread see the same state of the index."""
        ...

    def get(
        self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False
    ) -> Memory | None:
        """Return the memory with this ID, or None.

        Deleted memories need `include_deleted`; messages and sections of documents `any_origin`.
        """
        ...

    def get_many(
        self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False
    ) -> list[Memory]:
        """Return the memories with these IDs, in the given order. Unknown IDs are left out.

        The options are those of `get`.
        """
        ...

    def select(
        self, where: Filter, *, order: Order, limit: int | None, offset: int = 0
    ) -> list[Memory]:
        """Return one page of the memories that match the filter; all of them if limit is None.

        Messages and documents are never included. Ties are broken by creation time, then by ID.
        """
        ...

    def find_by_keywords(
        self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int
    ) -> list[Memory]:
        """Return memories with any, or all, of these keywords; case is ignored.

        Those with the most matching keywords come first, then the latest.
        """
        ...

    def get_neighbours(self, memory: Memory, before: int, after: int) -> list[Memory]:
        """Return the memories before and after this one in time, itself included, oldest first.

        Only memories of its project; session-tier ones only of its session. For a message: of its
        conversation. For a section: of its document.
        """
        ...

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """Return these texts, of any origin, and their neighbours in their sessions, by ID.

        Unknown IDs are left out. Texts that do not match the filter have `allowed` False.
        """
        ...

    def find_ids(self, part: str, limit: int) -> list[str]:
        """Return IDs that begin or end with `part`, ignoring case; those of memories first.

        Deleted memories, messages and sections are included.
        """
        ...

    def session(self, session_id: str) -> Session | None:
        """Return one session, or None."""
        ...

    def sessions(self, project: str | None, limit: int) -> list[Session]:
        """Return the sessions of a project, or of all, the latest start first."""
        ...

    def session_uses(
        self, *, session_id: str | None = None, memory_id: str | None = None
    ) -> list[SessionUse]:
        """Return what sessions did with memories, oldest first.

        Includes one `created` entry for every memory that has a session.
        """
        ...

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories by ID. Memories without any are left out."""
        ...


class WordIndex(Protocol):
    """Finds texts by their words."""

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return how many texts are indexed, and in how many each of these words occurs."""
        ...

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        """Return other indexed words that contain `part`, which has at least three characters.

        The shortest come first, then the most common, then in alphabetical order.
        """
        ...

    def find_similar_words(self, word: str) -> list[str]:
        """Return indexed words of similar length that share part of `word`, in no order.

        A superset of its other forms and misspellings: `muisti.recall.matching` filters them.
        `word` has at least five characters and may be among the results.
        """
        ...

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """Return texts that match the filter and contain any of the terms, best bm25 first.

        Only `sought` terms select texts; if none is sought, all do. bm25 is FTS5's, with K1 and
        the field weights of `muisti.recall.matching`: every back end returns the same scores.
        """
        ...

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Return the IDs of texts whose content or title contains exactly these characters.

        For queries without a word, such as `:-)`. The shortest content comes first.
        """
        ...

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """Return the index words of these texts by ID. Texts without any are left out."""
        ...


class LinkReader(Protocol):
    """Reads links. Links from or to a memory that is missing or deleted are left out."""

    def get_links(self, ids: Sequence[str]) -> list[Link]:
        """Return the links that begin or end at any of these memories, each once, oldest first."""
        ...

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the IDs of the memories that supersede each of these, the latest last.

        Memories that are not superseded are left out. Suggested and ended links do not count.
        """
        ...


class DuplicateFinder(Protocol):
    """Finds existing memories in the scope of a new one that may say the same.

    Deleted memories are ignored. The cost must not grow with the size of the store.
    """

    def find_same_content(self, memory: Memory) -> Memory | None:
        """Return the oldest memory with this content, `valid_from` and `valid_until`, or None.

        A superseded memory does not count.
        """
        ...

    def find_near_simhash(
        self, memory: Memory, bands: Sequence[int], most_bits: int, limit: int
    ) -> dict[str, str]:
        """Return the simhash, by ID, of memories that share a band with this one.

        Only those that differ in at most `most_bits` bits; at most `limit` are compared.
        """
        ...

    def find_with_words(
        self, memory: Memory, words: Sequence[str], limit: int, *, all_of_them: bool
    ) -> dict[str, str]:
        """Return the simhash, by ID, of up to `limit` memories with any, or all, of these words."""
        ...

    def filter_current(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories among these without an end of validity, in the given order.

        A superseded memory has an end, and so has one with `valid_until`.
        """
        ...


class MessageReader(Protocol):
    """Reads conversations and document sources."""

    def window(self, conversation: str, limit: int, *, whole: bool = False) -> list[Message]:
        """Return the latest messages of a conversation after its last session break, oldest first.

        With `whole`, also those before it, and the breaks themselves. Repeated copies of a message
        in another file are left out.
        """
        ...

    def list_conversations(self) -> list[Conversation]:
        """Return all conversations, the one with the latest message first."""
        ...

    def messages(self, ids: Sequence[str]) -> dict[str, Message]:
        """Return messages by the IDs that searches return. Unknown IDs are left out."""
        ...

    def find_messages(self, conversation: str, message_ids: Sequence[str]) -> dict[str, Message]:
        """Return the messages of a conversation that have these message IDs, by message ID.

        Of several with the same message ID, the first.
        """
        ...

    def document_sources(self) -> list[str]:
        """Return the source names of indexed documents, sorted."""
        ...

    def sources(self) -> list[DocumentSource]:
        """Return the indexed files and folders, sorted by path."""
        ...


class Statistics(Protocol):
    """Counts memories and finds those that maintenance may move."""

    def stats(self) -> Stats:
        """Return figures about the whole vault."""
        ...

    def problems(self) -> list[Problem]:
        """Return what the index could not read from the store, and why, sorted by path."""
        ...

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded, or None."""
        ...

    def count_decayed(self, least: float) -> int:
        """Return how many memories lost at least this much salience since decay was recorded."""
        ...

    def live_bytes(self) -> int:
        """Return how many bytes the memories that are not deleted use, vectors included."""
        ...

    def longest_unused(
        self, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[Footprint]:
        """Return the memories that may be archived, the longest unused first.

        Excluded are deleted and pinned memories, those of an active session, and those of a
        `protected` kind. Among: consider only these IDs.
        """
        ...

    def weakest(
        self, below: float, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[str]:
        """Return the IDs of memories with a lower salience that may be trashed, weakest first.

        The same memories are excluded as in `longest_unused`.
        """
        ...


class SearchIndex(
    MemoryReader, WordIndex, LinkReader, DuplicateFinder, MessageReader, Statistics, Protocol
):
    """All queries on an index, and the only way to change it."""

    def is_ready(self) -> bool:
        """Return whether the index can be read now; if not, call `Store.prepare`. Takes no lock."""
        ...

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction: all of it or, if an error is raised, nothing.

        Raises IndexBusy if the index stays locked, InvalidRequest for text that is not valid
        Unicode, and IndexProblem or VaultError otherwise.
        """
        ...

    def close(self) -> None:
        """Close the index."""
        ...
