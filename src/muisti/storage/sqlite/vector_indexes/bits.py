"""The nearest vectors by their signs, which are kept in memory and scanned at each search."""

from __future__ import annotations

import threading

import apsw
import numpy as np

from muisti.errors import IndexCorrupt
from muisti.ports import Space, Vector
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Floats, Numbers, SignTable, compute_signs


class SignScan:
    """Goes through the signs of all vectors, which it keeps in memory and brings up to date before each search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[object, ...] = ()
        self._table = SignTable(64)
        self._centre: Floats | None = None

    def find_nearest(
        self,
        db: apsw.Connection,
        file: object,
        space: Space,
        query: Vector,
        take: int,
        among: Numbers | None = None,
    ) -> Numbers:
        """The numbers of the most similar vectors, in no order."""
        with self._lock:
            self._refresh(db, file, space)
            table, centre = self._table, self._centre
        return table.find_nearest(compute_signs(query[None, :], centre)[0], take, among)

    def _refresh(self, db: apsw.Connection, file: object, space: Space) -> None:
        row = db.execute(
            "SELECT centre, centred_on FROM spaces WHERE space = ?", (space.number,)
        ).fetchone()
        if row is None:
            raise IndexCorrupt(
                "the index has lost a space of vectors; it is rebuilt from the files"
            )
        key = (file, space.number, space.identity, row[1])
        if key != self._key:
            self._table = SignTable(space.identity.dimensions)
            self._centre = None if row[0] is None else np.frombuffer(row[0], np.float32)
            self._key = key
        _read_new(db, space, self._table)


def _read_new(db: apsw.Connection, space: Space, table: SignTable) -> None:
    """Add the vectors that came since: of blocks first, they are the older."""
    sql = "SELECT numbers, bits FROM sign_blocks WHERE space = ? AND last_v > ? ORDER BY first_v"
    for numbers, bits in fetch(db, sql, (space.number, table.last)):
        known = np.frombuffer(numbers, np.int64)
        new = known > table.last
        table.add(known[new], np.frombuffer(bits, np.uint64).reshape(-1, len(known)).T[new])
    rows = fetch(
        db,
        "SELECT v, bits FROM signs WHERE space = ? AND v > ? ORDER BY v",
        (space.number, table.last),
    )
    if rows:
        numbers = np.array([v for v, _ in rows], np.int64)
        table.add(
            numbers,
            np.frombuffer(b"".join(bits for _, bits in rows), np.uint64).reshape(len(rows), -1),
        )


SPEC = SignScan
