"""The search index. It is derived from the store and can be rebuilt from it at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from muisti.ports.duplicates import DuplicateFinder
from muisti.ports.review import ReviewReader

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import (
        Conversation,
        DocumentSource,
        Filter,
        IndexedDocument,
        Link,
        Memory,
        Message,
        Problem,
        Session,
        SessionUse,
        Stats,
        Usage,
    )
    from muisti.ports.columns import ColumnSearch
    from muisti.ports.rows import IndexChanges, Words

Order = Literal[
    "created_at",
    "created_at_desc",
    "salience",
    "salience_asc",
    "last_accessed",
    "last_accessed_asc",
    "deleted_at",
]


# -- Input for ranking


class Frequencies(NamedTuple):
    """How common words are."""

    documents: int
    """How many texts are indexed."""
    counts: Mapping[str, int]
    """In how many texts each word occurs; words that occur in none are left out."""


class Term(NamedTuple):
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
    opening: str
    """The first 80 characters of the content."""


class WordCounts(NamedTuple):
    """How often words occur in texts. In title and labels they count more."""

    lengths: Sequence[int]
    """The number of words of each text; -1 if it is not in the word index."""
    bodies: Sequence[int]
    """The same without title and labels."""
    counts: Mapping[str, Mapping[int, float]]
    """For each word its weighted counts, by the place of the text in the given order."""


class Candidate(NamedTuple):
    """What ranking needs to know about a text. Most candidates are never loaded in full."""

    memory_id: str
    created_at: float
    """In seconds since 1970, as the other times."""
    valid_from: float | None
    valid_until: float | None
    """Its own end of validity, or the start of a memory that superseded it, directly or not."""
    importance: float
    salience: float
    opening: str
    """The first 80 characters of the content: in a conversation they name the speaker."""
    content_hash: str
    session_id: str | None
    origin: str
    """memory, document or message."""
    user: str = ""
    before: tuple[str, ...] = ()
    """IDs of up to two texts right before it in its session, the nearest first."""
    after: tuple[str, ...] = ()
    """IDs of up to two texts right after it in its session, the nearest first."""
    allowed: bool = True
    """Whether the filter accepts it. A neighbour that is not accepted still serves as context."""


class Footprint(NamedTuple):
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

    def release(self) -> AbstractContextManager[None]:
        """Within the context, which may last, hold nothing that other threads wait for.

        To call a model in the middle of a snapshot, whose later reads may then see a later state.
        """
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

    def get_neighbours(
        self, memory: Memory, before: int, after: int, where: Filter
    ) -> list[Memory]:
        """Return the memories before and after this one in time, itself included, oldest first.

        Only memories of its project that match the filter, and of its user or none if the filter
        has no user; session-tier ones only of its session. For a message: of its conversation. For
        a section: of its document.
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

    def sessions(self, project: str | None, limit: int, user: str | None = None) -> list[Session]:
        """Return the sessions of a project and a user, or of all, the latest start first."""
        ...

    def active_sessions(self, project: str | None = None, user: str | None = None) -> list[Session]:
        """Return the active sessions of a project and a user, the oldest first."""
        ...

    def find_session_scopes(self, session_id: str) -> list[tuple[str, str]]:
        """Return project and user of the texts that name this session, the earliest first.

        For sessions that were never started. Deleted texts count; each pair is returned once, and
        that of texts that belong to nobody last.
        """
        ...

    def find_scope_names(self) -> tuple[list[str], list[str]]:
        """Return the names of all projects and of all users that something belongs to, sorted."""
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

    def count_words(self, ids: Sequence[str], words: Sequence[str]) -> WordCounts:
        """Return how often these words occur in these texts."""
        ...

    def get_words(self, ids: Sequence[str]) -> dict[str, Words]:
        """Return the index words of these texts by ID. Texts without any are left out."""
        ...


class LinkReader(Protocol):
    """Reads links. Links from or to a memory that is missing or deleted are left out."""

    def get_links(self, ids: Sequence[str]) -> list[Link]:
        """Return the links that begin or end at any of these memories, each once, oldest first."""
        ...

    def find_labelled(self, label: str, values: Sequence[str] | None) -> list[str]:
        """Return the IDs of memories with any of these values of a label; None: with any value.

        The latest come first. Values are compared as `MemoryRow.labels` has them.
        """
        ...

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the IDs of the memories that supersede each of these, the latest last.

        Memories that are not superseded are left out. Suggested and ended links do not count, nor
        do links between memories of different users. A deleted memory counts as replaced by the
        memories that supersede it.
        """
        ...

    def chains(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the successors of these memories, and of their successors in turn."""
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

    def conversation(self, name: str) -> Conversation | None:
        """Return one conversation, or None. Its project and user are those of its last message."""
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

    def list_documents(self, paths: Sequence[str] | None = None) -> list[IndexedDocument]:
        """Return the indexed documents, or those with these paths, sorted by path."""
        ...


class Statistics(Protocol):
    """Counts memories and finds those that maintenance may move."""

    def stats(self) -> Stats:
        """Return statistics of the whole vault."""
        ...

    def find_long_sessions(self, length: int, among: Sequence[str] | None = None) -> list[str]:
        """Return the sessions whose memories may have this many characters together.

        Memories that a session reinforced count too. A few may have less; none is left out.
        Among: only these sessions; None: all, which reads every memory of a session.
        """
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
        self,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[Footprint]:
        """Return the memories that may be archived, the longest unused first.

        Excluded are deleted and pinned memories, those of a `protected` kind, and those of the
        sessions `in_use`. Among: consider only these IDs.
        """
        ...

    def weakest(
        self,
        below: float,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[str]:
        """Return the IDs of memories with a lower salience that may be trashed, weakest first.

        The same memories are excluded as in `longest_unused`.
        """
        ...


class SearchIndex(
    MemoryReader,
    WordIndex,
    LinkReader,
    DuplicateFinder,
    MessageReader,
    ReviewReader,
    Statistics,
    Protocol,
):
    """All queries on an index, and the only way to change it."""

    def open_columns(self) -> ColumnSearch | None:
        """Return what searches in columns, or None: a search then reads rows.

        Call it within `snapshot`, and do not use it after that.
        """
        ...

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
