"""Problems of files, and what a sync found. Every command that reads a vault imports these."""

from __future__ import annotations

from dataclasses import dataclass

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
