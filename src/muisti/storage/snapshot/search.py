"""Searches in a table: implements the port ColumnSearch. Texts are named by their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import wraps
from itertools import compress
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from muisti.ports.columns import CandidateTable, FoundText, Share, UnusableColumns, call_each
from muisti.ports.vectors import check_length
from muisti.storage.snapshot import nearest
from muisti.storage.snapshot.build import MESSAGE, NO_WORDS
from muisti.storage.snapshot.scope import Mask, has_only_scope

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Candidate, Frequencies, Space, Term, Vector
    from muisti.storage.snapshot.source import Array, Distrust, SnapshotSource, SourceIndex
    from muisti.storage.snapshot.table import Matches, Places, Scores, SearchTable

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
            self.tables.reject(error)
            raise UnusableColumns(f"it is damaged: {error}") from error

    return run


class SnapshotSearch:
    """Implements ColumnSearch for one read transaction."""

    is_array = True

    def __init__(
        self, index: SourceIndex, source: SnapshotSource, table: SearchTable, tables: Distrust
    ) -> None:
        """`source` is in a read transaction that sees the state of the table."""
        self._index = index
        self._source = source
        self._table = table
        self.tables = tables
        self._matched: tuple[list[str], Matches] | None = None
        """The words of the last search by words, and what has them."""
        self._different: tuple[Vector, Array] | None = None
        """The query of the last search by vectors, and how it differs from each vector."""
        self._texts: Places = np.zeros(0, np.int64)
        """The places of all texts that were described last."""

    def uses(self, table: SearchTable) -> bool:
        """Return whether it searches in this table."""
        return self._table is table

    def _distrust(self, reason: str) -> UnusableColumns:
        """Return the error, and use the table no more in this transaction."""
        self.tables.distrust()
        return UnusableColumns(reason)

    def count_texts(self, words: Sequence[str]) -> Frequencies | None:
        """Return what `WordIndex.frequencies` returns; None if the snapshot does not know it."""
        return self._table.count_texts(words)

    @reject_damaged
    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> dict[int, float]:
        """Return texts that contain any of the terms, best bm25 first."""
        sought = [term for term in terms if term.sought] or terms
        if any(term.prefix for term in sought):
            found = self._index.match(terms, where, limit)
            keys = self.find_keys([one.memory_id for one in found])
            return dict(zip(keys, (one.bm25 for one in found), strict=True))
        words = [word for term in sought for word in (term.text, *term.alternatives)]
        words = list(dict.fromkeys(words))
        if self._matched is None or self._matched[0] != words:
            self._matched = words, self._table.match(words)
        matches = self._matched[1]
        places, scores = matches.choose_best(OVERSAMPLE * limit)
        accepted = self._check_filter(places, where)
        if np.count_nonzero(accepted) < limit <= len(places):  # the filter rejects many
            places, scores = matches.choose_best(None)
            accepted = self._check_filter(places, where)
        places, scores = self._sort(places[accepted], scores[accepted])
        return dict(zip(places[:limit].tolist(), scores[:limit].tolist(), strict=True))

    def _sort(self, places: Places, scores: Scores) -> tuple[Places, Scores]:
        """Sort by score, then the latest first, then by ID."""
        order = (-scores).argsort()
        ordered = scores[order]
        if np.count_nonzero(ordered[1:] == ordered[:-1]):
            latest = -self._table.take("created_at", places)
            order = np.lexsort((latest, -scores))
            ordered, times = scores[order], latest[order]
            if ((ordered[1:] == ordered[:-1]) & (times[1:] == times[:-1])).any():
                order = np.lexsort((np.array(self._find_ids(places)), latest, -scores))
        return places[order], scores[order]

    def get_numbers(self, keys: Sequence[int]) -> list[int]:
        """Return the row numbers of texts."""
        return self._table.find_numbers(keys)

    def _find_ids(self, places: Places) -> list[str]:
        """Return the IDs of texts. Raises UnusableColumns if one does not exist."""
        numbers = self._table.take("n", places).tolist()
        ids = self._source.find_ids(numbers)
        if any(n not in ids for n in numbers):
            raise self._distrust("it has texts that the index does not have")
        return [ids[n] for n in numbers]

    def _check_filter(self, places: Places, where: Filter) -> Mask:
        """Return which texts match the whole filter."""
        if has_only_scope(where):
            return self._table.is_in_scope(places, where)
        numbers = self._table.take("n", places)
        accepted = self._source.find_accepted(numbers.tolist(), where)
        return np.isin(numbers, accepted)

    def match_literal(self, text: str, where: Filter, limit: int) -> list[int]:
        """Return texts that contain exactly these characters."""
        return self.find_keys(self._index.match_literal(text, where, limit))

    @reject_damaged
    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int, share: Share = call_each
    ) -> list[FoundText]:
        """Return the nearest texts, best first."""
        check_length(space, query)
        if self._table.space != space.number:
            raise UnusableColumns("it has the vectors of another model")
        if self._different is None or self._different[0] is not query:
            self._different = query, nearest.count_different(self._table, query, share)
        near = nearest.find_nearest(self._table, query, where, limit, self._different[1], share)
        only_scope = has_only_scope(where)
        hits = near.list_texts(limit if only_scope else None)
        if not only_scope:
            places = np.array([hit.key for hit in hits], np.int64)
            accepted = self._check_filter(places, where).tolist()
            if sum(accepted) < min(limit, len(hits)):
                raise UnusableColumns("the filter accepts too few of the nearest texts")
            hits = list(compress(hits, accepted))
        if len({hit.score for hit in hits}) < len(hits):
            keys = [hit.key for hit in hits]
            ids = dict(zip(keys, self._find_ids(np.array(keys, np.int64)), strict=True))
            hits.sort(key=lambda hit: (-hit.score, ids[hit.key]))
        return hits[:limit]

    @reject_damaged
    def list_speakers(self) -> Set[str] | None:
        """Return the names of all speakers, and maybe of some more.

        None if there are too many, or if no model may run while this searches.
        """
        return None if self._source.has_pooled_connection else self._table.list_speakers()

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
        numbers = self._source.find_numbers(ids)
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
        positions = np.full(table.size + table.recent_count + 1, -1, np.int32)
        positions[-1] = 0  # of the place -1: missing neighbours are no texts
        positions[hits] = np.arange(len(hits), dtype=np.int32)
        beside = _add_places(positions, sides, len(hits))
        if len(beside):
            sides = np.concatenate([sides, self._find_sides(beside)])
        candidates = np.concatenate([hits, beside])
        count = len(candidates)
        others = _add_places(positions, sides, count)
        self._texts = texts = np.concatenate([candidates, others])
        positions[-1] = len(texts)
        flags = table.take("flags", texts)
        lengths, bodies = np.full((2, len(texts) + 1), -1.0)
        lengths[:-1] = table.take("length", texts)
        bodies[:-1] = table.take("body", texts)
        no_words = (flags & NO_WORDS).nonzero()[0]
        if len(no_words):
            lengths[no_words] = bodies[no_words] = -1.0
        accepted = self._check_filter(candidates, where)
        sessions = table.take("session", candidates)
        alone = (sessions == 0).nonzero()[0]
        sessions[alone] = np.arange(len(alone))
        order = sessions.argsort()
        ordered = sessions[order]
        is_first = np.ones(count, bool)
        np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
        starts = is_first.nonzero()[0]
        session = np.empty(count, np.intp)
        session[order] = is_first.cumsum() - 1
        speaker = table.take("speaker", candidates).tolist()
        numbers = {number: at for at, number in enumerate(dict.fromkeys(speaker))}
        at_sides = positions[sides.T].astype(np.intp)  # the last position is that of -1
        has_sides = np.count_nonzero(at_sides < len(texts)) > 0
        return CandidateTable(
            keys=candidates.tolist(),
            lengths=lengths,
            bodies=bodies,
            counts=table.count_words(texts, positions, words),
            sides=at_sides if has_sides else (),
            created_at=table.take("said_at", candidates) / MICROSECONDS,
            about_at=table.take("about_at", candidates) / MICROSECONDS,
            messages=(flags[:count] & MESSAGE > 0).astype(np.float64),
            allowed=None if np.count_nonzero(accepted) == count else accepted.tolist(),
            sessions=session,
            session_count=len(starts),
            speakers=[table.get_speaker(number) for number in numbers],
            speaker=[numbers[number] for number in speaker],
            session_groups=(order, starts),
        )

    def _find_sides(self, places: Places) -> Places:
        """Return the places of neighbours as `SearchTable.find_sides` does.

        Those of sessions that changed are read from the index.
        """
        sides, changed = self._table.find_sides(places)
        if changed is not None and changed.any():
            at = np.flatnonzero(changed)
            sides[at] = -1
            numbers = self._table.take("n", places[at]).tolist()
            read = self._source.read_sides(numbers)
            for row, n in zip(at.tolist(), numbers, strict=True):
                for first, beside in zip((0, 2), read.get(n, ((), ())), strict=True):
                    found = self._table.find_places(beside)
                    if (found < 0).any():
                        raise self._distrust("it does not have texts that the index has")
                    sides[row, first : first + len(found)] = found
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
        candidates = [found[n] for n in numbers if n in found and found[n].allowed]
        if len(candidates) < len(numbers):
            raise self._distrust("it has texts that the filter rejects")
        return candidates


def _add_places(positions: NDArray[np.int32], places: Places, count: int) -> Places:
    """Return those of these places that have no position yet, sorted, each once.

    They get the positions from `count` on. `positions` has the position of each place, or -1.
    """
    places = places.ravel()
    new = places[positions[places] < 0]
    new.sort()
    if len(new):
        is_first = np.ones(len(new), bool)
        np.not_equal(new[1:], new[:-1], out=is_first[1:])
        new = new[is_first]
        positions[new] = np.arange(count, count + len(new), dtype=np.int32)
    return new
