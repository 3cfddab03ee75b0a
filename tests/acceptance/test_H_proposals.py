"""H3 · What seems to contradict or to update a memory is proposed as a link, and changes nothing by
itself.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from muisti import InvalidRequest, Memory, Muisti
from tests.conftest import FakeClock, Opener

CASES = [
    ("The deadline is March 15", "The deadline is March 16", "CONTRADICTS"),
    ("The API runs on port 8080", "The API now runs on port 9090", "SUPERSEDES"),
    ("Käyttäjä pitää kahvista", "Käyttäjä ei pidä kahvista", "CONTRADICTS"),
    ("Käyttäjä asuu Helsingissä", "Käyttäjä asuu nykyään Turussa", "SUPERSEDES"),
    ("Дедлайн — 15 марта", "Дедлайн — 16 марта", "CONTRADICTS"),
    ("Пользователь использует Redis", "Пользователь больше не использует Redis", "SUPERSEDES"),
    ("数据库是 PostgreSQL", "数据库是 MySQL", "CONTRADICTS"),
    ("数据库是 PostgreSQL", "数据库改为 MySQL", "SUPERSEDES"),
    ("Anna is the CEO", "Ben is the new CEO", "SUPERSEDES"),
    ("We use PostgreSQL", "Migrated to MySQL", "SUPERSEDES"),
    ("Lives in Turku", "Moved to Helsinki", "SUPERSEDES"),
    ("We use npm", "We no longer use npm", "SUPERSEDES"),
    ("The server runs on port 8080", "Now runs on port 9090", "SUPERSEDES"),
    ("Ville works at Nokia", "Ville joined Supercell", "SUPERSEDES"),
    ("The deadline is May 3", "The deadline was moved to May 10", "SUPERSEDES"),
]
PORT, NEW_PORT = CASES[1][:2]


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def both(
    memory: Muisti, clock: FakeClock, old: str = PORT, new: str = NEW_PORT
) -> tuple[Memory, Memory]:
    first = memory.save(old)
    clock.forward(hours=1)
    return first, memory.save(new)


def current(memory: Muisti, memory_id: str) -> Memory:
    found = memory.get(memory_id)
    assert found is not None
    return found


@pytest.mark.parametrize(("old", "new", "type_"), CASES)
def test_H3_it_is_proposed_with_its_confidence(
    memory: Muisti, clock: FakeClock, old: str, new: str, type_: str
) -> None:
    first, second = both(memory, clock, old, new)
    (link,) = memory.links(second.id)
    assert (link.source, link.type, link.target, link.extracted_by) == (
        second.id,
        type_,
        first.id,
        "system",
    )
    assert 0 < link.confidence < 1
    assert link.proposed
    assert memory.links(first.id) == [link]


@pytest.mark.parametrize(("old", "new", "type_"), CASES)
def test_H3_a_proposal_ends_and_hides_nothing(
    memory: Muisti, clock: FakeClock, old: str, new: str, type_: str
) -> None:
    first, second = both(memory, clock, old, new)
    assert [current(memory, one.id).valid_until for one in (first, second)] == [None, None]
    assert memory.superseding(first.id) is None
    assert {one.id for one in memory.list(as_of=clock.now())} == {first.id, second.id}
    for saved in (first, second):
        assert saved.id in {found.memory.id for found in memory.search(saved.content)}
    assert memory.save(old).id == first.id  # it still takes in what says the same


def test_H3_it_does_not_change_which_comes_first(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none")
    first, second = both(memory, clock)
    assert memory.search("API port 8080")[0].memory.id == first.id
    memory.supersede(first.id, second.id)
    assert memory.search("API port 8080")[0].memory.id == second.id


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Fixed bug 12 in the parser", "Fixed bug 13 in the parser"),
        ("Alice lives in Rome", "Bob lives in Rome"),
        ("User likes coffee", "User likes tea"),
        ("The cat sleeps on the mat", "Quantum physics is a strange field"),
    ],
)
def test_H3_what_can_both_hold_is_left_in_peace(
    memory: Muisti, clock: FakeClock, old: str, new: str
) -> None:
    _, second = both(memory, clock, old, new)
    assert memory.links(second.id) == []


def test_H3_switched_off(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none", propose_links=False)
    _, second = both(memory, clock)
    assert (second.links, memory.links(second.id)) == ((), [])


def test_H3_within_one_batch(memory: Muisti) -> None:
    first, second = memory.save_batch([PORT, NEW_PORT])
    assert [(link.type, link.target) for link in second.links] == [("SUPERSEDES", first.id)]


def test_H3_a_change_is_found_in_a_full_vault(memory: Muisti, clock: FakeClock) -> None:
    """Though the two share no word, and hundreds of other memories are nearer by their words."""
    first = memory.save("User lives in Turku")
    memory.save_batch([f"User moved box {n} to shelf {n + 1}" for n in range(300)])
    clock.forward(hours=1)
    assert [link.target for link in memory.save("User moved to Helsinki").links] == [first.id]


def test_H3_a_change_of_another_user_is_none_of_mine(memory: Muisti) -> None:
    memory.save("User lives in Turku", user="anna")
    assert memory.save("User moved to Helsinki", user="ben").links == ()


def test_H3_a_change_within_one_batch(memory: Muisti) -> None:
    first, second = memory.save_batch(["We use PostgreSQL", "Migrated to MySQL"])
    assert [(link.type, link.target) for link in second.links] == [("SUPERSEDES", first.id)]


def test_H3_another_project_is_another_matter(memory: Muisti) -> None:
    memory.save(PORT, project="web")
    assert memory.save(NEW_PORT, project="api").links == ()


def test_H3_confirming_it_by_link(memory: Muisti, clock: FakeClock) -> None:
    first, second = both(memory, clock)
    clock.forward(hours=1)
    made = memory.link(second.id, first.id, "SUPERSEDES")
    assert (made.confidence, made.extracted_by, made.proposed) == (1.0, "user", False)
    assert memory.links(second.id) == [made]
    assert current(memory, first.id).valid_until == second.created_at
    successor = memory.superseding(first.id)
    assert successor is not None
    assert successor.id == second.id


def test_H3_confirming_a_contradiction_ends_nothing(memory: Muisti, clock: FakeClock) -> None:
    first, second = both(memory, clock, *CASES[0][:2])
    made = memory.link(second.id, first.id, "CONTRADICTS")
    assert memory.links(first.id) == [made]
    assert current(memory, first.id).valid_until is None


def test_H3_turning_it_down_by_unlink(memory: Muisti, clock: FakeClock) -> None:
    first, second = both(memory, clock)
    memory.unlink(second.id, first.id, "SUPERSEDES")
    assert memory.links(second.id) == []
    assert current(memory, first.id).valid_until is None
    memory.reindex()
    assert memory.links(second.id) == []
    with pytest.raises(InvalidRequest, match="link does not exist"):
        memory.unlink(second.id, first.id, "SUPERSEDES")


def test_H3_turning_it_down_does_not_reopen_what_a_person_ended(
    memory: Muisti, clock: FakeClock
) -> None:
    first, second = both(memory, clock)
    end = second.links[0].created_at
    memory.update(first.id, valid_until=end)
    memory.unlink(second.id, first.id, "SUPERSEDES")
    assert current(memory, first.id).valid_until == end


@pytest.mark.needs_files("looks at the bytes of a file")
def test_H3_proposals_are_in_the_file_and_survive_the_index(
    memory: Muisti, clock: FakeClock
) -> None:
    _, second = both(memory, clock)
    text = (memory.root / str(second.file_path)).read_text()
    assert "SUPERSEDES" in text
    assert "by=system" in text
    before = memory.links(second.id)
    clock.forward(days=1)
    memory.reindex()
    assert memory.links(second.id) == before
    assert current(memory, second.id).links == tuple(before)


def test_H3_at_most_a_few_are_proposed(memory: Muisti, clock: FakeClock) -> None:
    for port in range(8080, 8090):
        memory.save(f"The API runs on port {port}")
        clock.forward(hours=1)
    found = memory.save("The API now runs on port 9999")
    assert 0 < len(found.links) <= 3
    assert len({link.target for link in found.links}) == len(found.links)
    assert found.links[0].created_at - clock.now() == timedelta(0)


def test_H3_what_is_said_of_different_times_is_no_contradiction(
    memory: Muisti, clock: FakeClock
) -> None:
    change = clock.now() - timedelta(days=5)
    memory.save("The API runs on port 8080", valid_from=change)
    before = memory.save(
        "The API runs on port 9090", valid_from=change - timedelta(days=9), valid_until=change
    )
    assert before.links == ()
