"""How much of the suite runs: `make test`, `make test-all` or `make test-long`. See
CONTRIBUTING.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")

TIERS = ("quick", "all", "long")
TIER = os.environ.get("MUISTI_TESTS") or ("long" if os.environ.get("MUISTI_LONG") else "quick")
if TIER not in TIERS:
    raise pytest.UsageError(f"MUISTI_TESTS is {TIER!r}; it may be {', '.join(TIERS)}")
ALL = TIER != "quick"
LONG = TIER == "long"
CASES = 1
"""How many cases of a parametrised test run in `make test`."""
UNIT_CASES = 10
"""The same in `tests/unit`, where a case takes milliseconds."""
REPEATED = (
    "tests/contract/test_postgres.py::",
    "tests/contract/test_memory.py::TestMemoryIndex",
    "tests/contract/test_memory.py::TestMemoryVectors",
    "tests/contract/test_sqlite.py::TestIndexWithoutTable",
    "tests/contract/test_vectors.py::TestHnsw",
    "tests/contract/test_vectors.py::TestSqliteVec",
    "tests/postgres/",
)
"""Suites that another store passes too, and tests that wait for a database server."""
FIFTH = 5
"""Of the repeated suites every FIFTH test runs in `make test`."""
ROOM = 2 << 30
"""Bytes that must be free where the temporary folders of `make test` are."""


def spread(cases: Iterable[T], count: int) -> list[T]:
    """Return `count` of the cases, evenly spread, with the first and the last."""
    listed = list(cases)
    if count >= len(listed):
        return listed
    if count < 2:
        return listed[:count]
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


def can_hold_vaults(folder: Path) -> bool:
    """Return whether temporary folders may be there: it has room, and programs in it may run."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return False
    has_room = status.f_bavail * status.f_frsize >= ROOM
    return has_room and not status.f_flag & os.ST_NOEXEC and os.access(folder, os.W_OK)


def choose(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split collected tests into those that run in `make test` and those that do not.

    Of a parametrised test one case runs on each store; `exhaustive` leaves out the test, and
    `exhaustive(keep=N)` sets how many cases run. Unit tests take milliseconds: ten cases run.
    Suites that run on several stores run in full on SQLite and files, and in part on the others.
    """
    cases: dict[tuple[str, object], list[pytest.Item]] = {}
    for item in items:
        call = getattr(item, "callspec", None)
        store = call.params.get("location") if call else None
        function = item.nodeid.split("[")[0]
        cases.setdefault((function, store), []).append(item)
    chosen: set[pytest.Item] = set()
    for (function, _), found in cases.items():
        marker = found[0].get_closest_marker("exhaustive")
        if marker is not None:
            chosen.update(spread(found, marker.kwargs.get("keep", 0)))
        elif function.startswith("tests/unit/"):
            chosen.update(spread(found, UNIT_CASES))
        elif function.startswith(REPEATED):
            if crc32(function.encode()) % FIFTH == 0:
                chosen.update(spread(found, 1))
        else:
            chosen.update(spread(found, CASES))
    kept = [item for item in items if item in chosen]
    return kept, [item for item in items if item not in chosen]
