"""Finds the nearest vectors by scanning the signs of all vectors in memory. The default."""

from __future__ import annotations

import threading

import apsw
import numpy as np

from muisti.errors import IndexCorrupt
from muisti.ports import Space, Vector
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Floats, Numbers, SignTable, compute_signs


class SignScan:
    """Scans the signs of all vectors. Reads new ones from the index before each search."""

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
        """Return the numbers of the nearest vectors, in no order."""
        with self._lock:
            self._refresh(db, file, space)
            table, centre = self._table, self._centre
        return table.find_nearest(compute_signs(query[None, :], centre)[0], take, among)

    def _refresh(self, db: apsw.Connection, file: object, space: Space) -> None:
        """Add new vectors to the table; start a new one if the file, model or centre changed."""
        row = db.execute(
            "SELECT centre, centred_on FROM spaces WHERE space = ?", (space.number,)
        ).fetchone()
        if row is None:
            raise IndexCorrupt(
                "a vector space is missing in the index; it is rebuilt from the files"
            )
        key = (file, space.number, space.identity, row[1])
        if key != self._key:
            self._table = SignTable(space.identity.dimensions)
            self._centre = None if row[0] is None else np.frombuffer(row[0], np.float32)
            self._key = key
        table = self._table
        # Blocks first: they hold the older vectors.
        sql = """SELECT numbers, bits FROM sign_blocks WHERE space = ? AND last_v > ?
                 ORDER BY first_v"""
        for block, bits in fetch(db, sql, (space.number, table.last)):
            numbers = np.frombuffer(block, np.int64)
            new = numbers > table.last
            table.add(numbers[new], np.frombuffer(bits, np.uint64).reshape(-1, len(numbers)).T[new])
        sql = "SELECT v, bits FROM signs WHERE space = ? AND v > ? ORDER BY v"
        rows = fetch(db, sql, (space.number, table.last))
        if rows:
            numbers = np.array([v for v, _ in rows], np.int64)
            words = np.frombuffer(b"".join(bits for _, bits in rows), np.uint64)
            table.add(numbers, words.reshape(len(rows), -1))


SPEC = SignScan
