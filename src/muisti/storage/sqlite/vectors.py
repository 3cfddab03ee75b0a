"""The vectors of the index. What needs numpy is loaded when a vector is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from muisti.ports.vectors import check_length
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.vector_spaces import choose_space, read_spaces, to_json

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Embedded, Identity, Space, Vector, VectorHit
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.vector_indexes import Scan

MOST, NARROW = 0.9, 0.25
"""A filter that lets fewer than these shares through is taken into account, and is a narrow one."""
TAKE, TAKE_MANY, MANY = 500, 1000, 250_000
"""How many of those with the most signs in common are compared by their numbers, at least, and from how many vectors on more."""


class SqliteVectors:
    """The vectors of the index that is open."""

    def __init__(self, database: Database, kind: str = "bits") -> None:
        self._db = database
        self._kind = kind
        self._loaded: Scan | None = None

    @property
    def _scan(self) -> Scan:
        if self._loaded is None:
            from muisti.storage.sqlite.vector_indexes import make_scan

            self._loaded = make_scan(self._kind)
        return self._loaded

    def spaces(self) -> list[Space]:
        """All spaces, the serving one first."""
        with self._db.read_transaction() as db:
            return read_spaces(db)

    def prepare(self, identity: Identity) -> Space:
        """The space of a model, made if there is none."""
        with self._db.write_transaction() as db:
            number = choose_space(db, identity)
            return next(space for space in read_spaces(db) if space.number == number)

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors whose memories still have the text that they were made from."""
        from muisti.storage.sqlite.vector_rows import store_vectors  # numpy

        with self._db.write_transaction() as db:
            store_vectors(db, embedded)

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Memories that wait for their vectors."""
        sql = "SELECT id FROM unembedded u JOIN entries m USING (n) WHERE u.space = ? ORDER BY m.n LIMIT ?"
        with self._db.read_transaction() as db:
            return [id_ for (id_,) in fetch(db, sql, (space.number, limit))]

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """The nearest memories that the filter lets through."""
        from muisti.storage.sqlite.cosines import find_allowed, find_hits

        check_length(space, query)
        condition = self._db.conditions(where)
        with self._db.read_transaction() as db:
            take = max(self._take(db), 4 * limit)
            numbers = self._scan.find_nearest(db, self._db.path, space, query, take)
            hits, share = find_hits(db, numbers, query, condition, limit)
            allowed = None
            while len(numbers) >= take and (len(hits) < limit or share < MOST):
                # The filter lets few of the nearest through, or many of them are pieces of the same memories: look at more,
                # and if the filter is narrow, among those only that it lets through.
                if allowed is None and share < NARROW:
                    allowed = find_allowed(db, space, condition)
                else:
                    take = int(take / max(NARROW, min(share, 0.5) if len(hits) < limit else share))
                numbers = self._scan.find_nearest(db, self._db.path, space, query, take, allowed)
                hits, _ = find_hits(db, numbers, query, condition, limit)
                share = 1.0
        return hits[:limit]

    def _take(self, db: apsw.Connection) -> int:
        (last,) = db.execute("SELECT coalesce(max(v), 0) FROM vectors").fetchone() or (0,)
        return TAKE if last < MANY else TAKE_MANY

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """The cosine of each memory's nearest piece."""
        from muisti.storage.sqlite.cosines import compute_cosines

        check_length(space, query)
        sql = """SELECT m.id, v.scale, v.codes, v.rest FROM json_each(?) j JOIN entries m ON m.id = j.value
                 JOIN vectors v ON v.n = m.n AND v.space = ?"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (to_json(ids), space.number))
        best: dict[str, float] = {}
        for (id_, *_), score in zip(rows, compute_cosines(rows, query), strict=True):
            best[id_] = max(score, best.get(id_, -1.0))
        return best

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """The mean of a memory's pieces."""
        sql = "SELECT m.id, v.scale, v.codes, v.rest FROM entries m JOIN vectors v ON v.n = m.n AND v.space = ? WHERE m.id = ?"
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (space.number, memory_id))
        if not rows:
            return None
        from muisti.storage.sqlite.cosines import compute_mean

        return compute_mean(rows, space.identity.dimensions)
