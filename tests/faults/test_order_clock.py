"""Fading under a clock that is wrong for a while (contract G1, G2): nothing gets stronger by it,
nothing is changed for good.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from tests.conftest import FakeClock

from .invariants import check_rebuild, check_sound, usage

DAY = timedelta(days=1)
SECTORS = ["episodic", "semantic", "procedural", "emotional", "reflective"]


def _filled(memory: Muisti, clock: FakeClock) -> None:
    """Memories of every sector and of kinds that fade by a rule of their own, some used and some
    not, over forty days.
    """
    for n, kind in enumerate(["fact", "note", "summary", "context", "decision"] * 2):
        one = memory.save(
            f"Number {n} is about subject{n}", kind=kind, sector=SECTORS[n % 5], importance=n / 10
        )
        clock.forward(days=2)
        if n % 3 == 0:
            memory.reinforce(one.id)
            memory.touch(one.id)
        if n % 3 == 1:
            memory.deemphasize(one.id, 0.3)
    clock.forward(days=20)


def salience(memory: Muisti) -> dict[str, float]:
    return {m.id: m.salience for m in memory.list(limit=None)}


def _is_no_stronger(now: dict[str, float], before: dict[str, float]) -> bool:
    return all(now[id_] <= before[id_] + 1e-12 for id_ in before)


@pytest.mark.parametrize(
    "back", [timedelta(minutes=5), timedelta(hours=1), timedelta(hours=23, minutes=59)], ids=str
)
def test_G2_a_step_back_after_fading_was_noted_makes_nothing_stronger(
    vault: Path, clock: FakeClock, back: timedelta
) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        _filled(memory, clock)
        assert memory.decay_salience() > 0
        before = salience(memory)
        clock.at -= back
        assert _is_no_stronger(salience(memory), before)
        assert memory.decay_salience() == 0
        memory.reindex()
        assert _is_no_stronger(salience(memory), before)
        clock.at += back
        assert salience(memory) == before
        check_sound(memory)
    clock.at -= back
    check_rebuild(vault, clock)


def test_G2_step_by_step_backwards(vault: Path, clock: FakeClock) -> None:
    """Noting again while the clock runs backwards does not walk the noted time back."""
    with bootstrap.open(vault, clock=clock) as memory:
        _filled(memory, clock)
        memory.decay_salience()
        before = salience(memory)
        for _ in range(20):
            clock.forward(hours=-1)
            memory.decay_salience()
            assert _is_no_stronger(salience(memory), before)


def test_G2_noted_in_the_right_year_after_it_was_noted_in_a_wrong_one(
    vault: Path, clock: FakeClock
) -> None:
    """One call under a clock that was a year ahead does not switch off what keeps fading from being
    taken back.
    """
    with bootstrap.open(vault, clock=clock) as memory:
        _filled(memory, clock)
        clock.forward(days=365)
        memory.decay_salience()
        clock.forward(days=30 - 365)
        assert memory.decay_salience() > 0, "a month went by and nothing is said to have faded"
        before = salience(memory)
        clock.forward(hours=-20)
        assert _is_no_stronger(salience(memory), before)


CALLS: dict[str, Callable[[Muisti], object]] = {
    "search": lambda memory: memory.search("Number about subject3"),
    "decay_salience": lambda memory: memory.decay_salience(),
    "upkeep": lambda memory: memory.upkeep(),
}


@pytest.mark.parametrize("ahead", [DAY * 2, DAY * 365, DAY * 36500, -DAY * 365], ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_G2_a_wrong_clock_for_one_call_leaves_no_trace(
    vault: Path, clock: FakeClock, call: str, ahead: timedelta
) -> None:
    with bootstrap.open(vault, clock=clock, settings={"record_recall": False}) as memory:
        _filled(memory, clock)
        right, before = clock.at, usage(memory)
        clock.at += ahead
        assert all(0 <= m.salience <= 1 for m in memory.list(limit=None))
        CALLS[call](memory)
        clock.at = right
        assert usage(memory) == before
        memory.reindex()
        assert usage(memory) == before


@pytest.mark.parametrize("ahead", [DAY * 365, -DAY * 365], ids=str)
def test_G2_used_under_a_wrong_clock(vault: Path, clock: FakeClock, ahead: timedelta) -> None:
    """Whatever is noted meanwhile, no strength leaves its bounds and no use lies before an earlier
    one.
    """
    with bootstrap.open(vault, clock=clock) as memory:
        _filled(memory, clock)
        before = {m.id: m for m in memory.list(limit=None)}
        clock.at += ahead
        for id_ in before:
            assert 0 <= memory.deemphasize(id_, 0.1).salience <= 1
            assert 0 <= memory.reinforce(id_).salience <= 1
            memory.touch(id_)
        clock.at -= ahead
        for one in memory.list(limit=None):
            assert 0.05 <= one.salience <= 1
            used = before[one.id].last_accessed
            assert one.last_accessed is not None
            assert used is None or one.last_accessed >= used
        check_sound(memory)
    check_rebuild(vault, clock)
