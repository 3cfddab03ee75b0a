"""A full, broken or forbidden disk: a clear error, the old state intact, reads go on, and then it
works again.
"""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from muisti import Muisti, SyncReport, bootstrap
from muisti.errors import MuistiError, VaultError, VaultFull, VaultReadOnly
from muisti.ports import Clock
from tests.tiers import steps

from .invariants import (
    bodies,
    check_files_whole,
    check_found,
    check_rebuild,
    check_sound,
    leaks,
    state,
)
from .scenarios import CANARY, ORDERING, SCENARIOS, Prepared, Scenario, prepared
from .starve import FailingDisk, ShortDisk

MOST_STEPS = 200
ERRORS = {errno.ENOSPC: VaultFull, errno.EIO: VaultError, errno.EACCES: VaultReadOnly}
FAULTS = [(code, forever) for code in ERRORS for forever in (False, True)]


@pytest.mark.parametrize(
    ("code", "forever"),
    FAULTS,
    ids=lambda v: errno.errorcode[v] if v > 1 else ("once", "forever")[v],
)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_K2_error_at_every_step(
    scenario: Scenario, code: int, forever: bool, tmp_path: Path, clock: Clock
) -> None:
    ready = prepared(scenario, tmp_path, clock)
    assert _walk(ready, FailingDisk(code, forever=forever), ERRORS[code]) > (
        -1 if scenario.name == "reindex" else 2
    )


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("code", "forever"),
    [(errno.EIO, False), (errno.ENOSPC, True)],
    ids=["EIO-once", "ENOSPC-forever"],
)
@pytest.mark.parametrize(
    "scenario", [one for one in ORDERING if one.name != "merge_batch"], ids=str
)
def test_K2_error_at_every_step_of_upkeep(
    scenario: Scenario, code: int, forever: bool, tmp_path: Path, clock: Clock
) -> None:
    ready = prepared(scenario, tmp_path, clock)
    assert _walk(ready, FailingDisk(code, forever=forever), ERRORS[code]) > 2


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_K2_short_write(scenario: Scenario, forever: bool, tmp_path: Path, clock: Clock) -> None:
    ready = prepared(scenario, tmp_path, clock)
    assert _walk(ready, ShortDisk(errno.ENOSPC, forever=forever), VaultFull) >= (
        0 if scenario.name == "reindex" else 1
    )


def _walk(ready: Prepared, disk: FailingDisk, expected: type[MuistiError]) -> int:
    """Let each step fail in turn; answers how many there are."""
    for k in steps(MOST_STEPS):
        vault = ready.copy(ready.template.parent / "starved")
        try:
            with bootstrap.open(
                vault, clock=ready.clock, disk=disk, settings={"sync_on_open": False}
            ) as memory:
                disk.arm(k)
                _starve(memory, ready, disk, expected)
            check_rebuild(vault, ready.clock)
        except Exception as error:
            error.add_note(f"{ready.scenario} was to fail at step {k}")
            raise
        assert ready.scenario.name != "hard_delete" or not leaks(vault, [CANARY])
        shutil.rmtree(vault)
        if not disk.failed:
            return k - 1
    pytest.fail(f"{ready.scenario} did not end within {MOST_STEPS} steps")


def _starve(
    memory: Muisti, ready: Prepared, disk: FailingDisk, expected: type[MuistiError]
) -> None:
    try:
        answer = ready.scenario.act(memory)
        told = not (isinstance(answer, SyncReport) and answer.problems)
    except expected as error:
        assert len(str(error)) > 10
        told = False
    check_files_whole(memory.root)
    if told or not ready.scenario.by_itself:
        # While the disk still fails, everything that is there can be read and found.
        found = state(memory)
        torn = (
            disk.forever
            and ready.scenario.name == "save_batch"
            and set(ready.before) < set(found) < set(ready.after)
        )
        assert torn or ready.allows(found, acknowledged=told)
        check_found(memory)
    disk.mend()
    if not told:
        memory.sync()  # a batch that could be neither finished nor undone is finished now
        assert ready.allows(state(memory), acknowledged=False)
        ready.scenario.act(memory)
    assert ready.done(state(memory))
    assert ready.texts <= bodies(memory.root), "a text was lost"
    memory.sync()  # sweeps what could not be removed while the disk failed
    check_sound(memory)
