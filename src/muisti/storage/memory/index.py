"""The search index in memory."""

from __future__ import annotations

from collections.abc import Mapping

from muisti.model import KINDS, RATES, Kind, Sector
from muisti.ports.search import IndexChanges
from muisti.ports.store import Clock
from muisti.storage.memory.apply import apply_changes, promote_complete_space
from muisti.storage.memory.duplicates import MemoryDuplicates
from muisti.storage.memory.links import MemoryLinks
from muisti.storage.memory.messages import MemoryMessages
from muisti.storage.memory.reader import MemoryReading
from muisti.storage.memory.statistics import MemoryStatistics
from muisti.storage.memory.tables import Database, Tables
from muisti.storage.memory.view import View
from muisti.storage.memory.words import MemoryWords


class MemoryIndex(
    MemoryReading, MemoryWords, MemoryLinks, MemoryDuplicates, MemoryMessages, MemoryStatistics
):
    """Dictionaries that answer like the index in SQLite."""

    def __init__(
        self,
        clock: Clock,
        kinds: Mapping[str, Kind] = KINDS,
        rates: Mapping[Sector, float] = RATES,
    ) -> None:
        self.stale = False
        """True when something was stored that the index does not have: it has to be built anew."""
        self._clock = clock
        self._kinds = kinds
        self._rates = rates
        self.database = Database()

    def view(self) -> View:
        """Return the present state, or that of the snapshot, at the present moment."""
        return View(self.database.tables, self._clock.now(), self._kinds, self._rates)

    def is_ready(self) -> bool:
        """Return whether it has everything that is stored."""
        return not self.stale

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction."""
        with self.database.transaction() as tables:
            apply_changes(tables, changes)

    def rebuild(self, changes: IndexChanges) -> None:
        """Replace everything by these rows. Vectors of unchanged texts stay."""
        with self.database.transaction() as tables:
            anew = build(changes)
            before = {id_: entry.source_hash for id_, entry in tables.entries.items()}
            same = {
                id_ for id_, entry in anew.entries.items() if entry.source_hash == before.get(id_)
            }
            embeddable = {id_ for id_, entry in anew.entries.items() if entry.memory.content}
            for space in tables.spaces:
                space.vectors = {
                    id_: vectors for id_, vectors in space.vectors.items() if id_ in same
                }
                space.waiting = embeddable - space.vectors.keys()
            for name in Tables.__slots__:
                if name not in ("spaces", "last_space"):
                    setattr(tables, name, getattr(anew, name))
            promote_complete_space(tables)
        self.stale = False

    def differences(self, changes: IndexChanges) -> list[str]:
        """Return the names of the parts in which the index is not what these rows make."""
        here, anew = _contents(self.database.tables), _contents(build(changes))
        return [name for name in here if here[name] != anew[name]]

    def close(self) -> None:
        """Nothing has to be closed; the index ends with the process."""


def build(changes: IndexChanges) -> Tables:
    """Return the tables that these rows make."""
    tables = Tables()
    apply_changes(tables, changes)
    return tables


def _contents(tables: Tables) -> dict[str, object]:
    """What two states of one vault must agree in: all but the numbers that texts were given."""
    return {
        "texts": {
            id_: (one.memory, one.created_at, one.words, one.message)
            for id_, one in tables.entries.items()
        },
        "words": {word: tables.postings[word] for word in tables.postings},
        "links": {target: tables.links_to[target] for target in tables.links_to},
        "usage": tables.usage,
        "sessions": tables.sessions,
        "uses": tables.uses,
        "decay": tables.decayed_at,
    }
