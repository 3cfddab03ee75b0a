"""kill -9 at every step of every operation: nothing acknowledged is lost, nothing is half, the next
open heals.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from muisti import bootstrap
from muisti.ports import Clock
from tests.tiers import steps

from .crash import ACKNOWLEDGED, killed_at
from .invariants import (
    bodies,
    check_files_whole,
    check_found,
    check_rebuild,
    check_sound,
    leaks,
    state,
)
from .scenarios import CANARY, ORDERING, REINFORCE, SCENARIOS, TARGET, Prepared, Scenario, prepared

MOST_STEPS = 300


@pytest.mark.parametrize("scenario", [*SCENARIOS, *ORDERING], ids=str)
def test_K2_B4_kill_at_every_step(scenario: Scenario, tmp_path: Path, clock: Clock) -> None:
    ready = prepared(scenario, tmp_path, clock)
    for k in steps(MOST_STEPS):
        vault = ready.copy(tmp_path / "killed")
        answer = killed_at(k, vault, clock, scenario.act)
        try:
            _check(vault, ready, answer)
        except Exception as error:
            error.add_note(f"{scenario} was killed at step {k}")
            raise
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            assert k > 3, "the failpoints were not reached"
            return
    pytest.fail(f"{scenario} did not end within {MOST_STEPS} steps")


def _check(vault: Path, ready: Prepared, answer: str) -> None:
    acknowledged = answer == ACKNOWLEDGED
    check_files_whole(vault)
    with bootstrap.open(vault, clock=ready.clock) as memory:
        assert ready.allows(state(memory), acknowledged=acknowledged)
        check_sound(memory)
        check_found(memory)
    check_rebuild(vault, ready.clock)
    with bootstrap.open(vault, clock=ready.clock) as memory:
        if not acknowledged:
            ready.scenario.act(memory)
        assert ready.done(state(memory)), "a repetition must end where one call ends"
        check_sound(memory)
    assert ready.texts <= bodies(vault), "a text was lost"
    assert ready.scenario.name != "hard_delete" or not leaks(vault, [CANARY])


def test_K2_use_is_counted_once_or_twice_after_a_kill(tmp_path: Path, clock: Clock) -> None:
    """To reinforce is to add: what was not acknowledged may count, but no more than it was asked
    for.
    """
    ready = prepared(REINFORCE, tmp_path, clock)
    for k in steps(MOST_STEPS):
        vault = ready.copy(tmp_path / "killed")
        answer = killed_at(k, vault, clock, REINFORCE.act)
        with bootstrap.open(vault, clock=clock) as memory:
            strength = {m.content: m.salience for m in memory.list()}[TARGET]
            assert strength == pytest.approx(0.9) or (strength == 1.0 and answer != ACKNOWLEDGED)
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            return
