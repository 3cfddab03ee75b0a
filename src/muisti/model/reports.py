"""Reports about a vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.memory import Memory
    from muisti.model.problems import Problem
    from muisti.model.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Whether the files and the index agree. `problems` is empty if they do."""

    files: int
    """0 for a database, whose rows are compared instead."""
    memories: int
    journal_events: int
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class DuplicatePair:
    """Two stored memories that are duplicates."""

    kept: Memory
    """The older one, which stays."""
    merged: Memory
    """The one that is merged into it."""
    by: str
    """The measure that was met: levenshtein, simhash (another order of words) or embedding."""
    similarity: float
    """0 to 1, by the letters of their words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import found in a source, and what became of each item.

    `found` is the sum of `imported`, `merged`, `existing`, `messages`, `existing_messages`, the
    problems and `left_out`.
    """

    format: str
    dry_run: bool = False
    """True: nothing was written. The numbers are what an import would do."""
    found: int = 0
    imported: int = 0
    """New memories."""
    merged: int = 0
    """Memories whose text is stored already, or comes twice."""
    existing: int = 0
    """Memories that an earlier import brought. They are left as they are."""
    conversations: int = 0
    messages: int = 0
    """New messages."""
    existing_messages: int = 0
    links: int = 0
    """New links between imported memories."""
    unresolved: tuple[Problem, ...] = ()
    """Links to names that are not in the source: where they are, and the name."""
    redacted: int = 0
    """Memories and messages of which private text or secrets were left out."""
    extracted: int = 0
    """Memories that were extracted from conversations. They are also counted above."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """New memories by kind."""
    problems: tuple[Problem, ...] = ()
    """Items that were not imported, and why."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many items were left out on purpose, by reason."""
    examples: tuple[str, ...] = ()
    """The titles of the first new memories and conversations."""


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
    """Active sessions that were no longer used."""


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
class DatabaseStatus:
    """The database of a vault, and the connections of this process."""

    is_primary: bool
    """Whether the server that serves writes is a primary."""
    replicas: int | None
    """Replicas that follow it; None if the role may not see them (it needs `pg_monitor`)."""
    lag_bytes: int | None
    """What the slowest of them has not applied yet."""
    read_lag_seconds: float | None
    """How far the replica that serves reads is behind; None if the primary serves them."""
    connections: int
    """Open connections of this process."""
    connections_used: int
    waiting_requests: int
    """Calls that wait for a connection."""


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
    database: DatabaseStatus | None = None
    """None for a vault in a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The exchanges of all processes that wait for extraction."""

    waiting: int = 0
    oldest: datetime | None = None
    """The time of the oldest exchange; None if none waits."""
    broken: int = 0
    """Files with invalid lines, which were moved aside."""
    given_up: int = 0
    """Exchanges in a database that failed too often. They are not counted as waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """What was done in the background."""

    extracted: int = 0
    """Exchanges that were taken over, also those that are tried again later."""
    embedded: int = 0
    """Texts that were embedded."""


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
