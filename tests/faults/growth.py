"""Whether the processor time of a function grows in proportion to its input.

The size is chosen so that a run takes about `LONG_ENOUGH`; a parser that needs less for the largest
text is fast enough. The exponent is fitted over that size, its half, quarter and eighth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from tests.unit.timing import measure_cost

PROBE = 4_000
LARGEST = 64_000
LONG_ENOUGH = 0.02
MOST = 1.2
RUNS = 5
TOO_LONG = 0.5
_NUMBERS = itertools.count()


class Growth(NamedTuple):
    """Seconds by size of the text, and the exponent that fits them; 0 if the run was short."""

    seconds: dict[int, float]
    exponent: float


def measure_growth(function: Callable[[str], object], piece: str, largest: int = LARGEST) -> Growth:
    """Return how the time grows with the number of repetitions of a piece.

    If the exponent is too high, larger texts decide: a parser may do more from some size on.
    """
    probe = max(1e-6, measure_cost(function, _repeat(piece, PROBE)))
    size = int(PROBE * min(largest / PROBE, max(1.0, 1.5 * LONG_ENOUGH / probe)))
    while True:
        growth = _measure_at(function, piece, size)
        if growth.exponent <= MOST or size >= largest or growth.seconds[size] > TOO_LONG:
            return growth
        size = min(4 * size, largest)


def _measure_at(function: Callable[[str], object], piece: str, size: int) -> Growth:
    """The best of up to five runs counts. Runs are added only while the exponent is too high."""
    seconds = {size: measure_cost(function, _repeat(piece, size))}
    if seconds[size] < LONG_ENOUGH:
        return Growth(seconds, 0.0)
    seconds = {size // 8: math.inf, size // 4: math.inf, size // 2: math.inf} | seconds
    exponent = math.inf
    for run in range(RUNS):
        for smaller in seconds:
            if run or seconds[smaller] == math.inf:
                again = min(measure_cost(function, _repeat(piece, smaller)) for _ in "12")
                seconds[smaller] = min(seconds[smaller], again)
        exponent = fit_exponent(seconds)
        if exponent <= MOST:
            break
    return Growth(seconds, exponent)


def fit_exponent(seconds: dict[int, float]) -> float:
    """Return the slope of log time over log size, by least squares."""
    xs = [math.log(size) for size in seconds]
    ys = [math.log(max(value, 1e-7)) for value in seconds.values()]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum(
        (a - x) ** 2 for a in xs
    )


def _repeat(piece: str, size: int) -> str:
    """Return a text that was not measured before: parsers may cache their results."""
    return piece * max(1, size // len(piece)) + f" {next(_NUMBERS)}"
