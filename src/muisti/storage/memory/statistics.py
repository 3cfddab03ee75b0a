"""Counts and weighs memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from muisti.model import Problem, Stats
from muisti.ports.search import Footprint
from muisti.storage.memory.tables import Entry, Tables
from muisti.storage.memory.view import View


class MemoryStatistics:
    """All in numbers."""

    view: Callable[[], View]

    def stats(self) -> Stats:
        """The vault in numbers."""
        view = self.view()
        tables = view.tables
        every = list(view.memories())
        alive = [entry for entry in every if entry.memory.deleted_at is None]
        times = [entry.memory.created_at for entry in alive]
        embeddable = [entry for entry in tables.entries.values() if entry.memory.content]
        return Stats(
            total_count=len(alive),
            by_kind=_counted(entry.memory.kind for entry in alive),
            by_sector=_counted(entry.memory.sector.value for entry in alive),
            by_project=_counted(entry.memory.project for entry in alive),
            total_tokens=sum(len(entry.memory.content) for entry in alive) // 4,
            avg_salience=sum(map(view.salience, alive)) / len(alive) if alive else 0.0,
            oldest_memory=min(times, default=None),
            newest_memory=max(times, default=None),
            deleted_count=len(every) - len(alive),
            session_count=len(tables.sessions),
            index_size_bytes=sum(_size(tables, entry) for entry in tables.entries.values()),
            embedding_model=tables.serving.identity.model if tables.serving else None,
            waiting_count=len(tables.spaces[-1].waiting if tables.spaces else embeddable),
            problems=(),
        )

    def problems(self) -> list[Problem]:
        """None: there are no files that could be broken."""
        return []

    def decayed_at(self) -> datetime | None:
        """Up to when decay was recorded."""
        return self.view().tables.decayed_at

    def count_decayed(self, least: float) -> int:
        """How many have lost at least so much since decay was last recorded."""
        view = self.view()
        alive = [entry for entry in view.memories() if entry.memory.deleted_at is None]
        return sum(view.salience_recorded(entry) - view.salience(entry) >= least for entry in alive)

    def live_bytes(self) -> int:
        """Texts and vectors of memories that are not deleted."""
        view = self.view()
        return sum(
            _size(view.tables, entry)
            for entry in view.memories()
            if entry.memory.deleted_at is None
        )

    def longest_unused(
        self, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[Footprint]:
        """By the last use, then by age."""
        view = self.view()

        def key(entry: Entry) -> tuple[datetime, datetime, str]:
            usage = view.tables.usage.get(entry.memory.id)
            made = entry.memory.created_at
            return (
                (usage.last_accessed if usage and usage.last_accessed else made),
                made,
                entry.memory.id,
            )

        free = sorted(_free(view, protected, among), key=key)
        return [Footprint(entry.memory.id, _size(view.tables, entry)) for entry in free]

    def weakest(
        self, below: float, protected: Sequence[str], among: Sequence[str] | None = None
    ) -> list[str]:
        """The weakest first."""
        view = self.view()
        weak = [(view.salience(entry), entry) for entry in _free(view, protected, among)]
        weak = [(salience, entry) for salience, entry in weak if salience < below]
        weak.sort(key=lambda one: (one[0], one[1].created_at, one[1].memory.id))
        return [entry.memory.id for _, entry in weak]


def _counted(names: Iterable[str]) -> dict[str, int]:
    """The most frequent first."""
    counts = Counter(names)
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def _size(tables: Tables, entry: Entry) -> int:
    """Bytes of a text and of its vectors."""
    vectors = (space.vectors.get(entry.memory.id) for space in tables.spaces)
    return len(entry.memory.content.encode()) + sum(
        one[1].nbytes for one in vectors if one is not None
    )


def _free(view: View, protected: Sequence[str], among: Sequence[str] | None) -> list[Entry]:
    """What upkeep may move."""
    found = []
    for entry in view.memories():
        memory = entry.memory
        session = view.tables.sessions.get(memory.session_id or "")
        is_active = (
            session is not None and memory.session_id is not None and session.status == "active"
        )
        kept = (
            memory.deleted_at is not None or memory.pinned or memory.kind in protected or is_active
        )
        if not kept and (among is None or memory.id in among):
            found.append(entry)
    return found
