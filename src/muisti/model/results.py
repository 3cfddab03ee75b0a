"""What is asked, and what is answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.model.memory import EntryType, Link, Memory

if TYPE_CHECKING:
    from muisti.model.conversations import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories a call is about. Unset fields do not narrow."""

    ids: tuple[str, ...] = ()
    project: str | None = None
    """See project-tier memories of this project only; global ones are always seen."""
    unfiled: bool = False
    """With a project: see what belongs to no project, too."""
    session_id: str | None = None
    """The session that asks: it alone sees its session-tier memories."""
    all_sessions: bool = False
    """See session-tier memories of every session (for the owner's lists, not for agents)."""
    session: str | None = None
    """Only memories that were made in this session."""
    kinds: tuple[str, ...] = ()
    sectors: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    user: str | None = None
    """Only memories of this user, and those without one."""
    agent: str | None = None
    """Only memories that this agent wrote."""
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    min_salience: float = 0.0
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    """Only memories that existed then."""
    include_deleted: bool = False
    only_deleted: bool = False
    """What is in the trash, and nothing else."""
    origins: tuple[str, ...] = ()
    """Of what search finds: only `memory`, `document`, `message`."""
    documents: tuple[str, ...] = ()
    """Only sections of documents with these sources."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One reason for a result's place: where a signal ranked it and what that was worth."""

    name: str
    rank: int | None
    score: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A memory that answers a search, and why."""

    memory: Memory
    score: float
    """Between 0 and 1, larger is better."""
    distance: float
    """1 − score: smaller is better."""
    matched_snippet: str
    matched_keywords: tuple[str, ...] = ()
    why: tuple[Signal, ...] = ()
    source: str = EntryType.MEMORY.value
    """What was found: `memory`, `document` or `message`."""
    message: Message | None = None
    """Who said it and when, if it is a message of a conversation."""


class SearchResults(list[SearchResult]):
    """The answers to one search, best first, and how they were found."""

    def __init__(
        self, results: Iterable[SearchResult] = (), mode: str = "hybrid", degraded: str = ""
    ) -> None:
        super().__init__(results)
        self.mode = mode
        """`hybrid`, `vector` or `keyword`: what the answers go by."""
        self.degraded = degraded
        """Why they go by less than was asked for; empty when they do not."""


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The first of three layers: enough to choose from, at most 100 tokens."""

    id: str
    title: str
    kind: str
    score: float
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is, or is not, an answer to a query."""

    id: str
    query: str
    recalled: bool
    rank: int | None
    terms: tuple[str, ...]
    matched: tuple[str, ...]
    reasons: tuple[str, ...]
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A memory's surroundings: the memories that links lead to, itself first, and the links."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
