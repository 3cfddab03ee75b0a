"""Counts memories and finds those that maintenance may move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from muisti.model import Problem, SessionAction, Stats
from muisti.ports.search import Footprint
from muisti.storage.memory.tables import Entry, Tables
from muisti.storage.memory.view import View


class MemoryStatistics:
    """Implements the port Statistics."""

    view: Callable[[], View]

    def stats(self) -> Stats:
        """Return statistics of the whole vault."""
        view = self.view()
        tables = view.tables
        every = list(view.memories())
        alive = [entry for entry in every if entry.memory.deleted_at is None]
        times = [entry.memory.created_at for entry in alive]
        embeddable = [entry for entry in tables.entries.values() if entry.memory.content]
        return Stats(
            total_count=len(alive),
            by_kind=_count_names(entry.memory.kind for entry in alive),
            by_sector=_count_names(entry.memory.sector.value for entry in alive),
            by_project=_count_names(entry.memory.project for entry in alive),
            total_tokens=sum(len(entry.memory.content) for entry in alive) // 4,
            avg_salience=sum(map(view.salience, alive)) / len(alive) if alive else 0.0,
            oldest_memory=min(times, default=None),
            newest_memory=max(times, default=None),
            deleted_count=len(every) - len(alive),
            session_count=len(tables.sessions),
            index_size_bytes=sum(_compute_size(tables, entry) for entry in tables.entries.values()),
            embedding_model=tables.serving.identity.model if tables.serving else None,
            waiting_count=len(tables.spaces[-1].waiting if tables.spaces else embeddable),
            problems=(),
        )

    def find_long_sessions(self, length: int, among: Sequence[str] | None = None) -> list[str]:
        """Return the sessions whose memories may have this many characters together."""
        view = self.view()
        alive = {
            entry.memory.id: entry.memory
            for entry in view.memories()
            if entry.memory.deleted_at is None
        }
        said = {(one.session_id, one.id) for one in alive.values() if one.session_id is not None}
        said |= {
            (use.session_id, use.memory_id)
            for use in view.tables.uses
            if use.use is SessionAction.REINFORCED and use.memory_id in alive
        }
        lengths: Counter[str] = Counter()
        for session_id, memory_id in said:
            lengths[session_id] += len(alive[memory_id].content) + 2
        wanted = lengths if among is None else lengths.keys() & set(among)
        return sorted(id_ for id_ in wanted if lengths[id_] >= length)

    def problems(self) -> list[Problem]:
        """Return nothing: there are no files."""
        return []

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded, or None."""
        return self.view().tables.decayed_at

    def count_decayed(self, least: float) -> int:
        """Return how many memories lost at least this much salience since decay was recorded."""
        view = self.view()
        alive = [entry for entry in view.memories() if entry.memory.deleted_at is None]
        return sum(view.salience_recorded(entry) - view.salience(entry) >= least for entry in alive)

    def live_bytes(self) -> int:
        """Return the size of the texts and vectors of all memories that are not deleted."""
        view = self.view()
        return sum(
            _compute_size(view.tables, entry)
            for entry in view.memories()
            if entry.memory.deleted_at is None
        )

    def longest_unused(
        self,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[Footprint]:
        """Return the memories that may be archived, the longest unused first."""
        view = self.view()

        def key(entry: Entry) -> tuple[datetime, datetime, str]:
            usage = view.tables.usage.get(entry.memory.id)
            created = entry.memory.created_at
            used = usage.last_accessed if usage else None
            return used or created, created, entry.memory.id

        movable = sorted(_find_movable(view, protected, in_use, among), key=key)
        return [Footprint(entry.memory.id, _compute_size(view.tables, entry)) for entry in movable]

    def weakest(
        self,
        below: float,
        protected: Sequence[str],
        in_use: Sequence[str] = (),
        among: Sequence[str] | None = None,
    ) -> list[str]:
        """Return the IDs of memories below a salience that may be trashed, weakest first."""
        view = self.view()
        weak = []
        for entry in _find_movable(view, protected, in_use, among):
            salience = view.salience(entry)
            if salience < below:
                weak.append((salience, entry.created_at, entry.memory.id))
        return [id_ for _, _, id_ in sorted(weak)]


def _count_names(names: Iterable[str]) -> dict[str, int]:
    """Return how often each name occurs, the most frequent first."""
    counts = Counter(names)
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def _compute_size(tables: Tables, entry: Entry) -> int:
    """Return the bytes of a text and of its vectors."""
    size = len(entry.memory.content.encode())
    for space in tables.spaces:
        if entry.memory.id in space.vectors:
            _, vectors = space.vectors[entry.memory.id]
            size += vectors.nbytes
    return size


def _find_movable(
    view: View, protected: Sequence[str], in_use: Sequence[str], among: Sequence[str] | None
) -> list[Entry]:
    """Return the memories that maintenance may move."""
    found = []
    for entry in view.memories():
        memory = entry.memory
        is_kept = memory.pinned or memory.kind in protected or memory.session_id in in_use
        if memory.deleted_at is None and not is_kept and (among is None or memory.id in among):
            found.append(entry)
    return found
