"""Measuring on a noisy machine: what is compared runs in turn, in the same minute, on the same
input.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import apsw

import muisti

Item = TypeVar("Item")


@dataclass(frozen=True)
class Times:
    """Seconds that one thing took, many times."""

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

    @property
    def rate(self) -> float:
        """How many a second, by the mean: what a long run would see."""
        return len(self.seconds) / sum(self.seconds)

    def summary(self) -> dict[str, float]:
        """For JSON."""
        return {
            "p50_ms": self.p50 * 1000,
            "p95_ms": self.p95 * 1000,
            "per_second": self.rate,
            "runs": len(self.seconds),
        }


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def interleaved(
    actions: Mapping[str, Callable[[Item], object]], items: Iterable[Item]
) -> dict[str, Times]:
    """Each action on each item, one after the other; who begins changes from item to item."""
    names = list(actions)
    taken: dict[str, list[float]] = {name: [] for name in names}
    collecting = gc.isenabled()
    gc.disable()  # the memory that one side leaves behind must not be paid for by another
    try:
        for turn, item in enumerate(items):
            for place in range(len(names)):
                name = names[(turn + place) % len(names)]
                action = actions[name]
                start = time.perf_counter()
                action(item)
                taken[name].append(time.perf_counter() - start)
            if turn % 50 == 49:
                gc.collect()
    finally:
        if collecting:
            gc.enable()
    return {name: Times(tuple(values)) for name, values in taken.items()}


def best_of(runs: Sequence[float]) -> float:
    """The run that the rest of the machine disturbed least."""
    return min(runs)


@dataclass(frozen=True)
class Machine:
    """Where the figures come from."""

    processor: str
    cores: int
    load: float
    system: str
    python: str
    sqlite: str
    muisti: str
    at: str


def machine() -> dict[str, object]:
    """This machine, for the record."""
    return asdict(
        Machine(
            processor=_processor(),
            cores=os.cpu_count() or 0,
            load=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
            system=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            sqlite=apsw.sqlite_lib_version(),
            muisti=muisti.__version__,
            at=time.strftime("%Y-%m-%d %H:%M:%S%z"),
        )
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
