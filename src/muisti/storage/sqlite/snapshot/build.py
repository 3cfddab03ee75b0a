"""Builds a snapshot from one state of the SQLite index, and reads what it needs of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from muisti.storage.snapshot.build import Row, Stopped, hash_word, write_snapshot
from muisti.storage.snapshot.source import BATCH, ServingSpace, Shapes, Values
from muisti.storage.sqlite.reader import Sides, read_sides
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.snapshot.file import SnapshotWriter
from muisti.storage.sqlite.validity import COUNTS
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.storage.sqlite.connect import Database

__all__ = ["SqliteSource", "Stopped", "build_snapshot", "hash_word"]

ROWS = f"""
SELECT e.n, e.project, e.user, e.session_id,
    (e.deleted_at IS NOT NULL) + 2 * (e.tier = 'global') + 4 * (e.tier = 'session')
        + 8 * (e.origin = 'message') + 16 * (e.origin = 'document') + 32 * (w.n IS NULL)
        + 64 * EXISTS (SELECT 1 FROM links l WHERE l.target = e.id AND {COUNTS}),
    e.created_at, iif(e.origin = 'message', e.updated_at, e.created_at), e.valid_from,
    substr(e.content, 1, 80), e.id,
    coalesce(w.title, ''), coalesce(w.labels, ''), coalesce(w.body, '')
FROM entries e LEFT JOIN words w USING (n)
"""
"""What a snapshot has of each text, as `Row` names it."""
_IN_SESSIONS = """
SELECT n, session_id, origin FROM entries WHERE session_id IS NOT NULL AND deleted_at IS NULL
ORDER BY session_id, created_at, id
"""
_THESE = "IN (SELECT value FROM json_each(?))"
_VECTORS = "SELECT n, scale, codes, rest, first, last FROM vectors WHERE space = ?"
_IDS = f"SELECT n, id FROM entries WHERE n {_THESE}"
_NUMBERS = f"SELECT id, n FROM entries WHERE id {_THESE}"
_ACCEPTED = """
SELECT m.n FROM json_each(?) j JOIN entries m ON m.n = j.value LEFT JOIN usage u ON u.id = m.id
WHERE {condition}
"""
_SUPERSEDED = f"""
SELECT t.n FROM json_each(?) j CROSS JOIN entries s ON s.n = j.value
CROSS JOIN links l ON l.source = s.id CROSS JOIN entries t ON t.id = l.target WHERE {COUNTS}
"""


class SqliteSource:
    """Implements SnapshotSource. Its connection is in a read transaction."""

    has_pooled_connection = False

    def __init__(self, db: apsw.Connection, database: Database | None = None) -> None:
        """Without a database, no filter can be checked."""
        self._db = db
        self._database = database

    def _read_batches(self, sql: str, values: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self._db.execute(sql, values)
        while rows := list(islice(cursor, BATCH)):
            yield rows

    def read_rows(self, numbers: Sequence[int] | None) -> Iterator[list[Row]]:
        """Yield texts in batches, sorted by number; None: all."""
        sql = f"{ROWS} WHERE e.n {_THESE}" if numbers is not None else f"{ROWS} ORDER BY e.n"
        values = (to_json(numbers),) if numbers is not None else ()
        for rows in self._read_batches(sql, values):
            yield [Row(*row) for row in rows]

    def read_sessions(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield number, session and type of the texts in sessions, in batches."""
        return self._read_batches(_IN_SESSIONS, ())

    def read_vectors(
        self, space: int, numbers: Sequence[int] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield vectors in batches, sorted by text: n, scale, codes, rest, first, last."""
        if numbers is None:
            return self._read_batches(f"{_VECTORS} ORDER BY n, v", (space,))
        sql = f"{_VECTORS} AND n {_THESE} ORDER BY v"
        return self._read_batches(sql, (space, to_json(numbers)))

    def read_space(self) -> ServingSpace:
        """Return the vector space that serves."""
        sql = """SELECT space, dimensions, centre,
                     (SELECT count(*) FROM vectors v WHERE v.space = s.space)
                 FROM spaces s WHERE serving"""
        return ServingSpace(*(self._db.execute(sql).fetchone() or ()))

    def find_superseded(self, numbers: Sequence[int]) -> list[int]:
        """Return the texts that these supersede."""
        return [n for (n,) in fetch(self._db, _SUPERSEDED, (to_json(numbers),))]

    def find_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the IDs of texts."""
        return dict(fetch(self._db, _IDS, (to_json(numbers),)))

    def find_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of texts by their IDs."""
        return dict(fetch(self._db, _NUMBERS, (to_json(ids),)))

    def find_accepted(self, numbers: Sequence[int], where: Filter) -> list[int]:
        """Return those of these texts that match the filter."""
        assert self._database is not None
        condition, values = self._database.conditions(where)
        sql = _ACCEPTED.format(condition=condition)
        return [n for (n,) in fetch(self._db, sql, (to_json(numbers), *values))]

    def read_sides(self, numbers: Sequence[int]) -> Sides:
        """Return the two texts before and the two after each of these in its session."""
        return read_sides(self._db, numbers)


def build_snapshot(
    db: apsw.Connection, path: Path, index: str, is_stopped: Callable[[], bool] = lambda: False
) -> int:
    """Write a snapshot of what a read transaction sees. Return the last change that it contains.

    Raises OSError, Stopped.
    """
    [(seq,)] = fetch(db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changed'")

    def make_writer(shapes: Shapes, values: Values) -> SnapshotWriter:
        return SnapshotWriter(path, shapes, index, values)

    write_snapshot(SqliteSource(db), make_writer, is_stopped)
    return int(seq)
