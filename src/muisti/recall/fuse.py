"""Make scores of different measures comparable. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping


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
    values = {id_: scores.get(id_, lowest) for id_ in among}
    count = max(1, len(values))
    mean = math.fsum(values.values()) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values.values()) / count)
    spread = max(spread, least, 1e-9)
    return {id_: (value - mean) / spread for id_, value in values.items()}
