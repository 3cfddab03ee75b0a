"""Reads what a search snapshot needs: implements SnapshotSource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.filters import build_condition
from muisti.storage.postgres.rows import SAID_AT, decode_text, format_numbers
from muisti.storage.postgres.validity import COUNTS
from muisti.storage.snapshot.build import Row
from muisti.storage.snapshot.source import BATCH, ServingSpace

if TYPE_CHECKING:
    from muisti.model import Filter


class PostgresSource:
    """Implements SnapshotSource, in the transaction of the thread."""

    has_pooled_connection = True

    def __init__(self, database: Database) -> None:
        self._db = database

    def _fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._db.read_transaction() as db:
            return fetch(db, sql, values)

    def _read_batches(
        self, sql: str, numbers: Sequence[int] | None, order: str
    ) -> Iterator[list[tuple[Any, ...]]]:
        with self._db.read_transaction() as db:
            if numbers is not None:
                sql = f"{sql} WHERE m.n = ANY(%s::bigint[]) ORDER BY {order}"
                yield fetch(db, sql, (format_numbers(numbers),), binary=True)
                return
            with db.cursor("muisti_snapshot", binary=True) as cursor:
                cursor.execute(f"{sql} ORDER BY {order}".encode())
                while rows := cursor.fetchmany(BATCH):
                    yield rows

    def read_rows(self, numbers: Sequence[int] | None) -> Iterator[list[Row]]:
        """Yield texts in batches, sorted by number; None: all."""
        for rows in self._read_batches(_ROWS, numbers, "m.n"):
            yield [row._replace(opening=decode_text(row.opening)) for row in map(Row._make, rows)]

    def read_sessions(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield number, session and type of the texts in sessions, in batches."""
        order = "m.session_id, m.created_at, m.id"
        return self._read_batches(_IN_SESSIONS, None, order)

    def read_vectors(
        self, space: int, numbers: Sequence[int] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield vectors in batches, sorted by text: n, scale, codes, rest, first, last."""
        columns = "m.n, m.scale, m.codes, m.rest, m.first, m.last"
        sql = f"SELECT {columns} FROM vectors_{space:d} m"
        return self._read_batches(sql, numbers, "m.n, m.v")

    def read_space(self) -> ServingSpace:
        """Return the vector space that serves."""
        sql = """SELECT s.space, m.dimensions, s.centre FROM spaces s JOIN models m USING (space)
                 WHERE s.serving"""
        for space, dimensions, centre in self._fetch(sql, ()):
            [(count,)] = self._fetch(f"SELECT count(*) FROM vectors_{space:d}", ())
            return ServingSpace(space, dimensions, centre, count)
        return ServingSpace()

    def find_superseded(self, numbers: Sequence[int]) -> list[int]:
        """Return the texts that these supersede."""
        rows = self._fetch(_SUPERSEDED, (format_numbers(numbers),))
        return [n for (n,) in rows]

    def find_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the IDs of texts."""
        sql = "SELECT n, id FROM entries WHERE n = ANY(%s::bigint[])"
        return dict(self._fetch(sql, (format_numbers(numbers),)))

    def find_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of texts by their IDs."""
        return dict(self._fetch("SELECT id, n FROM entries WHERE id = ANY(%s)", (list(ids),)))

    def find_accepted(self, numbers: Sequence[int], where: Filter) -> list[int]:
        """Return those of these texts that match the filter."""
        with self._db.read_transaction() as db:
            condition, values = build_condition(db, where, self._db.salience)
            sql = _ACCEPTED.format(condition=condition)
            rows = fetch(db, sql, (format_numbers(numbers), *values))
        return [n for (n,) in rows]

    def read_sides(self, numbers: Sequence[int]) -> dict[int, tuple[list[int], list[int]]]:
        """Return the two texts before and the two after each of these in its session."""
        rows = self._fetch(_SIDES, (format_numbers(numbers),))
        return {n: (before, after) for n, before, after in rows}


_ROWS = f"""
SELECT m.n, m.project, m.user, m.session_id, (m.deleted_at IS NOT NULL)::integer
        + 2 * (m.tier = 'global')::integer + 4 * (m.tier = 'session')::integer
        + 8 * (m.origin = 'message')::integer + 16 * (m.origin = 'document')::integer
        + 32 * (w.n IS NULL)::integer
        + 64 * (EXISTS (SELECT 1 FROM links l WHERE l.target = m.id AND {COUNTS}))::integer,
    m.created_at, {SAID_AT}, m.valid_from, left(m.content, 80), m.id,
    coalesce(w.title, ''), coalesce(w.labels, ''), coalesce(w.body, '')
FROM entries m LEFT JOIN words w ON w.n = m.n
"""
_IN_SESSIONS = """
SELECT m.n, m.session_id, m.origin FROM entries m
WHERE m.session_id IS NOT NULL AND m.deleted_at IS NULL
"""
_SUPERSEDED = f"""
SELECT t.n FROM entries m JOIN links l ON l.source = m.id JOIN entries t ON t.id = l.target
WHERE m.n = ANY(%s::bigint[]) AND {COUNTS}
"""
_ACCEPTED = """
SELECT m.n FROM entries m LEFT JOIN usage u ON u.id = m.id
WHERE m.n = ANY(%s::bigint[]) AND {condition}
"""
_BESIDE = """ARRAY(SELECT p.n FROM entries p
    WHERE p.session_id = m.session_id AND p.origin = m.origin AND p.deleted_at IS NULL
    AND (p.created_at, p.id) {side} (m.created_at, m.id)
    ORDER BY p.created_at {order}, p.id {order} LIMIT 2)"""
_SIDES = f"""
SELECT m.n, {_BESIDE.format(side="<", order="DESC")}, {_BESIDE.format(side=">", order="ASC")}
FROM entries m WHERE m.n = ANY(%s::bigint[]) AND m.session_id IS NOT NULL
"""
