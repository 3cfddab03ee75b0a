"""Combine the results of different searches. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from muisti.recall.columns import ListColumns, Numbers

T = TypeVar("T", bound=Hashable)
RRF_K = 60


def standardise(
    column: Numbers,
    columns: ListColumns,
    among: Sequence[int] | None = None,
    least: float = 0.0,
    least_share: float = 0.0,
) -> Numbers | float:
    """Return how many standard deviations each number is above the mean of those at `among`.

    NaN counts as the lowest number; if all are NaN, all are 0. The deviation is at least `least`,
    and at least this share of the largest number: differences between a few nearly equal scores
    mean nothing.
    """
    filled = columns.fill_unknown(column)
    if filled is None:
        return 0.0
    values, largest = filled
    chosen = values if among is None else values[columns.index(among)]
    count = max(1, len(chosen))
    mean = chosen.sum() / count
    chosen = chosen - mean
    spread = math.sqrt(chosen.dot(chosen) / count)
    values = chosen if among is None else values - mean
    return values / max(spread, least, least_share * largest, 1e-9)


def reciprocal_rank_fusion(
    *rankings: Iterable[T], k: int = RRF_K, top_k: int | None = None
) -> dict[T, float]:
    """Return the best `top_k` ids of all rankings with their scores, best first; None: all.

    The score is the sum of 1 / (k + rank) over the rankings that have the id; ranks begin with 1.
    Equal scores keep the order of the rankings.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(dict.fromkeys(ranking), start=1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (k + rank)
    best = sorted(scores, key=lambda id_: -scores[id_])[:top_k]
    return {id_: scores[id_] for id_ in best}
