"""Several opinions about the same memories made into one. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping


def standardised(scores: Mapping[str, float], among: Collection[str], least: float = 0.0) -> dict[str, float]:
    """How many standard deviations each score is above the mean; who was not scored counts as the lowest.

    Deviations below the least are taken for that: among a few that are nearly alike, small differences say nothing.
    """
    if not scores:
        return dict.fromkeys(among, 0.0)
    lowest = min(scores.values())
    values = {id_: scores.get(id_, lowest) for id_ in among}
    mean = math.fsum(values.values()) / max(1, len(values))
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values.values()) / max(1, len(values)))
    spread = max(spread, least, 1e-9)
    return {id_: (value - mean) / spread for id_, value in values.items()}


def fused(opinions: Collection[tuple[float, Mapping[str, float], float]], among: Collection[str]) -> dict[str, float]:
    """The weighted sum of opinions, each standardised with its least deviation."""
    total = dict.fromkeys(among, 0.0)
    for weight, scores, least in opinions:
        for id_, value in standardised(scores, among, least).items():
            total[id_] += weight * value
    return total


def as_share(total: float) -> float:
    """Between 0 and 1, in the same order."""
    return 1 / (1 + math.exp(-total / 2))
