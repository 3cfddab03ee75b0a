"""Reports about a vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.journal import Session
    from muisti.model.memory import Memory


MISSING = "files are missing"


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that cannot be read, or a folder whose files are missing, and what to do."""

    path: str
    reason: str

    @property
    def is_missing(self) -> bool:
        """Whether so many files are missing that forgetting them needs a confirmation."""
        return MISSING in self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync of the index with the files found."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    missing: int = 0
    """Files that are missing: so many at once that removing them needs a confirmation."""
    problems: tuple[Problem, ...] = ()

    @property
    def paused(self) -> bool:
        """Whether missing files await a confirmation."""
        return self.missing > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Whether the files and the index agree. `problems` is empty if they do."""

    files: int
    memories: int
    journal_events: int
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """What `push` or `pull` copied."""

    files: int
    """Memories, versions, core memory and notes."""
    line_files: int
    """Files of conversations and of the journal."""
    copied: int
    """How many files and lines were not there yet, from an earlier attempt. Of a pull: 0."""
    vectors: int
    """Texts whose vectors were copied. The others are embedded later."""
    problems: tuple[Problem, ...] = ()
    """What was not copied, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What `forget` removed or, in a dry run, would remove."""

    dry_run: bool
    hard: bool
    memories: tuple[str, ...] = ()
    """IDs of memories, with all their versions."""
    messages: int = 0
    conversations: tuple[str, ...] = ()
    """The conversations that lose messages."""
    documents: tuple[str, ...] = ()
    """Paths that are no longer indexed. The files outside the vault stay."""
    sessions: tuple[str, ...] = ()
    core_entries: int = 0
    exchanges: int = 0
    """Exchanges that waited for extraction."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remove."""
        found = (self.memories, self.messages, self.documents, self.sessions)
        return not any((*found, self.core_entries, self.exchanges))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepReport:
    """What maintenance did or, in a dry run, would do."""

    dry_run: bool
    decayed: int
    """How many memories lost salience since the last run."""
    cleaned: tuple[Memory, ...] = ()
    """Memories with too little salience: moved to the trash."""
    evicted: tuple[Memory, ...] = ()
    """The longest unused memories, above the size limit: moved to the archive."""
    live_bytes: int = 0
    """The size of all memories before the run."""
    limit_bytes: int = 0
    ended_sessions: tuple[Session, ...] = ()
    """Sessions that nobody had ended, and nobody used any more."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model in the catalogue, and whether it is installed."""

    name: str
    description: str
    dimensions: int
    size: int
    """Size of the weights in bytes."""
    licence: str
    package: str
    """The package that contains it."""
    installed: bool
    in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Figures about a vault."""

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
    """The model of the vectors that searches use; None if there are none."""
    embedder: str = ""
    """The embedder of the settings that makes these vectors; empty if none of them does."""
    waiting_count: int = 0
    """Memories, messages and sections that are not embedded yet."""
    problems: tuple[Problem, ...] = ()
    long_sessions: Mapping[str, int] = field(default_factory=dict)
    """Sessions that need a summary, by ID, with the tokens of their memories; longest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The exchanges of all processes that wait for extraction."""

    waiting: int = 0
    oldest: datetime | None = None
    """The time of the oldest exchange; None if none waits."""
    broken: int = 0
    """Files with invalid lines, which were moved aside."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations, counted in buckets."""

    bounds: tuple[float, ...]
    """Upper bounds of the buckets, in seconds."""
    counts: tuple[int, ...]
    """The number in each bucket; the last bucket has no upper bound."""
    seconds: float
    """The sum of all durations."""

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counters and latencies since this process opened the vault."""

    counters: Mapping[str, int]
    latencies: Mapping[str, Histogram]
    waiting: int = 0
    """Exchanges that wait for extraction."""
