"""Computes exact cosines of vectors, and finds the texts that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from muisti.errors import IndexCorrupt
from muisti.ports import Space, Vector, VectorHit
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Floats, Numbers, dequantize
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from muisti.storage.sqlite.filters import Condition


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


def compute_cosines(rows: Sequence[Sequence[Any]], query: Vector) -> list[float]:
    """Return cosines for rows of (any, scale, codes, rest). Raises IndexCorrupt."""
    if not rows:
        return []
    # Rounding can push the cosine of equal vectors above 1.
    found: list[float] = np.clip(decode_vectors(rows, len(query)) @ query, -1, 1).tolist()
    return found


def decode_vectors(rows: Sequence[Sequence[Any]], dimensions: int) -> Floats:
    """Return the vectors in rows of (any, scale, codes, rest, …). Raises IndexCorrupt."""
    if not rows:
        return np.zeros((0, dimensions), np.float32)
    codes, rest = (b"".join(row[at] for row in rows) for at in (2, 3))
    if len(codes) != len(rows) * dimensions or len(rest) != len(codes):
        raise IndexCorrupt(
            "the index has vectors of the wrong length; it is rebuilt from the files"
        )
    scale = np.array([row[1] for row in rows], np.float32)
    return dequantize(
        np.frombuffer(codes, np.int8).reshape(len(rows), -1),
        np.frombuffer(rest, np.int8).reshape(len(rows), -1),
        scale,
    )


def compute_mean(rows: Sequence[Sequence[Any]], dimensions: int) -> Vector:
    """Return the mean, scaled to length 1, for rows as above. Raises IndexCorrupt."""
    total: Vector = decode_vectors(rows, dimensions).sum(axis=0)
    length = float(np.linalg.norm(total)) or 1.0
    return total / np.float32(length)
