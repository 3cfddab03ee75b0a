"""Searches in columns: implements the port ColumnSearch. Texts are named by their row numbers.

Every method is at most one statement, which returns each column as one value: a search moves few
rows, and nothing is done in Python for each candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from muisti.model import Filter
from muisti.ports.columns import CandidateTable, FoundText, Share, UnusableColumns, call_each
from muisti.recall.speaker import find_speaker
from muisti.storage.postgres import nearest
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.nearest import Array, decode_column
from muisti.storage.postgres.rows import SAID_AT, decode_text, format_numbers
from muisti.storage.postgres.validity import SUPERSEDES

if TYPE_CHECKING:
    from muisti.ports import Candidate, Space, Term, Vector
    from muisti.storage.postgres.index import PostgresIndex

REACH = 4
"""This many neighbours before and after each hit are read: two of it, and two of those."""
MICROSECONDS = 1_000_000
ABSENT = -1
"""The number of a missing neighbour."""


class Window(NamedTuple):
    """A hit and its neighbours in its session."""

    n: int
    id: str
    session_id: str | None
    deleted: bool
    replaced: bool
    """Whether another memory may supersede it."""
    before: list[int]
    """Its neighbours, the nearest first."""
    after: list[int]


class Places:
    """Finds texts in a list of row numbers."""

    def __init__(self, numbers: Array) -> None:
        self._numbers = numbers
        self._order = np.argsort(numbers)

    def find(self, numbers: Array) -> Array:
        """Return the positions of texts; the length of the list for those that it does not have."""
        count = len(self._numbers)
        found = np.searchsorted(self._numbers, numbers, sorter=self._order).clip(max=count - 1)
        found = self._order[found]
        return np.where(self._numbers[found] == numbers, found, count)


class PostgresColumns:
    """Implements ColumnSearch for one read transaction."""

    is_array = True

    def __init__(self, index: PostgresIndex, database: Database) -> None:
        self._index = index
        self._db = database
        self._openings: dict[int, str] = {}
        self._windows: dict[int, Window] = {}
        self._near: nearest.NearestVectors | None = None
        """The last search by vectors."""
        self._texts: Array = np.zeros(0, np.int64)
        """The numbers of all texts that were described last."""

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> dict[int, float]:
        """Return texts that contain any of the terms, best bm25 first."""
        found = self._index.find_matches(terms, where, limit)
        self._openings.update((n, opening) for n, _, opening, _ in found)
        return {n: score for n, _, _, score in found}

    def match_literal(self, text: str, where: Filter, limit: int) -> list[int]:
        """Return texts that contain exactly these characters."""
        return self.find_keys(self._index.match_literal(text, where, limit))

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int, share: Share = call_each
    ) -> list[FoundText]:
        """Return the nearest texts, best first."""
        del share  # the index compares them
        search = self._near
        if search is None or search.query is not query or search.limit != limit:
            search = self._near = nearest.NearestVectors(self._db, space, query, limit)
        near = search.find().cut(limit)
        numbers = near.numbers.tolist()
        if not self._read_windows(numbers, where).issuperset(numbers):
            near = search.find_matching(where).cut(limit)
            self._read_windows(near.numbers.tolist(), where)
        found = list(map(FoundText, *(column.tolist() for column in near)))
        found.sort(key=lambda one: (-one.score, self._windows[one.key].id))
        return found[:limit]

    def list_speakers(self) -> None:
        """Return None: no model runs while a connection is held."""

    def find_speakers(self, keys: Sequence[int]) -> set[str]:
        """Return the names of those who speak in texts that were matched."""
        return {find_speaker(decode_text(self._openings.get(key, ""))) for key in keys}

    def find_chains(self, keys: Sequence[int]) -> dict[str, tuple[str, ...]]:
        """Return the successors of texts, and theirs in turn, by ID."""
        self._read_windows([key for key in keys if key not in self._windows], Filter())
        windows = (self._windows[key] for key in keys if key in self._windows)
        replaced = [window.id for window in windows if window.replaced]
        return self._index.chains(replaced) if replaced else {}

    def find_keys(self, ids: Sequence[str]) -> list[int]:
        """Return the numbers of texts; ABSENT for those that do not exist."""
        with self._db.read_transaction() as db:
            sql = "SELECT id, n FROM entries WHERE id = ANY(%s)"
            numbers = dict(fetch(db, sql, (list(ids),)))
        return [numbers.get(id_, ABSENT) for id_ in ids]

    def _read_windows(self, keys: Sequence[int], where: Filter) -> set[int]:
        """Read texts and their neighbours. Return those that match the filter."""
        if not keys:
            return set()
        condition, values = self._index.make_condition(where)
        with self._db.read_transaction() as db:
            sql = _WINDOWS.format(condition=condition)
            rows = fetch(db, sql, (*values, format_numbers(keys)), binary=True)
        self._windows.update((row[0], Window(*row[:-1])) for row in rows)
        return {row[0] for row in rows if row[-1]}

    def describe(self, keys: Sequence[int], words: Sequence[str], where: Filter) -> CandidateTable:
        """Return these texts and their neighbours in columns."""
        self._read_windows([key for key in keys if key not in self._windows], where)
        windows = [self._windows[key] for key in keys if key in self._windows]
        if any(window.deleted for window in windows):
            raise UnusableColumns("the neighbours of a deleted text do not count it")
        candidates, owner, sides = _find_sides(windows)
        others = np.setdiff1d(sides, candidates)
        self._texts = texts = np.concatenate([candidates, others[others != ABSENT]])
        count = len(texts)
        places = Places(texts)
        condition, values = self._index.make_condition(where)
        with self._db.read_transaction() as db:
            sql = _CANDIDATES.format(condition=condition)
            asked = (*values, format_numbers(candidates.tolist()))
            described = fetch(db, sql, asked, binary=True)[0]
            listed = format_numbers(texts.tolist())
            counted = fetch(db, _COUNTED, (list(words), listed, listed), binary=True)[0]
        at = places.find(decode_column(described[0], ">i8"))
        columns = np.zeros((4, len(candidates)))
        for row, (cell, dtype) in enumerate(
            zip(described[1:5], (">i8", ">i8", "?", "?"), strict=True)
        ):
            columns[row, at] = decode_column(cell, dtype)
        created_at, about_at, messages, allowed = columns
        openings = dict(zip(at.tolist(), described[5] or (), strict=True))
        found = {one: find_speaker(decode_text(one)) for one in set(openings.values())}
        names = {"": 0}
        speaker = [
            names.setdefault(found[openings[at]], len(names)) for at in range(len(candidates))
        ]
        lengths, bodies = np.full((2, count + 1), -1.0)
        at = places.find(decode_column(counted[0], ">i8"))
        lengths[at] = decode_column(counted[1], ">i4")
        bodies[at] = decode_column(counted[2], ">i4")
        counts = np.zeros((len(words), count + 1))
        rows = decode_column(counted[3], ">i4") - 1
        at = places.find(decode_column(counted[4], ">i8"))
        counts[rows, at] = decode_column(counted[5], ">f4")
        sessions: dict[str, int] = {}
        groups = [
            sessions.setdefault(windows[hit].session_id or windows[hit].id, len(sessions))
            for hit in owner.tolist()
        ]
        return CandidateTable(
            keys=candidates.tolist(),
            lengths=lengths,
            bodies=bodies,
            counts={words[row]: counts[row] for row in np.unique(rows).tolist()},
            sides=places.find(sides) if (sides != ABSENT).any() else (),
            created_at=created_at / MICROSECONDS,
            about_at=about_at / MICROSECONDS,
            messages=messages,
            allowed=None if allowed.all() else (allowed > 0).tolist(),
            sessions=np.array(groups, np.intp),
            session_count=len(sessions),
            speakers=list(names),
            speaker=np.array(speaker, np.intp),
        )

    def compute_cosines(self, table: CandidateTable, space: Space, query: Vector) -> Array:
        """Return the cosine of the nearest piece of every text."""
        del table  # the one that was described last
        with self._db.read_transaction() as db:
            cosines = nearest.compute_cosines(db, space, query, self._texts)
        return np.append(cosines, np.nan)

    def read(self, keys: Sequence[int], where: Filter) -> list[Candidate]:
        """Return the rows of candidates. Raises UnusableColumns if the filter rejects one."""
        if not keys:
            return []
        found = self._index.read_shown(keys, where)
        candidates = [found[key] for key in keys if key in found]
        if len(candidates) < len(keys) or not all(one.allowed for one in candidates):
            raise UnusableColumns("it has texts that the filter rejects")
        return candidates


def _find_sides(windows: Sequence[Window]) -> tuple[Array, Array, Array]:
    """Return candidates: the hits first, then up to two texts before and two after each.

    Also the window of each, and the numbers of its neighbours in four rows: right before, before
    that, right after, after that.
    """
    around = np.full((len(windows), 2 * REACH + 1), ABSENT, np.int64)
    for row, window in enumerate(windows):
        around[row, REACH] = window.n
        around[row, REACH - len(window.before) : REACH] = window.before[::-1]
        around[row, REACH + 1 : REACH + 1 + len(window.after)] = window.after
    steps = (0, -1, 1, -2, 2)
    numbers = np.concatenate([around[:, REACH + step] for step in steps])
    _, first = np.unique(numbers, return_index=True)
    first.sort()
    first = first[numbers[first] != ABSENT]
    owner = np.tile(np.arange(len(windows)), len(steps))
    sides = [
        np.concatenate([around[:, REACH + step + side] for step in steps])[first]
        for side in (-1, -2, 1, 2)
    ]
    return numbers[first], owner[first], np.array(sides)


_BESIDE = """ARRAY(SELECT p.n FROM entries p
    WHERE p.session_id = m.session_id AND p.origin = m.origin AND p.deleted_at IS NULL
    AND (p.created_at, p.id) {side} (m.created_at, m.id)
    ORDER BY p.created_at {order}, p.id {order} LIMIT {reach})"""
_WINDOWS = f"""
SELECT m.n, m.id, m.session_id, m.deleted_at IS NOT NULL,
    EXISTS (SELECT 1 FROM links l WHERE {SUPERSEDES}),
    {_BESIDE.format(side="<", order="DESC", reach=REACH)},
    {_BESIDE.format(side=">", order="ASC", reach=REACH)}, ({{condition}})
FROM entries m LEFT JOIN usage u ON u.id = m.id WHERE m.n = ANY(%s::bigint[])
"""
# A speaker is named before the first colon; up to three characters after it tell so.
_CANDIDATES = f"""
SELECT string_agg(int8send(m.n), ''), string_agg(int8send({SAID_AT}), ''),
    string_agg(int8send(coalesce(m.valid_from, {SAID_AT})), ''),
    string_agg(boolsend(m.origin = 'message'), ''),
    string_agg(boolsend(coalesce({{condition}}, false)), ''),
    array_agg(left(m.content, strpos(left(m.content, 80), ':') + 3))
FROM entries m LEFT JOIN usage u ON u.id = m.id WHERE m.n = ANY(%s::bigint[])
"""
_COUNTED = """
SELECT t.*, p.* FROM (
    SELECT string_agg(int4send(w.at::integer), ''), string_agg(int8send(p.n), ''),
        string_agg(float4send(p.times), '')
    FROM unnest(%s::text[]) WITH ORDINALITY w (word, at) JOIN postings p ON p.word = w.word
    WHERE p.n = ANY(%s::bigint[])
) p, (
    SELECT string_agg(int8send(w.n), ''), string_agg(int4send(w.length), ''),
        string_agg(int4send(w.body_length), '')
    FROM words w WHERE w.n = ANY(%s::bigint[])
) t
"""
