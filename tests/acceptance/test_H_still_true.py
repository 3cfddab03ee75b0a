"""H4, C3 · Of facts that replaced one another, exactly one is true at any time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti import InvalidRequest, Memory, Muisti, bootstrap
from muisti.ports import ChangeSet
from tests.conftest import FakeClock, Opener
from tests.tiers import amount

TOWNS = ["Turku", "Espoo", "Vaasa", "Kotka", "Oulu"]
START = FakeClock().now()
DAYS = range(-12, 16)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def save_town(memory: Muisti, town: str, start: int | None, **fields: Any) -> Memory:
    valid_from = None if start is None else day(start)
    return memory.save(
        f"The office of Kim is in {town}", kind="fact", valid_from=valid_from, **fields
    )


def towns_on(memory: Muisti, number: float, **filters: Any) -> list[str]:
    """Which towns a list and a search return for a day. Both must agree."""
    listed = memory.list(as_of=day(number), **filters)
    found = memory.search("office Kim", as_of=day(number), mode="keyword", record=False, **filters)
    towns = sorted(one.content.split()[-1] for one in listed)
    assert sorted(result.memory.content.split()[-1] for result in found) == towns
    return towns


def check_chain(memory: Muisti, chain: Sequence[tuple[str, float]]) -> None:
    """On every day, the last of the chain that has started is true, and nothing else."""
    for number in DAYS:
        started = [town for town, start in chain if start <= number]
        assert towns_on(memory, number) == started[-1:], f"on day {number}"


def test_H4_the_old_fact_ends_when_the_new_one_begins(memory: Muisti, clock: FakeClock) -> None:
    old, new = save_town(memory, "Turku", -10), save_town(memory, "Espoo", 5)
    clock.forward(days=9)
    assert memory.supersede(old.id, new.id).valid_until == day(5)
    check_chain(memory, [("Turku", -10), ("Espoo", 5)])


def test_H4_what_replaces_a_fact_later_leaves_it_current_until_then(memory: Muisti) -> None:
    old, new = save_town(memory, "Turku", None), save_town(memory, "Espoo", 8)
    assert memory.supersede(old.id, new.id).valid_until == day(8)
    check_chain(memory, [("Turku", 0), ("Espoo", 8)])


def test_H4_what_was_not_known_yet_ends_nothing(memory: Muisti, clock: FakeClock) -> None:
    """A chain of three of which one was learnt late."""
    first = save_town(memory, "Turku", -10)
    clock.at = day(2)
    second = save_town(memory, "Espoo", -4)
    memory.supersede(first.id, second.id)
    clock.at = day(6)
    third = save_town(memory, "Vaasa", -8)
    clock.at = day(7)
    memory.supersede(second.id, third.id)
    for known, on, expected in (
        (1, -5, "Turku"),
        (1, 0, "Turku"),
        (3, -5, "Turku"),
        (3, 0, "Espoo"),
        (8, -9, "Turku"),
        (8, -5, "Vaasa"),
        (8, 0, "Vaasa"),
    ):
        assert towns_on(memory, on, known_at=day(known)) == [expected], (known, on)


@pytest.mark.needs_files("edits a file")
def test_H4_a_start_edited_in_the_file_counts(memory: Muisti) -> None:
    old, new = save_town(memory, "Turku", -10), save_town(memory, "Espoo", 5)
    memory.supersede(old.id, new.id)
    path = memory.root / str(new.file_path)
    text = path.read_text()
    assert f"valid_from: {day(5):%Y-%m-%dT%H:%M:%SZ}" in text
    path.write_text(
        text.replace(f"valid_from: {day(5):%Y-%m-%dT%H:%M:%SZ}", f"valid_from: {day(9):%Y-%m-%d}")
    )
    memory.sync()
    memory.reindex()
    assert towns_on(memory, 8) == ["Turku"]
    assert towns_on(memory, 10) == ["Espoo"]
    memory.unlink(new.id, old.id, "SUPERSEDES")
    assert towns_on(memory, 10) == ["Espoo", "Turku"]


def test_H4_maintenance_does_not_make_an_outdated_fact_current(
    memory: Muisti, clock: FakeClock
) -> None:
    old = save_town(memory, "Turku", -10, pinned=True)
    new = save_town(memory, "Espoo", -5)
    memory.supersede(old.id, new.id)
    clock.forward(days=1)
    assert [one.id for one in memory.evict(0)] == [new.id]
    assert towns_on(memory, 2) == []
    memory.restore(new.id)
    assert towns_on(memory, 2) == ["Espoo"]


def test_H4_cleanup_does_not_take_what_replaced_a_fact_that_stays(
    memory: Muisti, clock: FakeClock
) -> None:
    kept = save_town(memory, "Turku", -10, pinned=True)
    second, third = (save_town(memory, town, -5, salience=0.1) for town in TOWNS[1:3])
    weak = memory.save("Lunch was late", salience=0.1)
    memory.supersede(kept.id, second.id)
    memory.supersede(second.id, third.id)
    for dry_run in (True, False):
        assert [one.id for one in memory.cleanup(0.5, dry_run=dry_run)] == [weak.id]
    memory.update(kept.id, pinned=False)
    memory.deemphasize(kept.id, 0.9)
    assert len(memory.cleanup(0.5)) == 3


@pytest.mark.parametrize("hard", [False, True])
def test_H4_without_its_successor_a_fact_is_current_again(memory: Muisti, hard: bool) -> None:
    old, new = save_town(memory, "Turku", -10), save_town(memory, "Espoo", -5)
    memory.supersede(old.id, new.id)
    memory.delete(new.id)
    assert towns_on(memory, 0) == ["Turku"]
    if hard:
        memory.delete(new.id, hard=True)
        assert towns_on(memory, 0) == ["Turku"]
        again = save_town(memory, "Turku", -10)
        assert again.id == old.id, "the same fact is saved twice"


@pytest.mark.parametrize(("theirs", "ours"), [("anna", "ben"), ("anna", ""), ("", "anna")])
def test_C3_a_memory_is_never_replaced_by_one_of_another_user(
    memory: Muisti, theirs: str, ours: str
) -> None:
    old = save_town(memory, "Turku", None, user=theirs)
    new = save_town(memory, "Espoo", None, user=ours)
    before = memory.list()
    for replace_it in (
        lambda: memory.supersede(old.id, new.id),
        lambda: memory.link(new.id, old.id, "SUPERSEDES"),
        lambda: memory.link(new.id, old.id, "SUPERSEDES", confidence=0.5, extracted_by="system"),
    ):
        with pytest.raises(InvalidRequest, match="user must be the same for both memories"):
            replace_it()
    assert memory.list() == before
    assert memory.link(new.id, old.id, "RELATED_TO").target == old.id
    memory.update(new.id, user=theirs)
    assert memory.supersede(old.id, new.id).valid_until is not None
    memory.update(new.id, user=ours)  # then it replaces nothing any more
    assert [one.valid_until for one in memory.list()] == [None, None]
    assert memory.superseding(old.id) is None


@pytest.mark.parametrize(("theirs", "ours"), [("anna", "ben"), ("anna", ""), ("", "anna")])
def test_C3_a_link_to_another_users_memory_is_never_proposed(
    memory: Muisti, theirs: str, ours: str
) -> None:
    memory.save("The user prefers dark mode", user=theirs)
    assert memory.save("The user prefers light mode", user=ours).links == ()
    batch = memory.save_batch(
        [
            {"content": "The server runs on port 8080", "user": theirs},
            {"content": "The server now runs on port 9090", "user": ours},
        ]
    )
    assert [one.links for one in batch] == [(), ()]
    assert memory.save("The user prefers light mode", user=theirs).links != ()


STARTS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(-10, 10)), st.integers(0, 2)),
    min_size=2,
    max_size=len(TOWNS),
)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["move", "delete", "restore", "erase", "unlink"]),
        st.integers(0, len(TOWNS) - 1),
        st.one_of(st.none(), st.integers(-10, 10)),
    ),
    max_size=4,
)


@settings(
    max_examples=amount(quick=6, all=60), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    starts=STARTS,
    order=st.permutations(range(len(TOWNS) - 1)),
    operations=OPERATIONS,
    in_memory=st.booleans(),
)
def test_H4_every_day_has_exactly_one_answer(
    tmp_path_factory: pytest.TempPathFactory,
    starts: list[tuple[int | None, int]],
    order: list[int],
    operations: list[tuple[str, int, int | None]],
    in_memory: bool,
) -> None:
    """Chains with `valid_from` in any order, built in any order, then changed."""
    clock = FakeClock()
    location = ":memory:" if in_memory else tmp_path_factory.mktemp("chain") / "vault"
    options = {"embedder": "none", "propose_links": False}
    with bootstrap.open(location, clock=clock, settings=options) as memory:  # type: ignore[call-overload]
        saved: list[Memory] = []
        begins: dict[str, float] = {}
        for town, (start, pause) in zip(TOWNS, starts, strict=False):
            begins[town] = (clock.now() - START) / timedelta(days=1) if start is None else start
            saved.append(save_town(memory, town, start))
            clock.forward(days=pause)
        created = [(one.created_at - START) / timedelta(days=1) for one in saved]
        for at in order:
            if at + 1 < len(saved):
                memory.supersede(saved[at].id, saved[at + 1].id)
                clock.forward(hours=1)
        check_chain(memory, [(town, begins[town]) for town in TOWNS[: len(saved)]])

        towns, deleted = list(TOWNS[: len(saved)]), set[str]()
        for name, number, start in operations:
            at = number % len(saved)
            one, town = saved[at], towns[at]
            clock.forward(hours=1)
            if name == "move" and town not in deleted:
                memory.update(one.id, valid_from=None if start is None else day(start))
                begins[town] = created[at] if start is None else start
            elif name == "delete":
                memory.delete(one.id)
                deleted.add(town)
            elif name == "restore":
                memory.restore(one.id)
                deleted.discard(town)
            elif name == "erase" and len(saved) > 1:
                memory.delete(one.id, hard=True)
                del saved[at], towns[at], created[at]
                deleted.discard(town)
            elif name == "unlink" and at == len(saved) - 1 and at and not deleted:
                memory.unlink(one.id, saved[at - 1].id, "SUPERSEDES")
                memory.delete(one.id)
                del saved[at], towns[at], created[at]
        chain = [(town, begins[town]) for town in towns if town not in deleted]
        check_chain(memory, chain)
        memory.reindex()
        check_chain(memory, chain)


WHERE = ["here", "trash", "archive"]


def put(memory: Muisti, one: Memory, where: str) -> None:
    """Move a memory to the trash or to the archive."""
    if where == "trash":
        memory.delete(one.id)
    elif where == "archive":
        with memory._services.store.lock():
            known = memory.get(one.id)
            assert known is not None
            memory._services.store.commit(ChangeSet(archived=[known]))


@pytest.mark.parametrize("by", ["delete", "forget"])
@pytest.mark.parametrize("new_is", WHERE)
@pytest.mark.parametrize("old_is", WHERE)
def test_H1_what_was_replaced_by_an_erased_memory_is_valid_again(
    memory: Muisti, by: str, old_is: str, new_is: str
) -> None:
    """Also when it was in the trash or in the archive meanwhile."""
    old = memory.save("The office is in Turku")
    new = memory.save("The office is in Vaasa", project="moved")
    memory.supersede(old.id, new.id)
    put(memory, old, old_is)
    put(memory, new, new_is)
    if by == "delete":
        assert memory.delete(new.id, hard=True)
    else:
        memory.forget(project="moved", hard=True)
    assert memory.restore(old.id).valid_until is None
    memory.reindex()
    assert [(one.id, one.valid_until) for one in memory.list()] == [(old.id, None)]


@pytest.mark.parametrize("old_is", WHERE)
@pytest.mark.parametrize("by", ["delete", "forget"])
def test_H1_an_end_that_was_given_stays_when_the_replacement_is_erased(
    memory: Muisti, by: str, old_is: str
) -> None:
    given, changed = (
        memory.save(f"The lease of {town} is signed", valid_until=until)
        for town, until in (("Turku", day(8)), ("Oulu", None))
    )
    new = memory.save("No lease is left", project="moved")
    for one in (given, changed):
        memory.supersede(one.id, new.id)
    memory.update(changed.id, valid_until=day(9))
    for one in (given, changed):
        put(memory, one, old_is)
    if by == "delete":
        memory.delete(new.id, hard=True)
    else:
        memory.forget(project="moved", hard=True)
    assert memory.restore(given.id).valid_until == day(8)
    assert memory.restore(changed.id).valid_until == day(9)


def test_H4_a_chain_stays_whole_when_memories_in_its_middle_are_erased(memory: Muisti) -> None:
    first, second, third, fourth = (
        memory.save(f"The office is in {town}", project=project, valid_from=day(start))
        for start, (town, project) in enumerate(
            [("Turku", ""), ("Oulu", "past"), ("Vaasa", "past"), ("Kemi", "")]
        )
    )
    for old, new in itertools.pairwise((first, second, third, fourth)):
        memory.supersede(old.id, new.id)
    memory.delete(first.id)
    memory.forget(project="past", hard=True)
    restored = memory.restore(first.id)
    assert restored.valid_until == day(3)
    successor = memory.superseding(first.id)
    assert successor is not None
    assert successor.id == fourth.id
    memory.delete(fourth.id, hard=True)
    memory.reindex()
    assert [(one.id, one.valid_until) for one in memory.list()] == [(first.id, None)]


def test_H4_a_start_can_be_moved_when_the_successor_is_in_the_trash(memory: Muisti) -> None:
    first, second, third = (
        memory.save(f"The office of Kim is in {town}", valid_from=day(start))
        for town, start in (("Turku", 0), ("Oulu", 1), ("Vaasa", 5))
    )
    memory.supersede(first.id, second.id)
    memory.supersede(second.id, third.id)
    memory.delete(second.id)
    memory.update(first.id, valid_from=day(3))
    assert [one.id for one in memory.list(as_of=day(4))] == [first.id]
    assert [one.id for one in memory.list(as_of=day(6))] == [third.id]


# -- Marks


@pytest.fixture
def moved(memory: Muisti) -> tuple[Memory, Memory, Memory]:
    """An outdated fact, the one that replaced it, and one that only expired."""
    old, new = save_town(memory, "Turku", -10), save_town(memory, "Espoo", -5)
    memory.supersede(old.id, new.id)
    expired = memory.save("The office of Kim was closed", valid_until=day(-1))
    return old, new, expired


def test_H4_results_say_what_is_outdated_and_what_replaced_it(
    memory: Muisti, moved: tuple[Memory, Memory, Memory]
) -> None:
    old, new, expired = moved
    results = memory.search("office Kim")
    marks = {one.memory.id: (one.outdated, one.superseded_by) for one in results}
    expected = {old.id: (True, new.id), new.id: (False, None), expired.id: (True, None)}
    assert marks == expected
    assert results[0].memory.id == new.id
    notes = {
        one.memory.id: signal.note
        for one in results
        for signal in one.why
        if signal.name == "validity"
    }
    assert notes == {
        old.id: f"outdated since {day(-5):%Y-%m-%d}, replaced by {new.id}",
        expired.id: f"outdated since {day(-1):%Y-%m-%d}",
    }
    (reason,) = [one for one in memory.explain("office", old.id).signals if one.name == "validity"]
    assert new.id in reason.note
    for compact in (memory.search_compact("office Kim"), memory.timeline(new.id)):
        assert {one.id: (one.outdated, one.superseded_by) for one in compact} == expected
    related = memory.related(new.id)
    assert {one.memory.id: one.superseded_by for one in related}[old.id] == new.id
    outdated = memory.find_outdated([old.id, new.id, expired.id, "unknown"])
    assert {id_: one and one.id for id_, one in outdated.items()} == {
        old.id: new.id,
        expired.id: None,
    }


def test_H4_what_is_replaced_later_is_not_marked_before(memory: Muisti, clock: FakeClock) -> None:
    old, new = save_town(memory, "Turku", -10), save_town(memory, "Espoo", 8)
    memory.supersede(old.id, new.id)
    assert not any(one.outdated or one.superseded_by for one in memory.search("office Kim"))
    assert "Turku" in memory.context("office Kim")
    later = memory.search("office Kim", asked_at=day(9))
    assert {one.memory.id: one.superseded_by for one in later} == {old.id: new.id, new.id: None}
    clock.at = day(8)
    assert "Turku" not in memory.context("office Kim")


def test_H4_prompts_leave_out_what_is_outdated(
    memory: Muisti, moved: tuple[Memory, Memory, Memory]
) -> None:
    old, new, _ = moved
    memory.start_session(session_id="s")
    assert [one.id for one in memory.get_relevant_memories("s", "office Kim")] == [new.id]
    everything = memory.get_relevant_memories("s", "office Kim", include_outdated=True)
    assert len(everything) == 3
    block = memory.build_memory_context(everything)
    assert ("Espoo" in block, "Turku" in block, "closed" in block) == (True, False, False)
    marked = memory.build_memory_context(everything, include_outdated=True)
    assert f"outdated since {day(-5):%Y-%m-%d}" in marked
    assert marked.count("outdated since") == 2
    assert memory.build_memory_context([one for one in everything if one.id == old.id]) == ""
    block = memory.context("office Kim")
    assert ("Espoo" in block, "Turku" in block, "closed" in block) == (True, False, False)
    marked = memory.context("office Kim", include_outdated=True)
    assert f'outdated="yes" replaced_by="{new.id}"' in marked
    assert marked.count('outdated="yes"') == 2
    assert "Turku" in memory.context("office Kim", as_of=day(-7)), "it was asked for"


def test_H4_what_is_left_out_makes_room_and_is_not_recalled(
    memory: Muisti, clock: FakeClock
) -> None:
    saved = [save_town(memory, town, None) for town in TOWNS]
    for old, new in itertools.pairwise(saved):
        memory.supersede(old.id, new.id)
    other = memory.save("The keys of Kim are in the office")
    memory.start_session(session_id="s")
    found = memory.get_relevant_memories("s", "office Kim", limit=2)
    assert {one.id for one in found} == {saved[-1].id, other.id}
    memory.flush()
    recalled = [one.id for one in memory.list() if one.access_count]
    assert sorted(recalled) == sorted([saved[-1].id, other.id])
