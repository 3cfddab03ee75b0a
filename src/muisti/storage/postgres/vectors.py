"""The vector index in PostgreSQL. Modules that need numpy are imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from muisti.ports.vectors import Centre, VectorHit, check_length
from muisti.storage.postgres.claims import Claims
from muisti.storage.postgres.connect import fetch
from muisti.storage.postgres.nearest_index import NearestIndexes
from muisti.storage.postgres.vector_spaces import choose_space, read_spaces

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Embedded, Identity, Space, Vector
    from muisti.storage.postgres.connect import Connection, Database


class PostgresVectors:
    """Implements the port VectorIndex."""

    def __init__(self, database: Database, *, background: bool = False) -> None:
        """Background: whether indexes of large tenants are made; not in a single command."""
        self._db = database
        self._claims = Claims(database, "unembedded")
        if background:
            database.index_builder = self.indexes

    @cached_property
    def indexes(self) -> NearestIndexes:
        """Makes indexes for large spaces."""
        return NearestIndexes(self._db)

    def spaces(self) -> list[Space]:
        """Return all spaces, the serving one first."""
        with self._db.read_transaction() as db:
            return read_spaces(db)

    def prepare(self, identity: Identity, centre: Centre | None = None) -> Space:
        """Return the space of a model; create it if it does not exist."""
        with self._db.write_transaction() as db:
            number = choose_space(db, identity)
            if centre is not None:
                sql = f"""UPDATE spaces SET centre = %s, centred_on = %s WHERE space = %s
                          AND NOT EXISTS (SELECT 1 FROM vectors_{number:d})"""
                db.execute(sql.encode(), (*centre, number))
            return next(space for space in read_spaces(db) if space.number == number)

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors whose text is unchanged; drop the others."""
        from muisti.storage.postgres.vector_rows import store_vectors  # numpy

        complete = [one.memory_id for one in embedded if one.complete]
        with self._db.write_transaction() as db:
            store_vectors(db, embedded)
            # What was not stored, as it is not what it was, is free again.
            db.execute(
                """UPDATE unembedded SET claimed_by = '', claimed_until = now()
                   WHERE claimed_by = %s AND n IN (SELECT n FROM entries WHERE id = ANY(%s))""",
                (self._claims.owner, complete),
            )

    def get_centre(self, space: Space) -> Centre | None:
        """Return the centre of a space; None if it has none."""
        sql = "SELECT centre, centred_on FROM spaces WHERE space = %s AND centre IS NOT NULL"
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (space.number,))
        return Centre(*rows[0]) if rows else None

    def read_all(self, space: Space, limit: int) -> Iterator[list[Embedded]]:
        """Yield the vectors of all texts that have all theirs, this many texts at a time."""
        from muisti.storage.vector_codes import decode_embedded  # numpy

        sql = """SELECT m.n, m.id, m.source_hash FROM embedded e JOIN entries m USING (n)
                 WHERE e.space = %s AND m.n > %s ORDER BY m.n LIMIT %s"""
        pieces = f"""SELECT n, scale, codes, rest, first, last, heading
                     FROM vectors_{space.number:d} WHERE n = ANY(%s) ORDER BY n, v"""
        after = 0
        while True:
            with self._db.read_transaction() as db:
                texts = fetch(db, sql, (space.number, after, limit))
                rows = fetch(db, pieces, ([n for n, *_ in texts],)) if texts else []
            if not texts:
                return
            yield decode_embedded(space.identity, texts, rows)
            after = texts[-1][0]

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Return the IDs of texts without vectors in this space."""
        sql = """SELECT m.id FROM unembedded u JOIN entries m USING (n)
                 WHERE u.space = %s ORDER BY u.n LIMIT %s"""
        with self._db.read_transaction() as db:
            return [id_ for (id_,) in fetch(db, sql, (space.number, limit))]

    def claim_missing(
        self, space: Space, limit: int, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Claim texts without vectors in this space, all or some of these, and return their IDs."""
        where: str = "space = %s"
        values: list[Any] = [space.number]
        if ids is not None:
            where, values = _THESE, [space.number, list(ids)]
        columns = "t.n, (SELECT m.id FROM entries m WHERE m.n = t.n)"
        rows = self._claims.take(limit, columns, where, values)
        return [id_ for _, id_ in sorted(rows) if id_ is not None]

    def count_claimed(self, space: Space) -> int:
        """Return how many texts are being embedded, by this process or by another."""
        sql = """SELECT count(*)::integer FROM unembedded
                 WHERE space = %s AND claimed_by <> '' AND claimed_until > now()"""
        with self._db.read_transaction() as db:
            return int(fetch(db, sql, (space.number,))[0][0])

    def release(self, space: Space, ids: Sequence[str]) -> None:
        """Let any process embed these texts."""
        self._claims.give_back(_THESE, (space.number, list(ids)))

    def postpone(self, space: Space, ids: Sequence[str], error: str, pause: float) -> None:
        """Release texts that cannot be embedded, to be tried again after a pause."""
        self._claims.postpone(error, pause, _THESE, (space.number, list(ids)))

    def measure_missing(self, space: Space) -> int:
        """Return how many characters the texts without vectors have together."""
        sql = """SELECT coalesce(sum(length(m.content)), 0) FROM unembedded u
                 JOIN entries m USING (n) WHERE u.space = %s"""
        with self._db.read_transaction() as db:
            return int(fetch(db, sql, (space.number,))[0][0])

    def find_same(self, space: Space, ids: Sequence[str]) -> dict[str, str]:
        """Return, for memories without vectors, the ID of one with the same text that has them."""
        sql = """SELECT m.id, (SELECT o.id FROM entries o JOIN embedded e ON e.n = o.n
                     WHERE o.origin = 'memory' AND o.content_hash = m.content_hash
                     AND o.source_hash = m.source_hash AND o.content = m.content
                     AND e.space = u.space LIMIT 1)
                 FROM entries m JOIN unembedded u ON u.n = m.n
                 WHERE u.space = %s AND m.id = ANY(%s) AND m.origin = 'memory'"""
        with self._db.read_transaction() as db:
            found = fetch(db, sql, (space.number, list(ids)))
        return {id_: other for id_, other in found if other is not None}

    def copy_same(self, space: Space, same: Mapping[str, str]) -> None:
        """Copy vectors to each memory from the one that `find_same` found."""
        from muisti.storage.postgres.vector_rows import copy_within  # numpy

        with self._db.write_transaction() as db:
            copy_within(db, space, same)

    def count_pieces(self, space: Space, ids: Sequence[str]) -> dict[str, int]:
        """Return how many pieces of texts are stored in this space; texts without any left out."""
        with self._db.read_transaction() as db:
            if not _is_known(db, space):
                return {}
            sql = f"""SELECT m.id, count(*) FROM vectors_{space.number:d} v JOIN entries m USING (n)
                      WHERE m.id = ANY(%s) GROUP BY m.id"""
            return dict(fetch(db, sql, (list(ids),)))

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """Return the nearest texts that match the filter, best first.

        The vectors that share the most signs with the query are compared exactly.
        """
        from muisti.storage.postgres.nearest import NearestVectors  # numpy

        with self._db.read_transaction() as db:
            near = NearestVectors(self._db, space, query, limit).find_matching(where).cut(limit)
            numbers = near.numbers.tolist()
            ids = dict(fetch(db, "SELECT n, id FROM entries WHERE n = ANY(%s)", (numbers,)))
        columns = (column.tolist() for column in near[1:])
        hits = [VectorHit(ids[n], *cells) for n, *cells in zip(numbers, *columns, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))[:limit]

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the cosine of each text's nearest piece, by ID."""
        from muisti.storage.vector_codes import compute_cosines

        check_length(space, query)
        rows = self._read_codes(space, ids)
        best: dict[str, float] = {}
        for (id_, *_), score in zip(rows, compute_cosines(rows, query), strict=True):
            best[id_] = max(score, best.get(id_, -1.0))
        return best

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """Return the mean of a text's vectors, or None."""
        rows = self._read_codes(space, [memory_id])
        if not rows:
            return None
        from muisti.storage.vector_codes import compute_mean

        return compute_mean(rows, space.identity.dimensions)

    def _read_codes(self, space: Space, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return ID, scale and codes of all pieces of texts."""
        with self._db.read_transaction() as db:
            if not _is_known(db, space):
                return []
            sql = f"""SELECT m.id, v.scale, v.codes, v.rest FROM entries m
                      JOIN vectors_{space.number:d} v ON v.n = m.n WHERE m.id = ANY(%s)
                      ORDER BY v.v"""
            return fetch(db, sql, (list(ids),), binary=True)


def _is_known(db: Connection, space: Space) -> bool:
    """Return whether the tenant still has a space: another process may have replaced it."""
    return bool(fetch(db, "SELECT 1 FROM spaces WHERE space = %s", (space.number,)))


_THESE = "space = %s AND n IN (SELECT m.n FROM entries m WHERE m.id = ANY(%s))"
