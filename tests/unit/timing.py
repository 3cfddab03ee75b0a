"""How the time of a function grows with its input, without saying how fast a machine is."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

GENEROUS = 3.5
"""Twice the input may take this many times as long: quadratic functions take four times, linear
ones two.
"""


def grows_linearly(
    function: Callable[[str], object], text: Callable[[int], str], size: int
) -> bool:
    """Whether twice the text takes about twice the time. A busy machine gets several chances."""
    return any(_ratio(function, text(size), text(2 * size)) <= GENEROUS for _ in range(12))


def _ratio(function: Callable[[str], object], small: str, large: str) -> float:
    return measure_cost(function, large) / max(1e-4, measure_cost(function, small))


def measure_cost(function: Callable[[str], object], text: str) -> float:
    """Return the processor time of this thread, without garbage collection."""
    gc.disable()  # a collection looks at every object of the process
    try:
        before = time.thread_time()
        function(text)
        return time.thread_time() - before
    finally:
        gc.enable()
