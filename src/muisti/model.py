"""The values that muisti is about. All of them are frozen; all times are timezone-aware UTC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Sector(StrEnum):
    """What sort of memory it is, in the sense of psychology; it decides how fast it fades."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    EMOTIONAL = "emotional"
    REFLECTIVE = "reflective"


class Tier(StrEnum):
    """Who sees a memory: one session, one project, or everybody."""

    SESSION = "session"
    PROJECT = "project"
    GLOBAL = "global"


class Use(StrEnum):
    """What a session did with a memory."""

    CREATED = "created"
    RECALLED = "recalled"
    UPDATED = "updated"
    REINFORCED = "reinforced"


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of memories: its folder, how fast it fades, whether upkeep may touch it."""

    name: str
    folder: str
    decay_per_day: float | None = None
    """Factor a day once idle; None means that the sector decides."""
    protected: bool = False


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("decision", "decisions", decay_per_day=1.0, protected=True),
        Kind("summary", "summaries", decay_per_day=0.99),
        Kind("context", "context", decay_per_day=0.90),
        Kind("fact", "facts"),
        Kind("preference", "preferences"),
        Kind("insight", "insights"),
        Kind("bugfix", "bugfixes"),
        Kind("feature", "features"),
        Kind("refactor", "refactors"),
        Kind("discovery", "discoveries"),
        Kind("change", "changes"),
        Kind("observation", "observations"),
        Kind("note", "notes"),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing worth remembering: one Markdown file."""

    id: str
    content: str
    title: str
    kind: str
    sector: Sector
    created_at: datetime
    updated_at: datetime
    tier: Tier = Tier.PROJECT
    project: str = ""
    """The project's name; empty for memories that belong to no named project."""
    session_id: str | None = None
    source: str = "user"
    summary: str = ""
    keywords: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    importance: float = 0.5
    salience: float = 1.0
    access_count: int = 0
    last_accessed: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    deleted_at: datetime | None = None
    content_hash: str = ""
    simhash: str = ""
    chunk_count: int = 0
    embedding_model: str | None = None
    file_path: str | None = None
    """Where the file is, relative to the vault, with forward slashes."""
    index_pending: bool = False
    """True when the file is safe on disk but the index was busy: it becomes searchable a little later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller wants remembered, before it is checked and completed. None means: work it out."""

    content: str
    title: str | None = None
    kind: str | None = None
    sector: str | None = None
    tier: str | None = None
    project: str | None = None
    session_id: str | None = None
    source: str = "user"
    summary: str = ""
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    importance: float | None = None
    salience: float | None = None
    created_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    id: str | None = None
    """Only for imports, which keep the identity that a memory had elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories a call is about. Unset fields do not narrow."""

    ids: tuple[str, ...] = ()
    project: str | None = None
    """See project-tier memories of this project only; global ones are always seen."""
    session_id: str | None = None
    """The session that asks: it alone sees its session-tier memories."""
    all_sessions: bool = False
    """See session-tier memories of every session (for the owner's lists, not for agents)."""
    session: str | None = None
    """Only memories that were made in this session."""
    kinds: tuple[str, ...] = ()
    sectors: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    min_salience: float = 0.0
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    """Only memories that existed then."""
    include_deleted: bool = False


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


class SearchResults(list[SearchResult]):
    """The answers to one search, best first, and how they were found."""

    def __init__(self, results: Iterable[SearchResult] = (), mode: str = "hybrid", degraded: str = "") -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One stretch of work of an agent or a person."""

    id: str
    project: str = ""
    status: str = "active"
    started_at: datetime
    ended_at: datetime | None = None
    summary: str = ""
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class SessionUse:
    """What a session did with one memory, and when."""

    session_id: str
    memory_id: str
    use: Use
    at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal: something that happened and that no file's text tells."""

    name: str
    at: datetime
    memory_ids: tuple[str, ...] = ()
    session_id: str | None = None
    data: Mapping[str, str | int | float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the journal says of one memory: how strong it is and how it was used."""

    salience: float | None = None
    """None until something touched it: then the value of its file counts."""
    touched_at: datetime | None = None
    access_count: int = 0
    last_accessed: datetime | None = None
    edited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that cannot be used as it is, why, and what to do."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a reconciliation of the index with the files found."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    missing: int = 0
    """Files that vanished, but so many at once that nothing was forgotten without a confirmation."""
    problems: tuple[Problem, ...] = ()

    @property
    def paused(self) -> bool:
        """True when a confirmation is needed before vanished files are forgotten."""
        return self.missing > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Whether files and index agree. `problems` is empty when they do."""

    files: int
    memories: int
    journal_events: int
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model of the catalogue, and whether it is on this machine."""

    name: str
    description: str
    dimensions: int
    size: int
    """Bytes of the weights."""
    licence: str
    package: str
    """The package of the registry that carries it."""
    installed: bool
    in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The vault in numbers."""

    total_count: int
    by_kind: Mapping[str, int]
    by_sector: Mapping[str, int]
    by_project: Mapping[str, int]
    total_tokens: int
    avg_salience: float
    oldest_memory: datetime | None
    newest_memory: datetime | None
    deleted_count: int
    session_count: int
    index_size_bytes: int
    embedding_model: str | None = None
    """The model of the vectors that searches go by; None while there are none."""
    waiting_count: int = 0
    """Memories that have no vectors yet."""
    problems: tuple[Problem, ...] = ()
