"""What answers questions: memories, words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from muisti.model import Filter, Link, Memory, Session, SessionUse

Order = Literal["created_at", "created_at_desc", "salience", "salience_asc", "last_accessed", "last_accessed_asc", "deleted_at"]


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
    sought: bool = True
    """False for a word so common that memories are not looked for by it; it counts where it stands."""


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A memory that matched words of the query, with what ranking needs to know: most hits are never read whole."""

    memory_id: str
    score: float
    """Between 0 and 1."""
    matched: frozenset[str]
    """The words of the query that it has, or has a stand-in for."""
    loose: frozenset[str] = frozenset()
    """Those of them that only a stand-in matched."""
    found: frozenset[str] = frozenset()
    """The words of the memory that matched."""
    opening: str = ""
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
class Occurrences:
    """How often words stand in a memory; in its title and labels they count for more."""

    length: int
    counts: Mapping[str, float]


class Links(Protocol):
    """Reads how memories are linked. Links to or from memories that are not there, or are deleted, are left out."""

    def of(self, memory_id: str) -> list[Link]:
        """Those that begin or end at a memory, oldest first."""
        ...

    def among(self, ids: Sequence[str]) -> list[Link]:
        """Those that begin or end at any of these, oldest first."""
        ...

    def successors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each of these that was superseded: by which memories, the latest last."""
        ...


class MemoryReader(Protocol):
    """Reads memories and sessions from the index."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything that this thread reads within, words included, sees one state of the index."""
        ...

    def get(self, memory_id: str, *, include_deleted: bool = False, any_origin: bool = False) -> Memory | None:
        """One memory. Any origin: or a message, or a section of a document."""
        ...

    def many(self, ids: Sequence[str], *, include_deleted: bool = False, any_origin: bool = False) -> list[Memory]:
        """Those of these that exist, in the order asked. Any origin: messages and sections of documents too."""
        ...

    def select(self, where: Filter, *, order: Order, limit: int | None, offset: int = 0) -> list[Memory]:
        """A page of those that a filter lets through."""
        ...

    def by_keywords(self, keywords: Sequence[str], *, match_all: bool, where: Filter, limit: int) -> list[Memory]:
        """Memories with these keywords, those with most of them first."""
        ...

    def around(self, memory: Memory, before: int, after: int) -> list[Memory]:
        """Its neighbours in time in the same project, itself included."""
        ...

    def candidates(self, ids: Sequence[str], where: Filter) -> dict[str, Candidate]:
        """These memories and their neighbours in their sessions."""
        ...

    def document_sources(self) -> list[str]:
        """What documents are called."""
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

    def occurrences(self, ids: Sequence[str], words: Sequence[str]) -> dict[str, Occurrences]:
        """How often these words stand in these memories."""
        ...

    def words_of(self, memory_id: str) -> dict[str, int]:
        """The indexed words of one memory with their counts."""
        ...
