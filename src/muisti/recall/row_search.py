"""Makes the columns of candidates from what a search index returns, for every back end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.model import EntryType
from muisti.ports.columns import CandidateTable, Column, FoundText, Share, call_each
from muisti.recall.columns import ArrayColumns, ListColumns, choose_columns
from muisti.recall.speaker import find_speaker

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Candidate, Services, Space, Term, Vector

STEPS = (("before", 0), ("before", 1), ("after", 0), ("after", 1))


class RowSearch:
    """Implements ColumnSearch by the ports SearchIndex and VectorIndex. Keys are IDs."""

    def __init__(self, services: Services, columns: ListColumns | None = None) -> None:
        self._index = services.index
        self._services = services
        self._columns = columns or choose_columns()
        self.is_array = isinstance(self._columns, ArrayColumns)
        self._openings: dict[str, str] = {}
        self._candidates: dict[str, Candidate] = {}
        self._texts: list[str] = []
        """The IDs of all texts that were described last."""

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> dict[str, float]:
        """Return texts that contain any of the terms, best bm25 first."""
        found = self._index.match(terms, where, limit)
        self._openings.update((one.memory_id, one.opening) for one in found)
        return {one.memory_id: one.bm25 for one in found}

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """Return texts that contain exactly these characters."""
        return self._index.match_literal(text, where, limit)

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int, share: Share = call_each
    ) -> list[FoundText]:
        """Return the nearest texts, best first."""
        del share  # the index compares them
        found = self._services.vectors.find_nearest(space, query, where, limit)
        return [FoundText(*hit) for hit in found]

    def list_speakers(self) -> None:
        """Return None: rows would have to be read."""

    def find_speakers(self, keys: Sequence[str]) -> set[str]:
        """Return the names of those who speak in texts that were matched."""
        return {find_speaker(self._openings.get(key, "")) for key in keys}

    def find_chains(self, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the successors of texts, and theirs in turn."""
        return self._index.chains(keys)

    def find_keys(self, ids: Sequence[str]) -> list[str]:
        """Return the IDs."""
        return list(ids)

    def describe(self, keys: Sequence[str], words: Sequence[str], where: Filter) -> CandidateTable:
        """Return these texts and their neighbours in columns."""
        columns = self._columns
        self._candidates = self._index.candidates(keys, where)
        candidates = list(self._candidates.values())
        texts = dict.fromkeys(self._candidates)
        for one in candidates:
            texts |= dict.fromkeys((*one.before, *one.after))
        self._texts = list(texts)
        positions = {id_: position for position, id_ in enumerate(texts)}
        counted = self._index.count_words(self._texts, words)
        size = len(texts) + 1
        sides: Column = ()
        if any(one.before or one.after for one in candidates):
            rows = []
            for side, step in STEPS:
                ids = (getattr(one, side)[step : step + 1] for one in candidates)
                rows.append([positions[some[0]] if some else len(texts) for some in ids])
            sides = columns.index(rows)
        created = [one.created_at for one in candidates]
        starts = [
            at if one.valid_from is None else one.valid_from
            for at, one in zip(created, candidates, strict=True)
        ]
        sessions: dict[str, int] = {}
        groups = [
            sessions.setdefault(one.session_id or one.memory_id, len(sessions))
            for one in candidates
        ]
        names = {"": 0}
        speaker = [names.setdefault(find_speaker(one.opening), len(names)) for one in candidates]
        is_message = [float(one.origin == EntryType.MESSAGE) for one in candidates]
        allowed = [one.allowed for one in candidates]
        return CandidateTable(
            keys=list(self._candidates),
            lengths=columns.make([*counted.lengths, -1]),
            bodies=columns.make([*counted.bodies, -1]),
            counts={word: columns.fill(size, at) for word, at in counted.counts.items()},
            sides=sides,
            created_at=columns.make(created),
            about_at=columns.make(starts),
            messages=columns.make(is_message),
            allowed=None if all(allowed) else allowed,
            sessions=columns.index(groups),
            session_count=len(sessions),
            speakers=list(names),
            speaker=columns.index(speaker),
        )

    def compute_cosines(self, table: CandidateTable, space: Space, query: Vector) -> Column:
        """Return the cosine of the nearest piece of every text."""
        del table  # the one that was described last
        found = self._services.vectors.compute_similarities(space, query, self._texts)
        nan = float("nan")
        return self._columns.make([*(found.get(id_, nan) for id_ in self._texts), nan])

    def read(self, keys: Sequence[str], where: Filter) -> list[Candidate]:
        """Return candidates, which were read to describe them."""
        del where
        return [self._candidates[key] for key in keys]
