"""Of two memories of which one took the other's place, exactly one is current, whatever came in
between (contract H2).
"""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import InvalidRequest, VaultError
from tests.conftest import FakeClock
from tests.tiers import steps

from .crash import ACKNOWLEDGED, killed_at
from .scenarios import LINKING, MERGING, NEARLY, SUCCESSOR, TARGET, prepared, target
from .starve import FailingDisk

SUPERSEDE, UNLINK, UNMERGE = LINKING[0], LINKING[2], MERGING[2]


def current(memory: Muisti) -> list[str]:
    """Which of the two are valid, as a reader sees it."""
    return sorted(
        m.content
        for m in memory.list(limit=None)
        if m.content in (TARGET, SUCCESSOR) and m.valid_until is None
    )


def test_H2_killed_and_repeated_later_and_taken_back(tmp_path: Path, clock: FakeClock) -> None:
    """Nobody repeats a call in the same instant. What is then taken back is as it was before."""
    ready = prepared(SUPERSEDE, tmp_path, clock)
    for k in steps(200):
        vault = ready.copy(tmp_path / "killed")
        answer = killed_at(k, vault, clock, SUPERSEDE.act)
        clock.forward(hours=3)
        shutil.rmtree(vault / ".muisti")  # the files alone tell which is current
        with bootstrap.open(vault, clock=clock) as memory:
            assert SUCCESSOR in current(memory), f"killed at step {k}"
            SUPERSEDE.act(memory)
            assert current(memory) == [SUCCESSOR], f"killed at step {k}"
            clock.forward(hours=3)
            UNLINK.act(memory)
            assert current(memory) == [SUCCESSOR, TARGET], f"killed at step {k}"
        clock.forward(hours=-6)
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            assert k > 3
            return
    pytest.fail("it did not end")


def test_H2_a_save_that_replaces_is_killed_and_repeated(tmp_path: Path, clock: FakeClock) -> None:
    """The new file alone says which is current, so that no step leaves two current memories."""

    def act(memory: Muisti) -> None:
        memory.save(SUCCESSOR, kind="fact", replaces=target(memory))

    ready = prepared(MERGING[0], tmp_path, clock)  # a vault with the target
    for k in steps(200):
        vault = ready.copy(tmp_path / "killed")
        answer = killed_at(k, vault, clock, act)
        clock.forward(hours=3)
        shutil.rmtree(vault / ".muisti")
        with bootstrap.open(vault, clock=clock) as memory:
            if SUCCESSOR in current(memory):
                successor = memory.superseding(target(memory))
                assert successor is not None, f"killed at step {k}"
                assert successor.content == SUCCESSOR
            else:
                assert current(memory) == [TARGET], f"killed at step {k}"
            act(memory)
            assert current(memory) == [SUCCESSOR], f"killed at step {k}"
        clock.forward(hours=-3)
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            assert k > 3
            return
    pytest.fail("it did not end")


def test_H2_unlink_killed_and_repeated_later(tmp_path: Path, clock: FakeClock) -> None:
    ready = prepared(UNLINK, tmp_path, clock)
    for k in steps(200):
        vault = ready.copy(tmp_path / "killed")
        answer = killed_at(k, vault, clock, UNLINK.act)
        with bootstrap.open(vault, clock=clock) as memory:
            assert SUCCESSOR in current(memory), f"killed at step {k}"
            UNLINK.act(memory)
            assert current(memory) == [SUCCESSOR, TARGET], f"killed at step {k}"
            clock.forward(hours=1)
            SUPERSEDE.act(memory)
            assert current(memory) == [SUCCESSOR], f"killed at step {k}"
        clock.forward(hours=-1)
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            return
    pytest.fail("it did not end")


def test_H2_superseded_before_it_was_to_begin_and_taken_back(vault: Path, clock: FakeClock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        old = memory.save(TARGET, valid_from=clock.now() + timedelta(days=30))
        new = memory.save(SUCCESSOR)
        memory.supersede(old.id, new.id)
        assert current(memory) == [SUCCESSOR]
        memory.unlink(new.id, old.id, "SUPERSEDES")
        assert current(memory) == [SUCCESSOR, TARGET]


def test_H2_the_clock_went_back_between_the_two(vault: Path, clock: FakeClock) -> None:
    with bootstrap.open(vault, clock=clock) as memory:
        old, new = memory.save(TARGET), memory.save(SUCCESSOR)
        clock.forward(days=-300)
        memory.supersede(old.id, new.id)
        assert current(memory) == [SUCCESSOR]
        successor = memory.superseding(old.id)
        assert successor is not None
        assert successor.id == new.id
        memory.unlink(new.id, old.id, "SUPERSEDES")
        assert current(memory) == [SUCCESSOR, TARGET]


def test_H2_the_other_way_round_while_the_index_does_not_know_of_the_first(
    tmp_path: Path, clock: FakeClock
) -> None:
    """One process dies between the files and the index; another, which had the vault open before,
    wants the opposite.
    """
    ready = prepared(SUPERSEDE, tmp_path, clock)
    disk = FailingDisk(errno.EIO, forever=True)
    for k in steps(100):
        vault = ready.copy(tmp_path / "torn")
        with bootstrap.open(vault, clock=clock) as other:
            ids = {m.content: m.id for m in other.list()}
            with bootstrap.open(vault, clock=clock, disk=disk) as memory:
                disk.arm(k)
                with suppress(VaultError):
                    SUPERSEDE.act(memory)
            disk.mend()
            with suppress(InvalidRequest):
                other.supersede(ids[SUCCESSOR], ids[TARGET])
            other.sync()
            assert len(current(other)) == 1, f"failed at step {k}"
        shutil.rmtree(vault)
        if not disk.failed:
            return
    pytest.fail("it did not end")


@pytest.mark.parametrize("gone", ["delete", "archive"])
def test_H2_the_successor_goes(vault: Path, clock: FakeClock, gone: str) -> None:
    """Whoever asks is told of one that is there, and after the way back of exactly one."""
    with bootstrap.open(vault, clock=clock) as memory:
        old, new = memory.save(TARGET, kind="decision"), memory.save(SUCCESSOR)
        memory.supersede(old.id, new.id)
        assert memory.delete(new.id) if gone == "delete" else memory.evict(0)
        assert memory.superseding(old.id) is None
        memory.restore(new.id)
        assert current(memory) == [SUCCESSOR]
        memory.reindex()
        assert current(memory) == [SUCCESSOR]


def test_H1_unmerge_was_killed_and_what_it_made_is_in_the_trash(
    tmp_path: Path, clock: FakeClock
) -> None:
    """Whoever asks again gets the text that was merged, or is told where it is; never another
    memory for it.
    """
    ready = prepared(UNMERGE, tmp_path, clock)
    for k in steps(200):
        vault = ready.copy(tmp_path / "killed")
        answer = killed_at(k, vault, clock, UNMERGE.act)
        with bootstrap.open(vault, clock=clock) as memory:
            ids = {m.content: m.id for m in memory.list()}
            if NEARLY in ids:
                memory.delete(ids[NEARLY])
            with suppress(InvalidRequest):
                assert memory.unmerge(ids[TARGET]).content == NEARLY, f"killed at step {k}"
        shutil.rmtree(vault)
        if answer == ACKNOWLEDGED:
            return
    pytest.fail("it did not end")
