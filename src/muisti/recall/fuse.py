"""Combine the results of different searches. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

RRF_K = 60


def standardise(
    scores: Mapping[str, float],
    among: Collection[str],
    least: float = 0.0,
) -> dict[str, float]:
    """Return for each id how many standard deviations its score is above the mean.

    An id without a score counts as the lowest. Without any scores, all are 0. The deviation is at
    least `least`: differences between a few nearly equal scores mean nothing.
    """
    if not scores:
        return dict.fromkeys(among, 0.0)
    lowest = min(scores.values())
    values = [scores.get(id_, lowest) for id_ in among]
    count = max(1, len(values))
    mean = math.fsum(values) / count
    values = [value - mean for value in values]
    spread = math.sqrt(math.fsum([value * value for value in values]) / count)
    spread = max(spread, least, 1e-9)
    return {id_: value / spread for id_, value in zip(among, values, strict=True)}


def reciprocal_rank_fusion(
    *rankings: Sequence[str], k: int = RRF_K, top_k: int | None = None
) -> dict[str, float]:
    """Return the best `top_k` ids of all rankings with their scores, best first; None: all.

    The score is the sum of 1 / (k + rank) over the rankings that have the id; ranks begin with 1.
    Equal scores keep the order of the rankings.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(dict.fromkeys(ranking), start=1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (k + rank)
    best = sorted(scores, key=lambda id_: -scores[id_])[:top_k]
    return {id_: scores[id_] for id_ in best}
