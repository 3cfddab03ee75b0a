"""Results other than those of a search: short forms, explanations, history, graphs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.memory import Link, Memory
    from muisti.model.results import Signal


@dataclass(frozen=True, slots=True)
class CompactResult:
    """A short form of a result, to choose from: at most 100 tokens."""

    id: str
    title: str
    kind: str
    score: float
    created_at: datetime
    outdated: bool = False
    """Whether it was replaced or its validity has ended."""
    superseded_by: str | None = None
    """The ID of the memory that replaced it, if it is outdated."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is, or is not, found by a query."""

    id: str
    query: str
    recalled: bool
    rank: int | None
    terms: tuple[str, ...]
    matched: tuple[str, ...]
    reasons: tuple[str, ...]
    signals: tuple[Signal, ...] = ()
    score: float | None = None
    """The score of the result, as in a search; None if it is not found."""
    weak: bool = False
    """Whether the score is below the floor."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A memory, the memories linked with it, and the links. The memory itself comes first."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class UnresolvedLink:
    """A `[[wikilink]]` that leads to no memory yet."""

    source: str
    """The ID of the memory whose text has it."""
    title: str
    """The title of that memory."""
    target: str
    """What it leads to, as it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One line of a memory's history."""

    at: datetime
    what: str
    """saved, updated, edited, merged, unmerged, recalled, reinforced, superseded, deleted …"""
    note: str = ""
    session_id: str | None = None
    other_id: str | None = None
    """The memory that was merged into it or linked with it."""
    content: str | None = None
    """The previous content, or the merged text; None if the content did not change."""
