"""Finds the nearest vectors in a table: by their signs, then by their codes, then exactly."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from muisti.ports.columns import FoundText, Share, call_each
from muisti.ports.vectors import count_compared
from muisti.storage.snapshot.build import multiply_residuals
from muisti.storage.vector_codes import FINE, compute_signs

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Vector
    from muisti.storage.snapshot.scope import Mask
    from muisti.storage.snapshot.source import Array
    from muisti.storage.snapshot.table import Places, Scores, SearchTable

BLOCK = 16_384
"""This many vectors are compared at a time."""
SAMPLE = 16
"""One in this many vectors is sampled to estimate how near the nearest are."""
SURE = 5
"""This many standard deviations more of the sample are looked at than expected."""
PART = 1000
"""The products of this many vectors are computed at a time."""
EXACT = 4
"""This many times `limit` vectors are compared exactly."""


class Near(NamedTuple):
    """The nearest pieces of texts: the texts' places, cosines, and the ends of the pieces."""

    places: Places
    cosines: Scores
    first: Array
    last: Array

    def list_texts(self, limit: int | None) -> list[FoundText]:
        """Return the first `limit` texts, and those that are as near as the last; None: all.

        Each is named by its nearest piece.
        """
        found: dict[int, FoundText] = {}
        least = 0.0
        for piece in zip(*(column.tolist() for column in self), strict=True):
            place, cosine = piece[:2]
            if place not in found:
                if limit is not None and len(found) >= limit and cosine < least:
                    break
                found[place] = FoundText._make(piece)
                least = cosine
        return list(found.values())


def find_nearest(
    table: SearchTable,
    query: Vector,
    where: Filter,
    limit: int,
    different: Array | None = None,
    share: Share = call_each,
) -> Near:
    """Return the nearest pieces of texts in scope, the nearest first; of equal ones, the first.

    `different`: what `count_different` returned, if it is known.
    """
    columns = table.columns
    texts = columns["vector_text"]
    take = count_compared(len(texts), limit)
    if len(texts) > take:
        different = count_different(table, query, share) if different is None else different
        chosen = _choose_nearest(different, take)
    else:
        chosen = np.arange(len(texts))
    accepted = _accepts_vectors(table, texts[chosen].astype(np.int64), where)
    count = np.count_nonzero(accepted)
    if len(texts) > take and different is not None and count < 0.9 * len(chosen):
        # The filter excludes many: look among those that it accepts.
        allowed = np.flatnonzero(_accepts_vectors(table, texts.astype(np.int64), where))
        chosen = allowed
        if len(allowed) > take:
            chosen = allowed[_choose_nearest(different[allowed], take)]
    elif count < len(chosen):
        chosen = chosen[accepted]
    by_codes = _multiply_codes(table, chosen, query, share)
    if len(chosen) > EXACT * limit:
        cosines = by_codes * columns["vector_scale"][chosen]
        best = cosines.argpartition(len(cosines) - EXACT * limit)[-EXACT * limit :]
        chosen, by_codes = chosen[best], by_codes[best]
    places = texts[chosen].astype(np.int64)
    exact = _compute_exact(table, chosen, query, by_codes)
    first, last = columns["vector_first"][chosen], columns["vector_last"][chosen]
    if table.vector_count:
        rows, until = table.recent_rows, table.vector_count
        own, ends, vectors = rows.vector_places[:until], rows.pieces[:until], rows.vectors[:until]
        accepted = _accepts_vectors(table, own, where)
        if np.count_nonzero(accepted) < until:
            own, ends, vectors = own[accepted], ends[accepted], vectors[accepted]
        places = np.concatenate([places, own])
        exact = np.concatenate([exact, np.clip(vectors @ query, -1, 1)])
        first = np.concatenate([first, ends[:, 0]])
        last = np.concatenate([last, ends[:, 1]])
    order = np.lexsort((first, -exact))
    return Near(places[order], exact[order], first[order], last[order])


def _accepts_vectors(table: SearchTable, places: Places, where: Filter) -> Mask:
    accepted = table.is_in_scope(places, where)
    return accepted if table.alive is None else accepted & table.alive[places]


def count_different(
    table: SearchTable, query: Vector, share: Share = call_each
) -> NDArray[np.uint16]:
    """Return for each vector how many of its signs differ from those of the query."""
    columns = table.columns["vector_signs"]
    signs = compute_signs(query[None, :], table.columns["centre"])[0][:, None]
    different = np.empty(columns.shape[1], np.uint16)

    def count_block(start: int) -> None:
        bits = np.bitwise_count(columns[:, start : start + BLOCK] ^ signs)
        np.add.reduce(bits, axis=0, dtype=np.uint16, out=different[start : start + BLOCK])

    share(count_block, range(0, len(different), BLOCK))  # which stay in the processor's cache
    return different


def _choose_nearest(different: NDArray[np.uint16], take: int) -> Places:
    """Return at least `take` vectors that have the fewest different signs, in no order."""
    # A sample shows which vectors may be among them, so that few need to be sorted.
    sample = different[::SAMPLE].copy()
    sample.sort()
    rank = take // SAMPLE
    up_to = sample[min(rank + SURE * isqrt(rank) + 2, len(sample) - 1)]
    near = (different <= up_to).nonzero()[0]
    if len(near) < take:
        near = np.arange(len(different))
    distances = different[near]
    ordered = distances.copy()
    ordered.sort()
    up_to = ordered[take - 1]
    chosen: Places = near[distances <= up_to][: 4 * take]  # many may have equal distances
    return chosen


def _multiply_codes(
    table: SearchTable, chosen: Places, query: Vector, share: Share = call_each
) -> Array:
    """Return the products of the codes of vectors and the query."""
    codes = table.columns["vector_codes"]
    products: Array = np.empty(len(chosen), np.float32)

    def multiply_part(start: int) -> None:
        part = slice(start, start + PART)
        products[part] = codes.take(chosen[part], axis=0).astype(np.float32) @ query

    # In parts: for larger ones BLAS wakes threads, which takes longer than the product.
    share(multiply_part, range(0, len(chosen), PART))
    return products


def _compute_exact(
    table: SearchTable, chosen: Places, query: Vector, by_codes: Array | None = None
) -> Scores:
    """Return the cosines of vectors. `by_codes`: the products of their codes and the query."""
    columns = table.columns
    if by_codes is None:
        by_codes = _multiply_codes(table, chosen, query)
    by_rest = multiply_residuals(columns["vector_rest"].take(chosen, axis=0), query)
    by_rest /= FINE
    by_rest += by_codes
    by_rest *= columns["vector_scale"][chosen]
    cosines: Scores = np.minimum(np.maximum(by_rest, -1, out=by_rest), 1, out=by_rest)
    return cosines


def compute_cosines(table: SearchTable, places: Places, query: Vector) -> Scores:
    """Return the cosine of each text's nearest piece; NaN for a text without vectors.

    Raises ValueError if the table is damaged.
    """
    best: Scores = np.full(len(places), np.nan)
    starts = table.columns["vector_start"]
    base = places
    if table.recent_count:
        # Recent texts have their own vectors; the last place has none.
        base = np.where(places < table.size, places, table.size)
    begin = starts[base].astype(np.int64)
    counts = starts[np.minimum(base + 1, table.size)] - begin
    having = counts.nonzero()[0]
    if len(having):
        begin, counts = begin[having], counts[having]
        ends = counts.cumsum()
        total = int(ends[-1])
        if total > len(table.columns["vector_text"]) or counts.min() < 0:
            raise ValueError("there are fewer vectors")
        ends -= counts
        chosen = begin
        if total > len(having):  # some have several pieces
            chosen = np.repeat(begin - ends, counts) + np.arange(total)
        best[having] = np.maximum.reduceat(_compute_exact(table, chosen, query), ends)
    if table.vector_count and places.max(initial=-1) >= table.size:
        rows = table.recent_rows
        own = rows.vector_places[: table.vector_count]
        at_place = {place: at for at, place in enumerate(places.tolist())}
        for row in np.isin(own, places).nonzero()[0].tolist():
            at = at_place[int(own[row])]
            best[at] = np.fmax(best[at], np.clip(rows.vectors[row] @ query, -1, 1))
    return best
