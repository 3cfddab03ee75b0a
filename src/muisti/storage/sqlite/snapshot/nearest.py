"""Finds the nearest vectors in a table: by their signs, then by their codes, then exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from muisti.storage.sqlite.sign_bits import compute_signs
from muisti.storage.sqlite.snapshot.build import multiply_residuals
from muisti.storage.vector_codes import FINE

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Vector
    from muisti.storage.sqlite.snapshot.file import Array
    from muisti.storage.sqlite.snapshot.scope import Mask
    from muisti.storage.sqlite.snapshot.table import Places, Scores, SearchTable

TAKE, TAKE_MANY, MANY = 500, 1000, 250_000
"""At least TAKE vectors are compared by their codes; TAKE_MANY if there are MANY or more."""
BLOCK = 8192
"""So many signs are compared at a time."""
EXACT = 4
"""So many times `limit` vectors are compared exactly."""


class Near(NamedTuple):
    """The nearest texts: places, cosines, and the ends of their nearest pieces, best first."""

    places: Places
    cosines: Scores
    first: Array
    last: Array

    def cut(self, count: int) -> Near:
        """Return the first `count`, and those that are as near as the last of them."""
        if len(self.cosines) > count:
            count = int((self.cosines >= self.cosines[count - 1]).sum())
        return self.choose(np.arange(min(count, len(self.cosines))))

    def choose(self, order: Places) -> Near:
        """Return those at these places, in this order."""
        return Near(self.places[order], self.cosines[order], self.first[order], self.last[order])


def find_nearest(table: SearchTable, query: Vector, where: Filter, limit: int) -> Near:
    """Return the nearest texts in scope, by their nearest piece."""
    columns = table.columns
    texts = columns["vector_text"]
    take = max(TAKE if len(texts) < MANY else TAKE_MANY, EXACT * limit)
    recent = table.recent_rows.vectors[: table.vector_count]
    chosen = _scan_signs(table, query, take)
    accepted = _accepts_vectors(table, texts[chosen].astype(np.int64), where)
    if len(chosen) >= take and accepted.sum() < 0.9 * len(chosen):
        # The filter excludes many: look among those that it accepts.
        allowed = np.flatnonzero(_accepts_vectors(table, texts.astype(np.int64), where))
        chosen = _scan_signs(table, query, take, allowed)
    else:
        chosen = chosen[accepted]
    by_codes = columns["vector_codes"][chosen].astype(np.float32) @ query
    if len(chosen) > EXACT * limit:
        cosines = by_codes * columns["vector_scale"][chosen]
        best = np.argpartition(-cosines, EXACT * limit)[: EXACT * limit]
        chosen, by_codes = chosen[best], by_codes[best]
    places = texts[chosen].astype(np.int64)
    exact = _compute_exact(table, chosen, query, by_codes)
    first, last = columns["vector_first"][chosen], columns["vector_last"][chosen]
    if recent:
        own = np.array([place for place, *_ in recent], np.int64)
        accepted = _accepts_vectors(table, own, where)
        vectors = np.frombuffer(b"".join(one[3] for one in recent), np.float32)
        places = np.concatenate([places, own[accepted]])
        near = np.clip(vectors.reshape(len(recent), -1)[accepted] @ query, -1, 1)
        exact = np.concatenate([exact, near])
        first = np.concatenate([first, np.array([one[1] for one in recent])[accepted]])
        last = np.concatenate([last, np.array([one[2] for one in recent])[accepted]])
    order = np.lexsort((first, -exact))
    _, firsts = np.unique(places[order], return_index=True)  # the nearest piece of each text
    order = order[np.sort(firsts)]
    return Near(places[order], exact[order].astype(np.float64), first[order], last[order])


def _accepts_vectors(table: SearchTable, places: Places, where: Filter) -> Mask:
    accepted = table.is_in_scope(places, where)
    return accepted if table.alive is None else accepted & table.alive[places]


def _scan_signs(
    table: SearchTable, query: Vector, take: int, among: Places | None = None
) -> Places:
    """Return at least `take` vectors that share the most signs with the query, in no order."""
    columns = table.columns["vector_signs"]
    if among is not None:
        columns = columns[:, among]
    count = columns.shape[1]
    if count <= take:
        return np.arange(count) if among is None else among
    signs = compute_signs(query[None, :], table.columns["centre"])[0]
    different = np.zeros(count, np.uint16)
    for start in range(0, count, BLOCK):  # blocks stay in the processor's cache
        block = columns[:, start : start + BLOCK]
        part = different[start : start + BLOCK]
        for column, word in zip(block, signs, strict=True):
            part += np.bitwise_count(column ^ word)
    # Counting finds the cut-off: there are few distinct distances, and sorting is slow.
    up_to = int(np.searchsorted(np.cumsum(np.bincount(different)), take))
    chosen = np.flatnonzero(different <= up_to)[: 4 * take]  # many may have equal distances
    return chosen if among is None else among[chosen]


def _compute_exact(
    table: SearchTable, chosen: Places, query: Vector, by_codes: Array | None = None
) -> Scores:
    """Return the cosines of vectors. `by_codes`: the products of their codes and the query."""
    columns = table.columns
    if by_codes is None:
        by_codes = columns["vector_codes"][chosen].astype(np.float32) @ query
    by_rest = multiply_residuals(columns["vector_rest"][chosen], query)
    cosines: Scores = (by_codes + by_rest / FINE) * columns["vector_scale"][chosen]
    return np.clip(cosines, -1, 1)


def compute_cosines(table: SearchTable, places: Places, query: Vector) -> Scores:
    """Return the cosine of each text's nearest piece; NaN for a text without vectors."""
    best: Scores = np.full(len(places), -2.0)
    texts = table.columns["vector_text"]  # sorted
    base = np.flatnonzero(places < table.size)
    wanted = places[base].astype(np.uint32)
    begin = np.searchsorted(texts, wanted)
    counts = np.searchsorted(texts, wanted, "right") - begin
    owner = np.repeat(base, counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = np.repeat(begin, counts) + within
    np.maximum.at(best, owner, _compute_exact(table, chosen, query))
    if table.vector_count:
        at_place = {place: at for at, place in enumerate(places.tolist())}
        for place, _, _, data in table.recent_rows.vectors[: table.vector_count]:
            at = at_place.get(place)
            if at is not None:
                cosine = float(np.clip(np.frombuffer(data, np.float32) @ query, -1, 1))
                best[at] = max(best[at], cosine)
    best[best < -1] = np.nan
    return best
