"""H1, H2, E4 · What takes another's place, and what was true and known when."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from muisti import Memory, Muisti
from muisti.recall.filters import Mode
from tests.conftest import FakeClock, Opener

START = FakeClock().now()


def day(number: float) -> datetime:
    return START + timedelta(days=number)


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def current(memory: Muisti, saved: Memory) -> Memory:
    found = memory.get(saved.id)
    assert found is not None
    return found


def pair(memory: Muisti, clock: FakeClock) -> tuple[Memory, Memory]:
    old = memory.save("The office is at Harbour Street")
    clock.forward(days=1)
    new = memory.save("Everybody works in the tower by the station")
    clock.forward(days=1)
    return old, new


# -- Superseding (spec 4)


@pytest.mark.needs_files("looks at the bytes of a file")
def test_H1_supersede_marks_the_old_memory_with_valid_until(
    memory: Muisti, clock: FakeClock
) -> None:
    old, new = pair(memory, clock)
    answered = memory.supersede(old.id, new.id)
    assert (answered.id, answered.valid_until) == (old.id, new.created_at)
    assert current(memory, old).valid_until == new.created_at
    assert current(memory, new).valid_until is None
    assert (
        f"valid_until: {new.created_at:%Y-%m-%dT%H:%M:%SZ}"
        in (memory.root / str(old.file_path)).read_text()
    )
    (link,) = memory.links(old.id)
    assert (link.type, link.extracted_by, link.confidence, link.proposed) == (
        "SUPERSEDES",
        "system",
        1.0,
        False,
    )


def test_H1_superseding_returns_the_newer_version(memory: Muisti, clock: FakeClock) -> None:
    old, new = pair(memory, clock)
    memory.supersede(old.id, new.id)
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == new.id
    assert memory.superseding(new.id) is None


def test_H1_a_relationship_stores_an_edge(memory: Muisti, clock: FakeClock) -> None:
    old, new = pair(memory, clock)
    made = memory.link(old.id, new.id, "RELATED_TO", extracted_by="user")
    assert (made.type, made.confidence) == ("RELATED_TO", 1.0)
    assert memory.links(new.id) == [made]


def test_H1_of_several_the_latest_took_its_place(memory: Muisti, clock: FakeClock) -> None:
    old, new = pair(memory, clock)
    newest = memory.save("Since May people stay at home")
    memory.supersede(old.id, new.id)
    clock.forward(days=1)
    memory.supersede(old.id, newest.id)
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == newest.id
    assert current(memory, old).valid_until == new.created_at


@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_H1_an_end_that_was_known_before_stays(
    memory: Muisti, clock: FakeClock, hours: int
) -> None:
    """Unless the successor begins before it; without the successor it counts again."""
    old, new = pair(memory, clock)
    end = new.created_at + timedelta(hours=hours)
    memory.update(old.id, valid_until=end)
    memory.supersede(old.id, new.id)
    assert current(memory, old).valid_until == min(end, new.created_at)
    memory.unlink(new.id, old.id, "SUPERSEDES")
    assert current(memory, old).valid_until == end


@pytest.mark.parametrize(
    "starts", [None, -1, 1], ids=["always true", "since yesterday", "from tomorrow"]
)
def test_H1_unlink_opens_it_again(
    memory: Muisti, clock: FakeClock, vault: Path, starts: int | None
) -> None:
    old, new = pair(memory, clock)
    if starts is not None:
        old = memory.update(old.id, valid_from=clock.now() + timedelta(days=starts))
    text = (vault / str(old.file_path)).read_text()
    closed = memory.supersede(old.id, new.id)
    assert closed.valid_until is not None
    assert closed.valid_from is None or closed.valid_until >= closed.valid_from
    memory.unlink(new.id, old.id, "SUPERSEDES")
    assert current(memory, old).valid_until is None
    assert (vault / str(old.file_path)).read_text() == text
    assert memory.superseding(old.id) is None


def test_H1_a_deleted_successor_and_its_return(memory: Muisti, clock: FakeClock) -> None:
    old, new = pair(memory, clock)
    memory.supersede(old.id, new.id)
    memory.delete(new.id)
    assert memory.superseding(old.id) is None
    assert memory.links(old.id) == []
    assert [found.memory.id for found in memory.search("office Harbour Street")] == [old.id]
    memory.restore(new.id)
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == new.id
    assert [found.memory.id for found in memory.search("office Harbour Street")] == [new.id, old.id]


def test_H1_a_successor_may_come_back_into_use(memory: Muisti, clock: FakeClock) -> None:
    """What is said again after it was superseded is a new memory, which may take the place of its
    successor.
    """
    old, new = pair(memory, clock)
    memory.supersede(old.id, new.id)
    again = memory.save(old.content)
    memory.supersede(new.id, again.id)
    assert memory.search("office Harbour Street")[0].memory.id == again.id
    assert current(memory, again).valid_until is None


# -- Search


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_E4_a_superseded_memory_never_stands_above_its_successor(
    opened: Opener, clock: FakeClock, mode: Mode
) -> None:
    memory = opened()
    old, new = pair(memory, clock)
    memory.save_batch(
        ["The cat sleeps on the sofa", "Deploys happen on Fridays", "Harbour seals eat fish"]
    )
    question = "Where is the office? Harbour Street?"
    assert memory.search(question, mode=mode)[0].memory.id == old.id
    memory.supersede(old.id, new.id)
    found = [result.memory.id for result in memory.search(question, mode=mode)]
    assert found.index(new.id) < found.index(old.id)
    assert found[0] == new.id


def test_E4_the_successor_is_found_by_the_words_of_the_old_one_and_says_why(
    memory: Muisti, clock: FakeClock
) -> None:
    old, new = pair(memory, clock)
    assert [found.memory.id for found in memory.search("Harbour Street")] == [old.id]
    memory.supersede(old.id, new.id)
    found = memory.search("Harbour Street", limit=1)
    assert [result.memory.id for result in found] == [new.id]
    assert any(signal.name == "supersedes" and old.id in signal.note for signal in found[0].why)


def chained(memory: Muisti, clock: FakeClock, *kinds: str) -> list[Memory]:
    texts = [
        "The office is at Harbour Street",
        "Everybody works in the tower",
        "People stay at home since May",
    ]
    saved = []
    for text, kind in zip(texts, kinds, strict=True):
        saved.append(memory.save(text, kind=kind))
        clock.forward(days=1)
    for old, new in pairwise(saved):
        memory.supersede(old.id, new.id)
    return saved


@pytest.mark.parametrize(
    "query", ["office Harbour Street", "Harbour Street office tower", "tower", "home since May"]
)
def test_E4_a_chain_of_three_stands_in_its_order(
    memory: Muisti, clock: FakeClock, query: str
) -> None:
    saved = chained(memory, clock, "note", "note", "note")
    found = [result.memory.id for result in memory.search(query)]
    expected = [one.id for one in reversed(saved) if one.id in found]
    assert found == expected
    assert found[0] == saved[2].id


def test_E4_a_filter_that_hides_the_middle_of_a_chain_does_not_break_it(
    memory: Muisti, clock: FakeClock
) -> None:
    saved = chained(memory, clock, "fact", "note", "fact")
    found = [result.memory.id for result in memory.search("office Harbour Street", kind="fact")]
    assert found == [saved[2].id, saved[0].id]


def test_E4_each_of_two_successors_stands_above(memory: Muisti, clock: FakeClock) -> None:
    old = memory.save("The office is at Harbour Street, on Harbour Street")
    first = memory.save("No office any more")
    second = memory.save("Everybody works in the tower")
    for new in (first, second):
        memory.supersede(old.id, new.id)
        clock.forward(days=1)
    found = [result.memory.id for result in memory.search("office Harbour Street")]
    assert found[0] == second.id
    assert found.index(first.id) < found.index(old.id)


def test_E4_filters_hold_for_successors_too(memory: Muisti, clock: FakeClock) -> None:
    old = memory.save("The office is at Harbour Street", project="web")
    new = memory.save("Everybody works in the tower", project="api")
    memory.supersede(old.id, new.id)
    assert [found.memory.id for found in memory.search("Harbour Street", project="web")] == [old.id]
    assert [found.memory.id for found in memory.search("Harbour Street", project="*")] == [
        new.id,
        old.id,
    ]


def test_E4_what_is_no_longer_or_not_yet_true_steps_back(memory: Muisti, clock: FakeClock) -> None:
    gone = memory.save("Lunch is at Rosa on Mondays", valid_until=clock.now() - timedelta(days=1))
    early = memory.save("Lunch is at Kim on Tuesdays", valid_from=clock.now() + timedelta(days=9))
    now = memory.save("Lunch is at Olga on Fridays")
    found = [result.memory.id for result in memory.search("where is lunch")]
    assert found[0] == now.id
    assert set(found) == {gone.id, early.id, now.id}


# -- True and known

A, B, C, D, E, F, G = "ABCDEFG"


@pytest.fixture
def told(memory: Muisti, clock: FakeClock) -> dict[str, str]:
    """Facts by letters, saved on days 0, 6 and 20."""
    ids: dict[str, str] = {}

    def save(name: str, text: str, **fields: Any) -> None:
        ids[memory.save(text, **fields).id] = name

    def by(name: str) -> str:
        return next(id_ for id_, known in ids.items() if known == name)

    save(A, "The office is at Harbour Street")
    save(C, "Prices are low", valid_from=day(0))
    save(F, "Kim leads the choir", valid_from=day(0), valid_until=day(5))
    clock.at = day(6)
    save(E, "The lift was broken", valid_from=day(1), valid_until=day(3))
    clock.at = day(20)
    save(B, "Everybody works in the tower")
    save(D, "A doubled fee is charged", valid_from=day(5))
    save(G, "Rosa conducts the singers")
    memory.supersede(by(A), by(B))
    memory.link(
        by(D), by(C), "SUPERSEDES", valid_from=day(5)
    )  # learnt on day 20 of what was so since day 5
    memory.supersede(by(F), by(G))
    clock.at = day(30)
    return ids


@pytest.mark.parametrize(
    ("as_of", "known_at", "expected"),
    [
        (-1, None, ""),
        (0, None, "ACF"),
        (2, None, "ACEF"),
        (4, None, "ACF"),
        (5, None, "AD"),
        (10, None, "AD"),
        (19, None, "AD"),
        (20, None, "BDG"),
        (29, None, "BDG"),
        (None, -1, ""),
        (None, 0, "ACF"),
        (None, 6, "ACEF"),
        (None, 20, "ABCDEFG"),
        (2, 4, "ACF"),  # that the lift was broken was not known yet
        (2, 6, "ACEF"),
        (4, 4, "ACF"),
        (
            10,
            10,
            "AC",
        ),  # the fee had changed, but nobody knew; that Kim would stop was known from the start
        (10, 20, "AD"),
        (25, 10, "AC"),
        (25, 25, "BDG"),
        (29, -1, ""),
    ],
)
def test_H2_what_was_true_and_what_was_known(
    memory: Muisti, told: dict[str, str], as_of: int | None, known_at: int | None, expected: str
) -> None:
    when: dict[str, Any] = {
        name: day(at) for name, at in (("as_of", as_of), ("known_at", known_at)) if at is not None
    }
    assert "".join(sorted(told[one.id] for one in memory.list(**when))) == expected


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"as_of": day(10)}, [A]),
        ({"as_of": day(25)}, [B]),
        ({"as_of": day(25), "known_at": day(10)}, [A]),
    ],
)
def test_H2_a_search_asks_in_time_too(
    memory: Muisti, told: dict[str, str], when: dict[str, Any], expected: list[str]
) -> None:
    found = [
        told[result.memory.id]
        for result in memory.search("the office at Harbour Street or the tower", **when)
    ]
    assert found == expected


def test_H2_a_new_index_gives_the_same_answers(memory: Muisti, told: dict[str, str]) -> None:
    def answers() -> list[list[Memory]]:
        moments = [None, *(day(n) for n in (2, 5, 10, 20, 25))]
        return [memory.list(as_of=true, known_at=known) for true in moments for known in moments]

    before = answers()
    memory.reindex()
    assert answers() == before


@pytest.mark.needs_files("edits a file by hand")
def test_H2_exactly_one_is_current_even_if_only_the_link_was_written(
    memory: Muisti, clock: FakeClock
) -> None:
    """The state that a crash between the two files of a supersede leaves behind."""
    old, new = pair(memory, clock)
    untouched = (memory.root / str(old.file_path)).read_bytes()
    memory.supersede(old.id, new.id)
    (memory.root / str(old.file_path)).write_bytes(untouched)
    memory.sync()
    clock.forward(days=1)
    assert [one.id for one in memory.list(as_of=clock.now())] == [new.id]
    assert current(memory, old).valid_until == new.created_at
    memory.supersede(old.id, new.id)  # asked for again, it is finished
    assert "valid_until" in (memory.root / str(old.file_path)).read_text()
    assert len(memory.links(old.id)) == 1
