"""Finding the nearest vectors: signs in memory, numbers from the index."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import apsw
import numpy as np

from muisti.errors import IndexCorrupt, SettingsError
from muisti.ports import Space, Vector, VectorHit
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Floats, Numbers, SignTable, as_numbers, signs
from muisti.storage.sqlite.vector_spaces import as_json

if TYPE_CHECKING:
    from muisti.storage.sqlite.filters import Condition


class Scan(Protocol):
    """Finds the vectors that are probably nearest; their numbers are compared afterwards."""

    def nearest(
        self, db: apsw.Connection, file: object, space: Space, query: Vector, take: int, among: Numbers | None = None
    ) -> Numbers:
        """The numbers of about `take` of the most similar vectors, of all or among these, in no order."""
        ...


def scan_of(kind: str) -> Scan:
    """The scan with this name. Raises SettingsError if there is none, or if its package is not installed."""
    if kind == "bits":
        return SignScan()
    if kind == "hnsw":
        from muisti.storage.sqlite.hnsw import HnswScan  # usearch, an extra

        return HnswScan()
    if kind == "sqlite-vec":
        from muisti.storage.sqlite.vec0 import VecScan  # sqlite-vec, an extra

        return VecScan()
    raise SettingsError(f"there is no vector index {kind!r}: choose bits, hnsw or sqlite-vec")


class SignScan:
    """Goes through the signs of all vectors, which it keeps in memory and brings up to date before each search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[object, ...] = ()
        self._table = SignTable(64)
        self._centre: Floats | None = None

    def nearest(
        self, db: apsw.Connection, file: object, space: Space, query: Vector, take: int, among: Numbers | None = None
    ) -> Numbers:
        """The numbers of the most similar vectors, in no order."""
        with self._lock:
            self._refresh(db, file, space)
            table, centre = self._table, self._centre
        return table.nearest(signs(query[None, :], centre)[0], take, among)

    def _refresh(self, db: apsw.Connection, file: object, space: Space) -> None:
        row = db.execute("SELECT centre, centred_on FROM spaces WHERE space = ?", (space.number,)).fetchone()
        if row is None:
            raise IndexCorrupt("the index has lost a space of vectors; it is rebuilt from the files")
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
    rows = fetch(db, "SELECT v, bits FROM signs WHERE space = ? AND v > ? ORDER BY v", (space.number, table.last))
    if rows:
        numbers = np.array([v for v, _ in rows], np.int64)
        table.add(numbers, np.frombuffer(b"".join(bits for _, bits in rows), np.uint64).reshape(len(rows), -1))


def allowed_numbers(db: apsw.Connection, space: Space, where: Condition) -> Numbers:
    """The numbers of all vectors whose memories the filter lets through."""
    sql, values = where
    rows = fetch(
        db,
        f"SELECT v.v FROM vectors v JOIN entries m USING (n) LEFT JOIN usage u ON u.id = m.id WHERE v.space = ? AND {sql}",
        (space.number, *values),
    )
    return np.array([v for (v,) in rows], np.int64)


def hits_of(db: apsw.Connection, numbers: Numbers, query: Vector, where: Condition, limit: int) -> tuple[list[VectorHit], float]:
    """The memories of these vectors that the filter lets through, each by its nearest piece, best first.

    And which share of the vectors it lets through.
    """
    sql = "SELECT v, scale, codes, rest FROM json_each(?) j JOIN vectors ON v = j.value"
    rows = fetch(db, sql, (as_json(numbers.tolist()),))
    scores = dict(zip((row[0] for row in rows), cosines(rows, query), strict=True))
    best = sorted(scores, key=lambda v: -scores[v])
    # Few of those that were compared are asked for: only these are looked at more closely, unless the filter takes too many.
    hits, share = _let_through(db, best[: 4 * limit], scores, where)
    return (hits, share) if len(hits) >= limit or len(best) <= 4 * limit else _let_through(db, best, scores, where)


def _let_through(
    db: apsw.Connection, best: Sequence[int], scores: Mapping[int, float], where: Condition
) -> tuple[list[VectorHit], float]:
    sql, values = where
    rows = fetch(
        db,
        f"SELECT v.v, m.id, v.first, v.last FROM json_each(?) j JOIN vectors v ON v.v = j.value "
        f"JOIN entries m USING (n) LEFT JOIN usage u ON u.id = m.id WHERE {sql}",
        (as_json(best), *values),
    )
    nearest: dict[str, VectorHit] = {}
    for v, id_, first, last in rows:
        if id_ not in nearest or scores[v] > nearest[id_].score:
            nearest[id_] = VectorHit(id_, scores[v], first, last)
    hits = sorted(nearest.values(), key=lambda hit: (-hit.score, hit.memory_id))
    return hits, len(rows) / max(1, len(best))


def cosines(rows: Sequence[Sequence[Any]], query: Vector) -> list[float]:
    """Cosines, from rows whose second, third and fourth cells are scale, codes and rest. Raises IndexCorrupt."""
    if not rows:
        return []
    found: list[float] = np.clip(_vectors(rows, len(query)) @ query, -1, 1).tolist()  # rounded, equal ones come out above 1
    return found


def _vectors(rows: Sequence[Sequence[Any]], dimensions: int) -> Floats:
    codes, rest = (b"".join(row[at] for row in rows) for at in (2, 3))
    if len(codes) != len(rows) * dimensions or len(rest) != len(codes):
        raise IndexCorrupt("the index has vectors of a wrong length; it is rebuilt from the files")
    scale = np.array([row[1] for row in rows], np.float32)
    return as_numbers(
        np.frombuffer(codes, np.int8).reshape(len(rows), -1), np.frombuffer(rest, np.int8).reshape(len(rows), -1), scale
    )


def mean_vector(rows: Sequence[Sequence[Any]], dimensions: int) -> Vector:
    """The mean of vectors, of length 1, from rows as above. Raises IndexCorrupt."""
    total: Vector = _vectors(rows, dimensions).sum(axis=0)
    length = float(np.linalg.norm(total)) or 1.0
    return total / np.float32(length)
