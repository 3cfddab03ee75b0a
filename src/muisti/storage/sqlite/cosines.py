"""Computes exact cosines of vectors, and finds the texts that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import apsw
import numpy as np

from muisti.ports import Space, Vector, VectorHit
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Numbers
from muisti.storage.sqlite.vector_spaces import to_json
from muisti.storage.vector_codes import compute_cosines, compute_mean, decode_vectors

if TYPE_CHECKING:
    from muisti.storage.sqlite.filters import Condition

__all__ = ["compute_cosines", "compute_mean", "decode_vectors", "find_allowed", "find_hits"]


def find_allowed(db: apsw.Connection, space: Space, where: Condition) -> Numbers:
    """Return the numbers of all vectors whose texts match the filter."""
    sql, values = where
    rows = fetch(
        db,
        "SELECT v.v FROM vectors v JOIN entries m USING (n) LEFT JOIN usage u ON u.id = m.id "
        f"WHERE v.space = ? AND {sql}",
        (space.number, *values),
    )
    return np.array([v for (v,) in rows], np.int64)


def find_hits(
    db: apsw.Connection, numbers: Numbers, query: Vector, where: Condition, limit: int
) -> tuple[list[VectorHit], float]:
    """Return the texts of these vectors that match the filter, best first, by nearest piece.

    Also return the share of the vectors that match.
    """
    sql = "SELECT v, scale, codes, rest FROM json_each(?) j JOIN vectors ON v = j.value"
    rows = fetch(db, sql, (to_json(numbers.tolist()),))
    scores = dict(zip((row[0] for row in rows), compute_cosines(rows, query), strict=True))
    best = sorted(scores, key=lambda v: -scores[v])
    # The best few are usually enough; if the filter excludes too many, all are checked.
    enough = 4 * limit
    while enough < len(best) and scores[best[enough]] == scores[best[enough - 1]]:
        enough += 1  # those that are equally near are told apart by ID
    hits, share = _filter_hits(db, best[:enough], scores, where)
    if len(hits) < limit and len(best) > enough:
        return _filter_hits(db, best, scores, where)
    return hits, share


def _filter_hits(
    db: apsw.Connection, best: Sequence[int], scores: Mapping[int, float], where: Condition
) -> tuple[list[VectorHit], float]:
    sql, values = where
    rows = fetch(
        db,
        f"SELECT v.v, m.id, v.first, v.last FROM json_each(?) j JOIN vectors v ON v.v = j.value "
        f"JOIN entries m USING (n) LEFT JOIN usage u ON u.id = m.id WHERE {sql}",
        (to_json(best), *values),
    )
    nearest: dict[str, VectorHit] = {}
    for v, id_, first, last in rows:
        hit = VectorHit(id_, scores[v], first, last)
        known = nearest.get(id_)
        if known is None or (-hit.score, hit.start) < (-known.score, known.start):
            nearest[id_] = hit
    hits = sorted(nearest.values(), key=lambda hit: (-hit.score, hit.memory_id))
    return hits, len(rows) / max(1, len(best))
