"""The state of a vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.memory import Memory


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepReport:
    """What upkeep did, or would do."""

    dry_run: bool
    decayed: int
    """Memories whose strength has changed since the last time."""
    cleaned: tuple[Memory, ...] = ()
    """Too weak: moved to the trash."""
    evicted: tuple[Memory, ...] = ()
    """Longest unused, when there was too much: moved to the archive."""
    live_bytes: int = 0
    """What the memories took up before."""
    limit_bytes: int = 0


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
    """Memories, messages and sections of documents that have no vectors yet: all, until the embedder has answered once."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatus:
    """The exchanges that were accepted and are not extracted yet, by whichever process."""

    waiting: int = 0
    """How many there are."""
    oldest: datetime | None = None
    """When the oldest of them was said; None if none waits."""
    broken: int = 0
    """Files with lines that are not exchanges and were set aside."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How long something took, each time."""

    bounds: tuple[float, ...]
    """Seconds: the upper ends of the buckets."""
    counts: tuple[int, ...]
    """How many fell into each bucket; the last is for all that took longer."""
    seconds: float
    """All together."""

    @property
    def count(self) -> int:
        """How many times."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Metrics:
    """What happened since the vault was opened here, in numbers."""

    counters: Mapping[str, int]
    latencies: Mapping[str, Histogram]
    waiting: int = 0
    """Exchanges that are accepted and not extracted yet."""
