"""The search index in memory."""

from __future__ import annotations

from collections.abc import Mapping

from muisti.model import KINDS, RATES, Kind, Sector
from muisti.model.salience import IDLE_DAYS
from muisti.ports.rows import IndexChanges
from muisti.ports.store import Clock
from muisti.storage.memory.apply import apply_changes, promote_complete_space
from muisti.storage.memory.duplicates import MemoryDuplicates
from muisti.storage.memory.links import MemoryLinks
from muisti.storage.memory.messages import MemoryMessages
from muisti.storage.memory.reader import MemoryReading
from muisti.storage.memory.review import MemoryReview
from muisti.storage.memory.statistics import MemoryStatistics
from muisti.storage.memory.tables import Database, Tables
from muisti.storage.memory.view import View
from muisti.storage.memory.words import MemoryWords


class MemoryIndex(
    MemoryReading,
    MemoryWords,
    MemoryLinks,
    MemoryDuplicates,
    MemoryMessages,
    MemoryReview,
    MemoryStatistics,
):
    """A search index in dictionaries, with the same results as the one in SQLite."""

    def __init__(
        self,
        clock: Clock,
        kinds: Mapping[str, Kind] = KINDS,
        rates: Mapping[Sector, float] = RATES,
        grace_days: float = IDLE_DAYS,
    ) -> None:
        self.stale = False
        """True if the store has changes that the index lacks: it must be rebuilt."""
        self._clock = clock
        self._kinds = kinds
        self._rates = rates
        self._grace_days = grace_days
        self.database = Database()

    def view(self) -> View:
        """Return the current state, or that of the snapshot, at the current time."""
        now = self._clock.now()
        return View(self.database.tables, now, self._kinds, self._rates, self._grace_days)

    def open_columns(self) -> None:
        """Return None: rows are read."""

    def is_ready(self) -> bool:
        """Return whether the index has everything that is stored."""
        return not self.stale

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction."""
        with self.database.transaction() as tables:
            apply_changes(tables, changes)

    def rebuild(self, changes: IndexChanges) -> None:
        """Replace everything with these rows. Vectors of unchanged texts stay."""
        with self.database.transaction() as tables:
            rebuilt = build(changes)
            before = {id_: entry.source_hash for id_, entry in tables.entries.items()}
            after = {id_: entry.source_hash for id_, entry in rebuilt.entries.items()}
            embeddable = {id_ for id_, entry in rebuilt.entries.items() if entry.memory.content}
            for space in tables.spaces:
                for id_ in list(space.vectors):
                    if id_ not in after or after[id_] != before.get(id_):
                        del space.vectors[id_]
                space.waiting = embeddable - space.vectors.keys()
                space.parts = {}
            for name in Tables.__slots__:
                if name not in ("spaces", "last_space"):
                    setattr(tables, name, getattr(rebuilt, name))
            promote_complete_space(tables)
        self.stale = False

    def differences(self, changes: IndexChanges) -> list[str]:
        """Return the names of the parts in which the index differs from one with these rows."""
        current = _get_contents(self.database.tables)
        rebuilt = _get_contents(build(changes))
        return [name for name in current if current[name] != rebuilt[name]]

    def close(self) -> None:
        """Do nothing: the index ends with the process."""


def build(changes: IndexChanges) -> Tables:
    """Return tables with these rows."""
    tables = Tables()
    apply_changes(tables, changes)
    return tables


def _get_contents(tables: Tables) -> dict[str, object]:
    """Return all that two indexes of one vault must agree in: everything but entry numbers."""
    return {
        "texts": {
            id_: (entry.memory, entry.created_at, entry.words, entry.message)
            for id_, entry in tables.entries.items()
        },
        "words": {word: tables.postings[word] for word in tables.postings},
        "links": {target: tables.links_to[target] for target in tables.links_to},
        "usage": tables.usage,
        "sessions": tables.sessions,
        "uses": tables.uses,
        "decay": tables.decayed_at,
    }
