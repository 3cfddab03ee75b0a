"""G1, G2 · Fading: salience is worked out from the time since, whenever it is read."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from muisti import InvalidRequest, Memory, MemoryNotFound, Muisti
from tests.conftest import FakeClock, Opener

SECTORS = ["emotional", "semantic", "reflective", "procedural", "episodic"]
"""From the one that fades most slowly to the one that fades fastest."""
RATES = {
    "emotional": 0.003,
    "semantic": 0.005,
    "reflective": 0.008,
    "procedural": 0.01,
    "episodic": 0.02,
}

ONE_ACCESS = 0.02 * math.log1p(1)
"""How much one access protects from decay (specification 4)."""


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def salience(memory: Muisti, saved: Memory) -> float:
    found = memory.get(saved.id)
    assert found is not None
    return found.salience


def saliences(memory: Muisti) -> dict[str, tuple[float, int]]:
    return {one.id: (one.salience, one.access_count) for one in memory.list(limit=None)}


@pytest.mark.parametrize("sector", SECTORS)
@pytest.mark.parametrize("days", [0, 1, 7, 30, 90])
def test_G1_salience_falls_with_time_by_the_rate_of_the_sector(
    memory: Muisti, clock: FakeClock, sector: str, days: int
) -> None:
    saved = memory.save("Something to remember", sector=sector, kind="note")
    clock.forward(days=days)
    assert salience(memory, saved) == pytest.approx(
        max(0.05, math.exp(-RATES[sector] / 0.6 * days))
    )


def test_G1_the_sectors_keep_their_order(memory: Muisti, clock: FakeClock) -> None:
    saved = [
        memory.save(f"Remember {n}", sector=sector, kind="note") for n, sector in enumerate(SECTORS)
    ]
    for _ in range(4):
        clock.forward(days=7)
        found = [salience(memory, one) for one in saved]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == len(found)


def test_G1_what_is_more_important_fades_less(memory: Muisti, clock: FakeClock) -> None:
    saved = [memory.save(f"Remember {n}", kind="note", importance=n / 10) for n in range(11)]
    clock.forward(days=10)
    found = [salience(memory, one) for one in saved]
    assert found == sorted(found)
    assert len(set(found)) == len(found)


def test_G1_use_protects(memory: Muisti, clock: FakeClock) -> None:
    unused, once, often = (
        memory.save(f"Remember number {n}", kind="note", sector="episodic") for n in range(3)
    )
    for saved, times in ((once, 1), (often, 20)):
        for _ in range(times):
            memory.details([saved.id])
    clock.forward(days=30)
    found = [salience(memory, one) for one in (unused, once, often)]
    faded = math.exp(-0.02 / 0.6 * 30)
    assert found == pytest.approx([faded, faded + 0.02 * math.log(2), faded + 0.02 * math.log(21)])
    for _ in range(300):
        memory.details([often.id])
    assert salience(memory, often) == pytest.approx(faded + 0.1)  # and no more than that


def test_G1_never_below_the_floor_nor_above_what_it_was(memory: Muisti, clock: FakeClock) -> None:
    old, weak = (
        memory.save("Remember this", kind="note"),
        memory.save("And that", kind="note", salience=0.01),
    )
    for _ in range(50):
        memory.details([weak.id])
    clock.forward(days=36500)
    assert salience(memory, old) == 0.05
    assert (
        salience(memory, weak) == 0.01
    )  # use does not make it stronger than whoever saved it wanted


def test_G1_recalling_does_not_undo_fading(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Remember this", kind="note", sector="episodic")
    clock.forward(days=60)
    before = salience(memory, saved)
    memory.touch(saved.id)
    assert salience(memory, saved) == pytest.approx(before + ONE_ACCESS)
    memory.search("remember")
    assert before + ONE_ACCESS < salience(memory, saved) <= before + 0.03


@pytest.mark.parametrize(
    "step", [{"hours": 1}, {"days": 1}, {"days": 10}], ids=["hourly", "daily", "once"]
)
def test_G1_however_often_decay_runs_it_comes_to_the_same(
    memory: Muisti, clock: FakeClock, step: dict[str, float]
) -> None:
    saved = memory.save("Remember this", kind="note", sector="episodic")
    end = clock.now().replace(day=20)
    while clock.now() < end:
        clock.forward(**step)
        memory.decay_salience()
        memory.decay_salience()
    assert salience(memory, saved) == pytest.approx(math.exp(-0.02 / 0.6 * 10))


def test_G2_decay_tells_how_many_changed_and_nothing_when_asked_again_at_once(
    memory: Muisti, clock: FakeClock
) -> None:
    memory.save("A decision", kind="decision")
    memory.save("A summary", kind="summary")
    for n in range(3):
        memory.save(f"A note about {n}", kind="note")
    assert memory.decay_salience() == 0
    clock.forward(days=2)
    assert memory.decay_salience(dry_run=True) == 3
    assert memory.decay_salience() == 3
    assert memory.decay_salience() == 0
    clock.forward(days=8)
    assert memory.decay_salience() == 4
    assert memory.decay_salience(dry_run=True) == 0


def test_G2_after_a_clock_that_was_wrong_it_counts_again(memory: Muisti, clock: FakeClock) -> None:
    memory.save("A note", kind="note")
    clock.forward(days=4000)
    assert memory.decay_salience() == 1
    clock.forward(days=-4000)
    clock.forward(days=60)
    assert memory.decay_salience() == 1
    assert memory.decay_salience() == 0


KINDS = [
    ("decision", 7, 1.0),
    ("decision", 3650, 1.0),
    ("summary", 7, 1.0),
    ("summary", 8, 0.99),
    ("summary", 37, 0.99**30),
    ("context", 7, 1.0),
    ("context", 8, 0.90),
    ("context", 17, 0.90**10),
    ("context", 365, 0.05),
]


@pytest.mark.parametrize(("kind", "days", "expected"), KINDS)
@pytest.mark.parametrize("importance", [0.0, 0.9])
def test_G2_kinds_override_the_sector(
    memory: Muisti, clock: FakeClock, kind: str, days: int, expected: float, importance: float
) -> None:
    saved = memory.save(
        "Something to remember", kind=kind, sector="episodic", importance=importance
    )
    clock.forward(days=days)
    assert salience(memory, saved) == pytest.approx(expected)


def test_G2_use_keeps_it_from_fading(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Something to remember", kind="context")
    for _ in range(10):
        clock.forward(days=6)
        memory.touch(saved.id)
    assert salience(memory, saved) == 1.0


def test_G2_use_stops_fading_and_does_not_undo_it(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Something to remember", kind="context")
    clock.forward(days=10)
    before = salience(memory, saved)
    assert before == pytest.approx(0.9**3)
    memory.touch(saved.id)
    for _ in range(7):
        assert salience(memory, saved) == pytest.approx(before + ONE_ACCESS)
        clock.forward(days=1)
    clock.forward(days=2)
    assert salience(memory, saved) == pytest.approx(0.9 ** (3 + 2) + ONE_ACCESS)


def test_G2_use_does_not_undo_the_fading_of_a_file_written_by_hand(
    memory: Muisti, clock: FakeClock, vault: Path
) -> None:
    (vault / "context").mkdir(exist_ok=True)
    (vault / "context" / "by-hand.md").write_text(
        "---\ncreated_at: 2026-02-28T12:00:00Z\n---\n\nSomething to remember\n"
    )
    memory.sync()
    (saved,) = memory.list()
    assert saved.kind == "context"
    assert saved.salience == pytest.approx(0.9**3)
    assert memory.touch(saved.id).salience == pytest.approx(0.9**3 + ONE_ACCESS)
    memory.reindex()
    assert salience(memory, saved) == pytest.approx(0.9**3 + ONE_ACCESS)


def test_G2_reinforcing_begins_anew(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Something to remember", kind="context")
    clock.forward(days=17)
    faded = 0.9**10
    assert memory.reinforce(saved.id, 0.5).salience == pytest.approx(faded + 0.5 * (1 - faded))
    clock.forward(days=7)
    assert salience(memory, saved) == pytest.approx(faded + 0.5 * (1 - faded))


def test_G1_a_clock_that_goes_back_never_raises_it(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Remember this", kind="note", sector="episodic")
    memory.save("And the summary", kind="summary")
    clock.forward(days=30)
    memory.decay_salience()
    before = saliences(memory)
    clock.forward(hours=-20)
    assert saliences(memory) == before
    assert memory.decay_salience() == 0
    clock.forward(hours=20, days=1)
    assert salience(memory, saved) < before[saved.id][0]


def test_G1_use_under_a_clock_that_went_back_does_not_raise_it_either(
    memory: Muisti, clock: FakeClock
) -> None:
    summary = memory.save("And the summary", kind="summary")
    clock.forward(days=30)
    memory.decay_salience()
    before = salience(memory, summary)
    clock.forward(hours=-20)
    assert memory.touch(summary.id).salience <= before + ONE_ACCESS


def test_G1_a_clock_before_the_memory_counts_as_no_time(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Remember this", kind="note", salience=0.7)
    clock.forward(days=-400)
    assert salience(memory, saved) == 0.7
    memory.touch(saved.id)
    assert salience(memory, saved) == 0.7


@pytest.mark.parametrize("lost", ["reindexed", "deleted"])
def test_B3_and_G1_the_index_is_not_where_strength_lives(
    opened: Opener, clock: FakeClock, vault: Path, lost: str
) -> None:
    memory = opened(embedder="none")
    saved = [
        memory.save(f"Remember number {n}", kind=kind)
        for n, kind in enumerate(["note", "context", "decision", "summary"])
    ]
    clock.forward(days=9)
    memory.search("remember")
    clock.forward(days=2)
    memory.reinforce(saved[0].id)
    memory.deemphasize(saved[2].id, 0.5)
    memory.touch(saved[1].id)
    clock.forward(days=20)
    memory.decay_salience()
    clock.forward(hours=-3)
    before = saliences(memory)
    assert {count for _, count in before.values()} == {1, 2}
    if lost == "reindexed":
        memory.reindex()
    else:
        memory.close()
        shutil.rmtree(vault / ".muisti")
        memory = opened(embedder="none")
    assert saliences(memory) == before


def test_E4_and_G1_filters_and_orders_go_by_the_value_now(memory: Muisti, clock: FakeClock) -> None:
    slow = memory.save("Remember slowly", kind="note", sector="emotional", salience=0.8)
    fast = memory.save("Remember fast", kind="note", sector="episodic", salience=0.9)
    assert [one.id for one in memory.list(order_by="salience")] == [fast.id, slow.id]
    assert {one.id for one in memory.list(min_salience=0.75)} == {slow.id, fast.id}
    clock.forward(days=10)
    assert [one.id for one in memory.list(order_by="salience")] == [slow.id, fast.id]
    assert [one.id for one in memory.list(order_by="salience", order="asc")] == [fast.id, slow.id]
    assert [one.id for one in memory.list(min_salience=0.75)] == [slow.id]
    assert [found.memory.id for found in memory.search("remember", min_salience=0.75)] == [slow.id]
    assert {found.memory.id for found in memory.search("remember")} == {slow.id, fast.id}


def test_E4_decay_never_hides_an_exact_match(memory: Muisti, clock: FakeClock) -> None:
    old = memory.save("The otter likes Lake Saimaa", kind="note", sector="episodic", importance=0.0)
    clock.forward(days=3650)
    memory.save_batch([f"The weather on day {n} was fine at the lake" for n in range(20)])
    assert memory.search("otter Saimaa")[0].memory.id == old.id


def test_C5_reinforce_and_deemphasize_as_in_spec_4(memory: Muisti) -> None:
    first = memory.save("Test")
    assert memory.reinforce(first.id, 0.5).salience == 1.0
    assert memory.deemphasize(first.id, 0.5).salience == 0.5
    boosted = memory.reinforce(first.id, 0.5)
    assert (boosted.salience, boosted.access_count) == (0.75, 2)
    assert memory.reinforce(first.id).salience == pytest.approx(0.775)
    assert memory.deemphasize(first.id).salience == pytest.approx(0.575)
    assert memory.deemphasize(first.id, 2.0).salience == 0.05


@pytest.mark.parametrize("amount", [-0.1, float("nan"), float("inf"), True, "0.1", None])
def test_C5_an_amount_that_is_none_is_refused(memory: Muisti, amount: float) -> None:
    saved = memory.save("Test")
    for call in (memory.reinforce, memory.deemphasize):
        with pytest.raises(InvalidRequest, match="amount"):
            call(saved.id, amount)
    assert memory.get(saved.id) == saved
    with pytest.raises(MemoryNotFound):
        memory.reinforce("nobody")
