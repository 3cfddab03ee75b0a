"""The vector index. Modules that need numpy are imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from muisti.ports.unshared import UnclaimedVectors
from muisti.ports.vectors import Centre
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.vector_spaces import choose_space, read_spaces, to_json

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Embedded, Identity, Space, Vector, VectorHit
    from muisti.storage.snapshot.table import SearchTable
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.vector_indexes import Scan

MOST, NARROW = 0.9, 0.25
"""Below these shares of matching vectors, more are searched, or only the matching ones."""


class SqliteVectors(UnclaimedVectors):
    """Implements the port VectorIndex."""

    def __init__(self, database: Database, kind: str = "bits") -> None:
        self._db = database
        self._kind = kind
        database.scans_vectors = kind == "bits"
        self._loaded: Scan | None = None

    @property
    def _index(self) -> Scan:
        if self._loaded is None:
            from muisti.storage.sqlite.vector_indexes import make_scan

            self._loaded = make_scan(self._kind)
        return self._loaded

    def spaces(self) -> list[Space]:
        """Return all spaces, the serving one first."""
        with self._db.read_transaction() as db:
            return read_spaces(db)

    def prepare(self, identity: Identity, centre: Centre | None = None) -> Space:
        """Return the space of a model; create it if it does not exist."""
        sql = """UPDATE spaces SET centre = ?, centred_on = ? WHERE space = ?3
                 AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.space = ?3)"""
        with self._db.write_transaction() as db:
            number = choose_space(db, identity)
            if centre is not None:
                db.execute(sql, (*centre, number))
            return next(space for space in read_spaces(db) if space.number == number)

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors whose text is unchanged; drop the others."""
        from muisti.storage.sqlite.vector_rows import store_vectors  # numpy

        with self._db.write_transaction() as db:
            store_vectors(db, embedded)

    def get_centre(self, space: Space) -> Centre | None:
        """Return the centre of a space; None if it has none."""
        sql = "SELECT centre, centred_on FROM spaces WHERE space = ? AND centre IS NOT NULL"
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (space.number,))
        return Centre(*rows[0]) if rows else None

    def read_all(self, space: Space, limit: int) -> Iterator[list[Embedded]]:
        """Yield the vectors of all texts that have all theirs, this many texts at a time."""
        from muisti.storage.vector_codes import decode_embedded  # numpy

        sql = """SELECT m.n, m.id, m.source_hash FROM embedded e JOIN entries m USING (n)
                 WHERE e.space = ? AND m.n > ? ORDER BY m.n LIMIT ?"""
        pieces = """SELECT v.n, v.scale, v.codes, v.rest, v.first, v.last, v.heading
                    FROM json_each(?) j JOIN vectors v ON v.n = j.value
                    WHERE v.space = ? ORDER BY v.n, v.v"""
        after = 0
        while True:
            with self._db.read_transaction() as db:
                texts = fetch(db, sql, (space.number, after, limit))
                numbers = to_json([n for n, *_ in texts])
                rows = fetch(db, pieces, (numbers, space.number)) if texts else []
            if not texts:
                return
            yield decode_embedded(space.identity, texts, rows)
            after = texts[-1][0]

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Return the IDs of texts without vectors in this space."""
        # In this order of tables few rows are read: a plan of SQLite's own may sort all of them.
        sql = """SELECT m.id FROM unembedded u CROSS JOIN entries m USING (n)
                 WHERE u.space = ? ORDER BY u.n LIMIT ?"""
        with self._db.read_transaction() as db:
            return [id_ for (id_,) in fetch(db, sql, (space.number, limit))]

    def measure_missing(self, space: Space) -> int:
        """Return how many characters the texts without vectors have together."""
        sql = """SELECT coalesce(sum(length(m.content)), 0) FROM unembedded u
                 JOIN entries m USING (n) WHERE u.space = ?"""
        with self._db.read_transaction() as db:
            return int(fetch(db, sql, (space.number,))[0][0])

    def find_same(self, space: Space, ids: Sequence[str]) -> dict[str, str]:
        """Return, for memories without vectors, the ID of one with the same text that has them."""
        # `origin` lets SQLite use the index on the content's hash.
        sql = """SELECT m.id, (SELECT o.id FROM entries o JOIN embedded e ON e.n = o.n
                     WHERE o.origin = 'memory' AND o.content_hash = m.content_hash
                     AND o.source_hash = m.source_hash AND o.content = m.content AND e.space = ?2)
                 FROM json_each(?1) j JOIN entries m ON m.id = j.value
                 JOIN unembedded u ON u.n = m.n AND u.space = ?2 WHERE m.origin = 'memory'"""
        with self._db.read_transaction() as db:
            found = fetch(db, sql, (to_json(ids), space.number))
        return {id_: other for id_, other in found if other is not None}

    def copy_same(self, space: Space, same: Mapping[str, str]) -> None:
        """Copy vectors to each memory from the one that `find_same` found."""
        from muisti.storage.sqlite.vector_rows import copy_within  # numpy

        with self._db.write_transaction() as db:
            copy_within(db, space.number, same)

    def count_pieces(self, space: Space, ids: Sequence[str]) -> dict[str, int]:
        """Return how many pieces of texts are stored in this space; texts without any left out."""
        sql = """SELECT m.id, count(*) FROM json_each(?1) j JOIN entries m ON m.id = j.value
                 JOIN vectors v ON v.n = m.n AND v.space = ?2 GROUP BY m.id"""
        with self._db.read_transaction() as db:
            return dict(fetch(db, sql, (to_json(ids), space.number)))

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """Return the nearest texts that match the filter, best first."""
        from muisti.ports.vectors import check_length  # a search by keyword needs no vectors

        check_length(space, query)
        with self._db.read_transaction():
            table = self._db.snapshots.get_table() if self._kind == "bits" else None
            hits = None
            if table is not None and table.space == space.number:
                hits = self._find_in_table(table, query, where, limit)
            return self._scan(space, query, where, limit) if hits is None else hits

    def _find_in_table(
        self, table: SearchTable, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit] | None:
        """Return None if conditions that the table does not know exclude too many."""
        from muisti.ports.vectors import VectorHit
        from muisti.storage.snapshot.nearest import find_nearest  # numpy
        from muisti.storage.snapshot.scope import has_only_scope

        try:
            near = find_nearest(table, query, where, limit)
            found = near.list_texts(limit if has_only_scope(where) else None)
            numbers = table.find_numbers([one.key for one in found])
        except (IndexError, KeyError, ValueError) as error:
            self._db.snapshots.reject(error)
            return None
        condition, values = self._db.conditions(where)
        sql = f"""SELECT m.n, m.id FROM json_each(?) j JOIN entries m ON m.n = j.value
                  LEFT JOIN usage u ON u.id = m.id WHERE {condition}"""
        with self._db.read_transaction() as db:
            ids = dict(fetch(db, sql, (to_json(numbers), *values)))
        if len(ids) < min(limit, len(numbers)):
            return None
        cells = zip(numbers, found, strict=True)
        hits = [VectorHit(ids[n], *one[1:]) for n, one in cells if n in ids]
        hits.sort(key=lambda hit: (-hit.score, hit.memory_id))
        return hits[:limit]

    def _scan(self, space: Space, query: Vector, where: Filter, limit: int) -> list[VectorHit]:
        from muisti.ports.vectors import count_compared
        from muisti.storage.sqlite.cosines import find_allowed, find_hits

        condition = self._db.conditions(where)
        with self._db.read_transaction() as db:
            [(last,)] = fetch(db, "SELECT coalesce(max(v), 0) FROM vectors")
            take = count_compared(last, limit)
            numbers = self._index.find_nearest(db, self._db.path, space, query, take)
            hits, share = find_hits(db, numbers, query, condition, limit)
            allowed = None
            while len(numbers) >= take and (len(hits) < limit or share < MOST):
                # The filter excludes too many, or many vectors belong to the same texts. Search
                # more vectors; if few match the filter, only those.
                if allowed is None and share < NARROW:
                    allowed = find_allowed(db, space, condition)
                else:
                    take = int(take / max(NARROW, min(share, 0.5) if len(hits) < limit else share))
                numbers = self._index.find_nearest(db, self._db.path, space, query, take, allowed)
                hits, _ = find_hits(db, numbers, query, condition, limit)
                share = 1.0
        return hits[:limit]

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the cosine of each text's nearest piece, by ID."""
        from muisti.ports.vectors import check_length
        from muisti.storage.sqlite.cosines import compute_cosines

        check_length(space, query)
        sql = """SELECT m.id, v.scale, v.codes, v.rest FROM json_each(?) j
                 JOIN entries m ON m.id = j.value JOIN vectors v ON v.n = m.n AND v.space = ?"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (to_json(ids), space.number))
        best: dict[str, float] = {}
        for (id_, *_), score in zip(rows, compute_cosines(rows, query), strict=True):
            best[id_] = max(score, best.get(id_, -1.0))
        return best

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """Return the mean of a text's vectors, or None."""
        sql = """SELECT m.id, v.scale, v.codes, v.rest
                 FROM entries m JOIN vectors v ON v.n = m.n AND v.space = ? WHERE m.id = ?"""
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (space.number, memory_id))
        if not rows:
            return None
        from muisti.storage.sqlite.cosines import compute_mean

        return compute_mean(rows, space.identity.dimensions)
