"""The quick tier of the suite leaves no promise untested."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import spread

ROOT = Path(__file__).parents[2]


def collected(tier: str) -> list[str]:
    """Return the ids of the tests that a tier runs."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-p",
            "no:randomly",
            "-o",
            "addopts=",
        ],
        cwd=ROOT,
        env={**os.environ, "MUISTI_TESTS": tier},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def promises(tests: list[str]) -> set[str]:
    """Return the contract ids in the names of tests, such as B6 and K2."""
    names = [test.split("[")[0].rpartition("::")[2] for test in tests]
    return {promise for name in names for promise in re.findall(r"_([A-M]\d+)(?=_)", name)}


@pytest.mark.exhaustive
def test_every_promise_and_every_acceptance_file_is_in_the_quick_tier() -> None:
    quick, everything = collected("quick"), collected("all")
    assert len(quick) < len(everything)
    assert len(promises(everything)) > 40
    assert promises(everything) - promises(quick) == set()
    files = {test.split("::")[0] for test in everything if test.startswith("tests/acceptance/")}
    assert files <= {test.split("::")[0] for test in quick}


@pytest.mark.parametrize(
    ("cases", "count", "chosen"),
    [
        (range(10), 1, [0]),
        (range(10), 2, [0, 9]),
        (range(10), 4, [0, 3, 6, 9]),
        (range(3), 5, [0, 1, 2]),
        ([], 2, []),
    ],
)
def test_a_spread_has_the_first_and_the_last(
    cases: range | list[int], count: int, chosen: list[int]
) -> None:
    assert spread(cases, count) == chosen
