"""A clock that goes backwards or far ahead: ages stay sane, nothing is lost, the order of events
holds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap

from .invariants import check_found, check_rebuild, check_sound


class Hands:
    """A clock whose hands the test moves."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


MOMENTS = [
    datetime(1971, 1, 1, tzinfo=UTC),
    datetime(2026, 3, 9, tzinfo=UTC),
    datetime(2199, 12, 31, tzinfo=UTC),
]


def _work(memory: Muisti) -> None:
    first = memory.list(order="asc")[0]
    before = memory.get(first.id)
    assert before is not None
    for changed in (
        memory.reinforce(first.id),
        memory.touch(first.id),
        memory.update(first.id, importance=0.7),
    ):
        assert changed.updated_at >= before.updated_at
        assert changed.salience >= before.salience
        assert (
            before.last_accessed is None
            or (changed.last_accessed or before.last_accessed) >= before.last_accessed
        )
    gone = memory.save(f"Trashed at {memory._services.clock.now()}")
    memory.delete(gone.id)
    memory.restore(gone.id)
    memory.delete(gone.id)


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda at: str(at.year))
def test_K2_clock_jumps(vault: Path, moment: datetime) -> None:
    clock = Hands()
    with bootstrap.open(vault, clock=clock) as memory:
        ids = [memory.save("Saved at the right time").id]
        memory.deemphasize(ids[0], 0.5)
        clock.at = moment
        ids.append(memory.save("Saved at the wrong time").id)
        _work(memory)
        clock.at = datetime(2026, 3, 11, tzinfo=UTC)
        ids.append(memory.save("Saved at the right time again").id)
        _work(memory)
        assert ids == sorted(ids), "ids of one process ascend whatever the clock says"
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


def test_K2_clock_stands_still(vault: Path) -> None:
    """Two memories of one title, saved and trashed in the same instant, do not get into each
    other's way.
    """
    clock = Hands()
    with bootstrap.open(vault, clock=clock) as memory:
        for n in range(3):
            memory.delete(memory.save(f"The same title\n\nbut text {n}", title="The same title").id)
        assert len(memory.list(include_deleted=True)) == 3
        for one in memory.list(include_deleted=True):
            memory.restore(one.id)
        assert {m.content[-1] for m in memory.list()} == {"0", "1", "2"}
        check_sound(memory)
    check_rebuild(vault, clock)
