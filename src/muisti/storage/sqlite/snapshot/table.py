"""A snapshot together with the rows that changed since it was made. Searches run on it.

Each text has a place: those of the snapshot come first, then the recent ones in the order in which
they were read. A text that changed again gets a new place, and its old one is no longer alive.
A table is never changed once it is in use: `extend` returns a new one, which shares the lists of
recent rows but counts more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import apsw
import numpy as np
from numpy.typing import NDArray

from muisti.ports.search import WordCounts
from muisti.recall.matching import FIELD_WEIGHTS, K1
from muisti.storage.sqlite.cosines import decode_vectors
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.snapshot.build import (
    NO_WORDS,
    ROWS,
    Row,
    hash_word,
)
from muisti.storage.sqlite.snapshot.scope import Mask, check_scope
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.sqlite.snapshot.file import Array

B = 0.75
"""The constant of bm25 for the length of a text."""
Places = NDArray[np.int64]
Scores = NDArray[np.float64]


class RecentRows:
    """The rows that changed since the snapshot. Only ever appended to."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.counts: list[Counter[str]] = []
        """The weighted counts of the words of each row."""
        self.lengths: list[int] = []
        self.postings: dict[str, list[int]] = {}
        """The rows that have a word."""
        self.vectors: list[tuple[int, int, int, bytes]] = []
        """The row, the ends of the piece, and the vector as 32-bit floats."""


class SearchTable:
    """What searching needs, as one state of the index has it."""

    def __init__(self, columns: Mapping[str, Array], space: int | None, tokens: int) -> None:
        self.columns = columns
        self.space = space
        """The vector space that it has the vectors of."""
        self.size = len(columns["n"])
        """The number of texts in the snapshot."""
        self.recent_rows = RecentRows()
        self.recent_count = 0
        self.vector_count = 0
        self._recent_places: dict[int, int] = {}
        self.alive: Mask | None = None
        """Which places count; None: all of the snapshot, and there are no others."""
        self._texts = int((columns["flags"] & NO_WORDS == 0).sum())
        """The number of texts in the word index, for bm25."""
        self._tokens = tokens
        self._changed_sessions: frozenset[int] = frozenset()
        self._scope: dict[str, Array] | None = None

    def extend(self, db: apsw.Connection, numbers: Sequence[int]) -> SearchTable:
        """Return a table in which these rows are as the index has them now."""
        new = SearchTable.__new__(SearchTable)
        new.__dict__.update(self.__dict__)
        new._scope = None
        recent = self.recent_rows
        alive = self.alive
        if alive is None:
            alive = np.ones(self.size + self.recent_count, bool)
        wanted = to_json(numbers)
        rows = fetch(db, f"{ROWS} WHERE e.n IN (SELECT value FROM json_each(?))", (wanted,))
        alive = np.concatenate([alive, np.ones(len(rows), bool)])
        new._recent_places = places = dict(self._recent_places)
        columns = self._scope_columns()
        replaced = self.find_places(numbers)
        replaced = replaced[replaced >= 0]
        alive[replaced] = False
        new._texts -= int((columns["flags"][replaced] & NO_WORDS == 0).sum())
        new._tokens -= int(columns["length"][replaced].sum())
        sessions = {*self._changed_sessions, *columns["session"][replaced].tolist()}
        for n in numbers:
            places.pop(n, None)
        for cells in rows:
            row = Row(*cells)
            words: Counter[str] = Counter()
            length = 0
            for text, weight in zip((row.title, row.labels, row.body), FIELD_WEIGHTS, strict=True):
                split = text.split()
                length += len(split)
                for word in split:
                    words[word] += int(weight)
            at = len(recent.rows)
            recent.rows.append(row._replace(title="", labels="", body=""))
            recent.counts.append(words)
            recent.lengths.append(length)
            for word in words:
                recent.postings.setdefault(word, []).append(at)
            places[row.n] = self.size + at
            new._texts += row.flags & NO_WORDS == 0
            new._tokens += length
            sessions.add(0 if row.session_id is None else hash_word(row.session_id))
        new.alive = alive
        new._changed_sessions = frozenset(sessions - {0})
        new.recent_count = len(recent.rows)
        if self.space is not None and rows:
            new._read_vectors(db, wanted)
        return new

    def _read_vectors(self, db: apsw.Connection, wanted: str) -> None:
        sql = """SELECT n, scale, codes, rest, first, last FROM vectors
                 WHERE space = ? AND n IN (SELECT value FROM json_each(?)) ORDER BY v"""
        rows = fetch(db, sql, (self.space, wanted))
        vectors = decode_vectors(rows, len(self.columns["centre"]))
        for (n, *_, first, last), vector in zip(rows, vectors, strict=True):
            place = self._recent_places[n]
            self.recent_rows.vectors.append((place, first, last, vector.tobytes()))
        self.vector_count = len(self.recent_rows.vectors)

    def find_places(self, numbers: Sequence[int]) -> Places:
        """Return the places of rows by their numbers; -1 for those that are not here."""
        wanted = np.array(numbers, np.int64)
        base = self.columns["n"]
        found = np.searchsorted(base, wanted)
        known = found < self.size
        known[known] = base[found[known]] == wanted[known]
        places = np.where(known, found, -1)
        if self.alive is not None:
            for at, n in enumerate(numbers):
                places[at] = self._recent_places.get(n, places[at])
            places[(places >= 0) & ~self.alive[places]] = -1
        return places

    def get_numbers(self, places: Places) -> list[int]:
        """Return the row numbers of places."""
        base = self.columns["n"]
        if not self.recent_count:
            found: list[int] = base[places].tolist()
            return found
        rows = self.recent_rows.rows
        return [
            int(base[place]) if place < self.size else rows[place - self.size].n
            for place in places.tolist()
        ]

    # -- Words

    def _read_postings(self, word: str) -> tuple[Places, Scores]:
        """Return the living places of a word, and its weighted counts there."""
        columns = self.columns
        hashes = columns["word_hash"]
        wanted = np.uint64(hash_word(word))
        at = int(np.searchsorted(hashes, wanted))
        places: Places = np.zeros(0, np.int64)
        counts: Scores = np.zeros(0)
        if at < len(hashes) and hashes[at] == wanted:
            start, end = columns["word_start"][at : at + 2].tolist()
            places = columns["posting_text"][start:end].astype(np.int64)
            counts = columns["posting_count"][start:end].astype(np.float64)
        if self.alive is None:
            return places, counts
        recent = [at for at in self.recent_rows.postings.get(word, ()) if at < self.recent_count]
        if recent:
            places = np.concatenate([places, np.array(recent) + self.size])
            counts = np.concatenate([counts, [self.recent_rows.counts[at][word] for at in recent]])
        living = self.alive[places]
        if not living.all():
            places, counts = places[living], counts[living]
        return places, counts

    def _get_lengths(self, places: Places) -> Scores:
        if not self.recent_count:
            lengths: Scores = self.columns["length"][places].astype(np.float64)
            return lengths
        return self._scope_columns()["length"][places].astype(np.float64)

    def match(self, words: Iterable[str], where: Filter) -> tuple[Places, Scores]:
        """Return all texts in scope that have any of these words, with bm25, in no order.

        As FTS5 computes it: the counts of a word are weighted by field, lengths are not.
        """
        scores: Scores = np.zeros(self.size + self.recent_count)
        found: list[Places] = []
        average = self._tokens / max(1, self._texts)
        for word in words:
            places, counts = self._read_postings(word)
            if not len(places):
                continue
            idf = np.log((self._texts - len(places) + 0.5) / (len(places) + 0.5))
            length = self._get_lengths(places)
            dampening = K1 * (1 - B + B * length / average)
            found.append(places[scores[places] == 0])
            scores[places] += max(1e-6, idf) * (counts * (K1 + 1)) / (counts + dampening)
        if not found:
            return np.zeros(0, np.int64), np.zeros(0)
        places = np.concatenate(found)
        places = places[self.is_in_scope(places, where)]
        return places, scores[places]

    def choose_best(self, scores: Scores, take: int) -> Places:
        """Return where the best scores are, and all that equal the last of them, in no order."""
        if len(scores) <= take:
            return np.arange(len(scores))
        least = np.partition(scores, len(scores) - take)[len(scores) - take]
        return np.flatnonzero(scores >= least)

    def count_words(self, numbers: Sequence[int], words: Sequence[str]) -> WordCounts:
        """Return how often words occur in the texts of these rows."""
        places = self.find_places(numbers)
        if not len(places):
            return WordCounts([], {})
        flags = self._scope_columns()["flags"][places]
        is_indexed = (places >= 0) & (flags & NO_WORDS == 0)
        lengths = np.where(is_indexed, self._get_lengths(places), -1).astype(np.int64)
        order = np.argsort(places)
        ordered = places[order]
        counts: dict[str, dict[int, float]] = {}
        for word in words:
            having, times = self._read_postings(word)
            if len(having):
                at = np.searchsorted(having, ordered)
                at[at == len(having)] = 0
                same = np.flatnonzero(having[at] == ordered)
                pairs = zip(order[same].tolist(), times[at[same]].tolist(), strict=True)
                counts[word] = dict(pairs)
        return WordCounts(lengths.tolist(), counts)

    # -- Scope

    def _scope_columns(self) -> Mapping[str, Array]:
        """Return the columns of the scope with recent rows."""
        if not self.recent_count:
            return self.columns
        if self._scope is None:
            rows = self.recent_rows.rows[: self.recent_count]
            scope = {"flags": np.array([row.flags for row in rows], np.uint8)}
            for name in ("project", "user"):
                hashes = [hash_word(getattr(row, name)) for row in rows]
                scope[name] = np.array(hashes, np.uint64)
            sessions = [0 if row.session_id is None else hash_word(row.session_id) for row in rows]
            scope["session"] = np.array(sessions, np.uint64)
            scope["said_at"] = np.array([row.said_at for row in rows], np.int64)
            scope["length"] = np.array(self.recent_rows.lengths[: self.recent_count], np.uint32)
            self._scope = {
                name: np.concatenate([self.columns[name], column]) for name, column in scope.items()
            }
        return self._scope

    def is_in_scope(self, places: Places, where: Filter) -> Mask:
        """Return which texts the scope of a filter accepts; see `has_only_scope`."""
        return check_scope(self._scope_columns(), places, where)

    # -- Neighbours

    def find_sides(
        self, numbers: Sequence[int]
    ) -> tuple[dict[int, tuple[list[int], list[int]]], list[int]]:
        """Return the rows of two texts before and two after each in its session, nearest first.

        Texts without a session are left out. Also return the rows of sessions that changed since
        the snapshot: their neighbours must be read from the index.
        """
        places = self.find_places(numbers)
        found: dict[int, tuple[list[int], list[int]]] = {}
        unsure = [numbers[at] for at in np.flatnonzero(places < 0).tolist()]
        before, after = self.columns["before"], self.columns["after"]
        rows, base = self.columns["n"], np.flatnonzero((places >= 0) & (places < self.size))
        sessions = self.columns["session"][places[base]]
        base, sessions = base[sessions > 0], sessions[sessions > 0]
        if not len(base) and not self.recent_count:
            return {}, unsure
        if self._changed_sessions:
            changed = np.isin(sessions, np.array(list(self._changed_sessions), np.uint64))
            unsure += [numbers[at] for at in base[changed].tolist()]
            base = base[~changed]
        sides = []
        for steps in (before, after):
            first = steps[places[base]]
            second = np.where(first >= 0, steps[first], -1)
            sides.append([column.tolist() for column in (first, second)])
        names = rows[np.maximum(np.array(sides, np.int64).reshape(4, -1), 0)].tolist()
        for at, index in enumerate(base.tolist()):
            ends = [
                [names[2 * side + step][at] for step in (0, 1) if sides[side][step][at] >= 0]
                for side in (0, 1)
            ]
            found[numbers[index]] = (ends[0], ends[1])
        for at in np.flatnonzero(places >= self.size).tolist():
            if self.recent_rows.rows[int(places[at]) - self.size].session_id is not None:
                unsure.append(numbers[at])
        return found, unsure
