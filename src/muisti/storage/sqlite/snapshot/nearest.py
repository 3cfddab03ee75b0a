"""Finds the nearest vectors in a table: by their signs, then by their codes, then exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
BLOCK = 32_768
"""So many vectors are compared at a time."""
SAMPLE = 16
"""Of so many vectors one is counted to find out how near the nearest are."""
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


def find_nearest(
    table: SearchTable, query: Vector, where: Filter, limit: int, different: Array | None = None
) -> Near:
    """Return the nearest texts in scope, by their nearest piece.

    `different`: what `count_different` returned, if it is known.
    """
    columns = table.columns
    texts = columns["vector_text"]
    take = max(TAKE if len(texts) < MANY else TAKE_MANY, EXACT * limit)
    recent = table.recent_rows.vectors[: table.vector_count]
    chosen = np.arange(len(texts))
    if len(texts) > take:
        different = count_different(table, query) if different is None else different
        chosen = _choose_nearest(different, take)
    accepted = _accepts_vectors(table, texts[chosen].astype(np.int64), where)
    if len(texts) > take and different is not None and accepted.sum() < 0.9 * len(chosen):
        # The filter excludes many: look among those that it accepts.
        allowed = np.flatnonzero(_accepts_vectors(table, texts.astype(np.int64), where))
        chosen = allowed
        if len(allowed) > take:
            chosen = allowed[_choose_nearest(different[allowed], take)]
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


def count_different(table: SearchTable, query: Vector) -> NDArray[np.uint16]:
    """Return for each vector how many of its signs differ from those of the query."""
    columns = table.columns["vector_signs"]
    signs = compute_signs(query[None, :], table.columns["centre"])[0]
    different = np.zeros(columns.shape[1], np.uint16)
    # In blocks that stay in the processor's cache.
    unequal, bits = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8)
    for start in range(0, len(different), BLOCK):
        part = different[start : start + BLOCK]
        count = len(part)
        for column, word in zip(columns[:, start : start + BLOCK], signs, strict=True):
            np.bitwise_xor(column, word, out=unequal[:count])
            np.bitwise_count(unequal[:count], out=bits[:count])
            part += bits[:count]
    return different


def _choose_nearest(different: NDArray[np.uint16], take: int) -> Places:
    """Return at least `take` vectors that have the fewest different signs, in no order."""
    # Counting finds the cut-off: there are few distinct distances, and sorting is slow. A sample
    # shows which vectors need to be counted.
    sample = np.cumsum(np.bincount(different[::SAMPLE]))
    near = np.flatnonzero(different <= sample.searchsorted(2 * take / SAMPLE + 2))
    if len(near) < take:
        near = np.arange(len(different))
    distances = different[near]
    up_to = np.cumsum(np.bincount(distances)).searchsorted(take)
    return near[distances <= up_to][: 4 * take]  # many may have equal distances


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
