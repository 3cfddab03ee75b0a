"""Searches in a table: implements the port ColumnSearch. Texts are named by their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import numpy as np

from muisti.ports.columns import CandidateTable, FoundText, UnusableColumns
from muisti.ports.vectors import check_length
from muisti.storage.sqlite.reader import read_sides
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.snapshot import nearest
from muisti.storage.sqlite.snapshot.build import MESSAGE, NO_WORDS
from muisti.storage.sqlite.snapshot.scope import Mask, has_only_scope
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    import apsw

    from muisti.model import Filter
    from muisti.ports import Candidate, Space, Term, Vector
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.index import SqliteIndex
    from muisti.storage.sqlite.snapshot.file import Array
    from muisti.storage.sqlite.snapshot.table import Places, Scores, SearchTable

P = ParamSpec("P")
R = TypeVar("R")
OVERSAMPLE = 2
"""How many times `limit` texts are looked at before the filter is applied."""
MICROSECONDS = 1_000_000


def reject_damaged(
    method: Callable[Concatenate[SnapshotSearch, P], R],
) -> Callable[Concatenate[SnapshotSearch, P], R]:
    """Raise UnusableColumns for what a damaged array causes, and use the snapshot no more."""

    @wraps(method)
    def run(self: SnapshotSearch, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except (IndexError, KeyError, ValueError) as error:
            self.database.snapshots.reject(error)
            raise UnusableColumns(f"it is damaged: {error}") from error

    return run


class SnapshotSearch:
    """Implements ColumnSearch for one read transaction."""

    is_array = True

    def __init__(
        self, index: SqliteIndex, database: Database, db: apsw.Connection, table: SearchTable
    ) -> None:
        """`db` is in a read transaction that sees the state of the table."""
        self._index = index
        self.database = database
        self._db = db
        self._table = table
        self._different: tuple[Vector, Array] | None = None
        """The query of the last search by vectors, and how it differs from each vector."""
        self._texts: Places = np.zeros(0, np.int64)
        """The places of all texts that were described last."""

    def _distrust(self, reason: str) -> UnusableColumns:
        """Return the error, and use the table no more in this transaction."""
        self.database.snapshots.distrust()
        return UnusableColumns(reason)

    @reject_damaged
    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[FoundText]:
        """Return texts that contain any of the terms, best bm25 first."""
        sought = [term for term in terms if term.sought] or terms
        if any(term.prefix for term in sought):
            found = self._index.match(terms, where, limit)
            keys = self.find_keys([one.memory_id for one in found])
            return [FoundText(key, one.bm25) for key, one in zip(keys, found, strict=True)]
        words = [word for term in sought for word in (term.text, *term.alternatives)]
        matches = self._table.match(list(dict.fromkeys(words)))
        places, scores = matches.choose_best(OVERSAMPLE * limit)
        accepted = self._check_filter(places, where)
        if accepted.sum() < limit <= len(places):  # the filter rejects many
            places, scores = matches.choose_best(None)
            accepted = self._check_filter(places, where)
        places, scores = self._sort(places[accepted], scores[accepted])
        return list(map(FoundText, places[:limit].tolist(), scores[:limit].tolist()))

    def _sort(self, places: Places, scores: Scores) -> tuple[Places, Scores]:
        """Sort by score, then the latest first, then by ID."""
        latest = -self._table.take("created_at", places)
        order = np.lexsort((latest, -scores))
        places, scores, latest = places[order], scores[order], latest[order]
        if ((scores[1:] == scores[:-1]) & (latest[1:] == latest[:-1])).any():
            ids = np.array(self._find_ids(places))
            order = np.lexsort((ids, latest, -scores))
            places, scores = places[order], scores[order]
        return places, scores

    def get_numbers(self, keys: Sequence[int]) -> list[int]:
        """Return the row numbers of texts."""
        numbers: list[int] = self._table.take("n", np.array(keys, np.int64)).tolist()
        return numbers

    def _find_ids(self, places: Places) -> list[str]:
        """Return the IDs of texts. Raises UnusableColumns if one does not exist."""
        numbers = self._table.take("n", places).tolist()
        ids = dict(fetch(self._db, _IDS, (to_json(numbers),)))
        if any(n not in ids for n in numbers):
            raise self._distrust("it has texts that the index does not have")
        return [ids[n] for n in numbers]

    def _check_filter(self, places: Places, where: Filter) -> Mask:
        """Return which texts match the whole filter."""
        if has_only_scope(where):
            return self._table.is_in_scope(places, where)
        numbers = self._table.take("n", places)
        condition, values = self.database.conditions(where)
        sql = _ACCEPTED.format(condition=condition)
        accepted = [n for (n,) in fetch(self._db, sql, (to_json(numbers.tolist()), *values))]
        return np.isin(numbers, accepted)

    def match_literal(self, text: str, where: Filter, limit: int) -> list[FoundText]:
        """Return texts that contain exactly these characters."""
        keys = self.find_keys(self._index.match_literal(text, where, limit))
        return [FoundText(key, 0.0) for key in keys]

    @reject_damaged
    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[FoundText]:
        """Return the nearest texts, best first."""
        check_length(space, query)
        if self._table.space != space.number:
            raise UnusableColumns("it has the vectors of another model")
        if self._different is None or self._different[0] is not query:
            self._different = query, nearest.count_different(self._table, query)
        near = nearest.find_nearest(self._table, query, where, limit, self._different[1])
        if not has_only_scope(where):
            found = len(near.places)
            near = near.choose(np.flatnonzero(self._check_filter(near.places, where)))
            if len(near.places) < min(limit, found):
                raise UnusableColumns("the filter accepts too few of the nearest texts")
        near = near.cut(limit)
        if (near.cosines[1:] == near.cosines[:-1]).any():
            ids = np.array(self._find_ids(near.places))
            near = near.choose(np.lexsort((ids, -near.cosines)))
        columns = (near.places, near.cosines, near.first, near.last)
        return list(map(FoundText, *(column[:limit].tolist() for column in columns)))

    @reject_damaged
    def find_speakers(self, keys: Sequence[int]) -> set[str]:
        """Return the names of those who speak in these texts."""
        numbers = self._table.take("speaker", np.array(keys, np.int64)).tolist()
        return {self._table.get_speaker(number) for number in set(numbers)}

    @reject_damaged
    def find_chains(self, keys: Sequence[int]) -> dict[str, tuple[str, ...]]:
        """Return the successors of texts, and theirs in turn, by ID."""
        replaced = self._table.find_replaced(np.array(keys, np.int64))
        return self._index.chains(self._find_ids(replaced)) if len(replaced) else {}

    def find_keys(self, ids: Sequence[str]) -> list[int]:
        """Return the places of texts. Raises UnusableColumns if one has none."""
        numbers = dict(fetch(self._db, _NUMBERS, (to_json(ids),)))
        places: list[int] = self._table.find_places([numbers.get(id_, -1) for id_ in ids]).tolist()
        if -1 in places:
            raise self._distrust("it does not have texts that the index has")
        return places

    @reject_damaged
    def describe(self, keys: Sequence[int], words: Sequence[str], where: Filter) -> CandidateTable:
        """Return these texts and their neighbours in columns."""
        table = self._table
        hits = np.array(keys, np.int64)
        sides = self._find_sides(hits)
        beside = self._find_others(sides, hits)
        if len(beside):
            sides = np.concatenate([sides, self._find_sides(beside)], axis=1)
        candidates = np.concatenate([hits, beside])
        count = len(candidates)
        self._texts = texts = np.concatenate([candidates, self._find_others(sides, candidates)])
        positions = np.full(table.size + table.recent_count + 1, len(texts), np.int32)
        positions[texts] = np.arange(len(texts), dtype=np.int32)
        flags = table.take("flags", texts)
        is_indexed = flags & NO_WORDS == 0
        lengths, bodies = np.full((2, len(texts) + 1), -1.0)
        lengths[:-1] = np.where(is_indexed, table.take("length", texts), -1.0)
        bodies[:-1] = np.where(is_indexed, table.take("body", texts), -1.0)
        accepted = self._check_filter(candidates, where)
        sessions = table.take("session", candidates)
        alone = sessions == 0
        sessions[alone] = np.arange(alone.sum())
        session, groups = _number_values(sessions)
        speaker, numbers = _number_values(table.take("speaker", candidates))
        has_sides = bool((sides >= 0).any())
        return CandidateTable(
            keys=candidates.tolist(),
            lengths=lengths,
            bodies=bodies,
            counts=table.count_words(texts, positions, words),
            sides=list(positions[sides]) if has_sides else (),  # the last position is that of -1
            created_at=table.take("said_at", candidates) / MICROSECONDS,
            about_at=table.take("about_at", candidates) / MICROSECONDS,
            messages=(flags[:count] & MESSAGE > 0).astype(np.float64),
            allowed=None if accepted.all() else accepted.tolist(),
            sessions=session,
            session_count=len(groups),
            speakers=[table.get_speaker(number) for number in numbers.tolist()],
            speaker=speaker.tolist(),
        )

    def _find_others(self, sides: Places, known: Places) -> Places:
        """Return the places of neighbours that are not known, each once."""
        is_new = np.zeros(self._table.size + self._table.recent_count + 1, bool)
        is_new[sides] = True
        is_new[known] = False
        is_new[-1] = False  # the place -1, of missing neighbours
        return np.flatnonzero(is_new)

    def _find_sides(self, places: Places) -> Places:
        """Return the places of neighbours as `SearchTable.find_sides` does.

        Those of sessions that changed are read from the index.
        """
        sides, changed = self._table.find_sides(places)
        if changed.any():
            at = np.flatnonzero(changed)
            sides[:, at] = -1
            numbers = self._table.take("n", places[at]).tolist()
            read = read_sides(self._db, numbers)
            for row, n in zip(at.tolist(), numbers, strict=True):
                for first, beside in zip((0, 2), read.get(n, ((), ())), strict=True):
                    found = self._table.find_places(beside)
                    if (found < 0).any():
                        raise self._distrust("it does not have texts that the index has")
                    sides[first : first + len(found), row] = found
        return sides

    @reject_damaged
    def compute_cosines(self, table: CandidateTable, space: Space, query: Vector) -> Scores:
        """Return the cosine of the nearest piece of every text."""
        del table, space  # those of the last calls
        cosines = np.full(len(self._texts) + 1, np.nan)
        cosines[:-1] = nearest.compute_cosines(self._table, self._texts, query)
        return cosines

    @reject_damaged
    def read(self, keys: Sequence[int], where: Filter) -> list[Candidate]:
        """Return the rows of candidates. Raises UnusableColumns if the filter rejects one."""
        if not keys:
            return []
        numbers = self.get_numbers(keys)
        found = self._index.read_shown(numbers, where)
        candidates = [found.get(n) for n in numbers]
        if not all(one is not None and one.allowed for one in candidates):
            raise self._distrust("it has texts that the filter rejects")
        return [one for one in candidates if one is not None]


def _number_values(values: Array) -> tuple[Array, Array]:
    """Return a number for each value, equal for equal ones, and the distinct values, sorted."""
    order = np.argsort(values)
    ordered = values[order]
    is_first = np.ones(len(values), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    numbers = np.empty(len(values), np.intp)
    numbers[order] = np.cumsum(is_first) - 1
    return numbers, ordered[is_first]


_IDS = "SELECT n, id FROM entries WHERE n IN (SELECT value FROM json_each(?))"
_NUMBERS = "SELECT id, n FROM entries WHERE id IN (SELECT value FROM json_each(?))"
_ACCEPTED = """
SELECT m.n FROM json_each(?) j JOIN entries m ON m.n = j.value LEFT JOIN usage u ON u.id = m.id
WHERE {condition}
"""
