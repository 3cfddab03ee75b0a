"""Filters and search results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.model.memory import EntryType, Memory

if TYPE_CHECKING:
    from muisti.model.conversations import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Selects memories. Fields that are not set select all."""

    ids: tuple[str, ...] = ()
    project: str | None = None
    """Only memories of this project, and global ones."""
    unfiled: bool = False
    """With `project`: also memories without a project."""
    session_id: str | None = None
    """The current session: include its session-tier memories, but no other session's."""
    all_sessions: bool = False
    """Include session-tier memories of every session: for the owner, not for agents."""
    session: str | None = None
    """Only memories created in this session."""
    conversation: str | None = None
    """Only summaries of this conversation."""
    kinds: tuple[str, ...] = ()
    sectors: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    user: str | None = None
    """Only memories of this user and those without a user."""
    agent: str | None = None
    """Only memories that this agent wrote."""
    trusted: bool | None = None
    """Only trusted memories, or only those that no person has confirmed."""
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    standing: bool | None = None
    """Only standing instructions and preferences, or only the others."""
    min_salience: float = 0.0
    since: datetime | None = None
    """Created at this time or later."""
    until: datetime | None = None
    """Created before this time."""
    as_of: datetime | None = None
    """Only memories that were valid at this time."""
    known_at: datetime | None = None
    """Only memories that had been saved by this time."""
    include_deleted: bool = False
    only_deleted: bool = False
    """Only memories in the trash."""
    origins: tuple[str, ...] = ()
    """Only texts of these origins: `memory`, `document`, `message`."""
    documents: tuple[str, ...] = ()
    """Of documents, only those with these sources."""

    @property
    def is_scoped(self) -> bool:
        """Whether the filter is for one project, user or session: not the owner's view.

        A message without a project and a user belongs to nobody. It is left out then, unless it
        is of the named session or conversation.
        """
        return not (self.project is None and self.user is None and self.session_id is None)


@dataclass(frozen=True, slots=True)
class Signal:
    """One ranking signal of a result: its rank by this signal and the score it added."""

    name: str
    rank: int | None
    score: float
    note: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    """A memory found by a search, and why."""

    memory: Memory
    score: float
    """The probability that this answers the query. It never rises down the list."""
    distance: float | None
    """The cosine distance of its best chunk to the query; None if no vector was compared."""
    matched_snippet: str
    matched_keywords: tuple[str, ...] = ()
    why: tuple[Signal, ...] = ()
    source: str = EntryType.MEMORY.value
    """The type of the entry: `memory`, `document` or `message`."""
    message: Message | None = None
    """The message, if the entry is one."""
    weak: bool = False
    """Whether the score is below the floor: probably not an answer."""
    superseded_by: str | None = None
    """The ID of the memory that replaced this one, if it is outdated."""
    outdated: bool = False
    """Whether it was replaced, or its validity ended, by the time of the question."""
    document_version: str = ""
    """Of a document's section: the version of the file that it was read from."""
    vault: str = ""
    """The location of its vault, if several are searched; else empty."""

    def __repr__(self) -> str:
        """Return one line: the score, whether it is weak or outdated, and the memory."""
        notes = " weak" * self.weak + " outdated" * self.outdated
        return f"<SearchResult {self.score:.2f}{notes} {self.memory!r}>"


class SearchResults(list[SearchResult]):
    """The results of one search, best first, and how they were found."""

    def __init__(
        self,
        results: Iterable[SearchResult] = (),
        mode: str = "hybrid",
        degraded: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(results)
        self.mode = mode
        """The search mode that was used: `hybrid`, `vector` or `keyword`."""
        self.degraded = degraded
        """Why another mode than the requested one was used; empty if it was not."""
        self.hint = hint
        """Advice about the request, such as the nearest name of an unknown project; or empty."""

    @property
    def has_good_match(self) -> bool:
        """Whether at least one result is not weak."""
        return any(not result.weak for result in self)


class FoundMemories(list[Memory]):
    """Memories that were read by their IDs, in that order."""

    def __init__(self, memories: Iterable[Memory] = (), missing: Iterable[str] = ()) -> None:
        super().__init__(memories)
        self.missing = tuple(missing)
        """The IDs that no memory has, or that are outside the scope."""
