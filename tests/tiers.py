"""How much of the suite runs: `make test`, `make test-all` or `make test-long`. See CONTRIBUTING.md."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

TIERS = ("quick", "all", "long")
TIER = os.environ.get("MUISTI_TESTS") or ("long" if os.environ.get("MUISTI_LONG") else "quick")
if TIER not in TIERS:
    raise pytest.UsageError(f"MUISTI_TESTS is {TIER!r}; it may be {', '.join(TIERS)}")
ALL = TIER != "quick"
LONG = TIER == "long"


def spread(cases: Iterable[T], count: int) -> list[T]:
    """Return `count` of the cases, evenly spread, with the first and the last."""
    listed: Sequence[T] = list(cases)
    if count >= len(listed):
        return list(listed)
    if count == 1:
        return [listed[0]]
    return [listed[round(at * (len(listed) - 1) / (count - 1))] for at in range(count)]


def sample(cases: Iterable[T], count: int) -> list[T]:
    """Return all cases, or in `make test` only `count` of them."""
    return list(cases) if ALL else spread(cases, count)


def amount(quick: int, all: int, long: int | None = None) -> int:
    """Return the number for the tier that runs; `long` is `all` unless given."""
    return {"quick": quick, "all": all, "long": all if long is None else long}[TIER]


def steps(most: int) -> range:
    """Return the steps to fail at, from the first: each of them, or in `make test` every fourth."""
    return range(1, most, 1 if ALL else 4)


def choose(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split collected tests into those that run in `make test` and those marked `exhaustive`.

    `exhaustive(keep=N)` keeps N of a test's parametrised cases, evenly spread.
    """
    limits: dict[str, int] = {}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        marker = item.get_closest_marker("exhaustive")
        if marker is not None:
            function = item.nodeid.split("[")[0]
            limits[function] = marker.kwargs.get("keep", 0)
            cases.setdefault(function, []).append(item)
    left_out = {
        item
        for function, found in cases.items()
        for item in set(found) - set(spread(found, limits[function]) if limits[function] else [])
    }
    return [item for item in items if item not in left_out], list(left_out)
