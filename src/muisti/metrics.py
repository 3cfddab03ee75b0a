"""Counters and latency histograms of this process (contract I4). Thread-safe."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model import Metrics

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram buckets, in seconds; one more bucket has no bound."""
COUNTERS = (
    "memory.extraction.count",
    "memory.extraction.success",
    "memory.extraction.errors",
    "memory.extraction.refused",
    "memory.saved.count",
    "memory.retrieved.count",
)
LATENCIES = ("extraction", "save", "search")


class MetricsRecorder:
    """The counters and histograms of one open vault."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter(dict.fromkeys(COUNTERS, 0))
        self._buckets = {name: [0] * (len(BOUNDS) + 1) for name in LATENCIES}
        self._seconds = dict.fromkeys(LATENCIES, 0.0)

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += by

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Record the duration of the context, also if it raises."""
        start = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - start
            with self._lock:
                self._buckets[name][bisect_left(BOUNDS, took)] += 1
                self._seconds[name] += took

    def metrics(self) -> Metrics:
        """Return the current values."""
        from muisti.model import Histogram, Metrics  # a search only counts

        with self._lock:
            latencies = {
                name: Histogram(BOUNDS, tuple(self._buckets[name]), self._seconds[name])
                for name in LATENCIES
            }
            return Metrics(dict(self._counts), latencies)
