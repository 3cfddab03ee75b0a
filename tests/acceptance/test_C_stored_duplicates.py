"""C3 · `dedupe` merges stored memories that say the same."""

from __future__ import annotations

import pytest

from muisti import Draft, Memory, Muisti
from tests.conftest import FakeClock, Opener

AUTH = "The auth module is in src/auth/index.ts"
AUTHENTICATION = "The authentication module is located in src/auth/index.ts"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def save_apart(memory: Muisti, clock: FakeClock, *texts: str, **fields: object) -> list[Memory]:
    """Save texts as two clones would: neither knows what the other saved."""
    saved = []
    for text in texts:
        saved += memory.save_batch([Draft(content=text, **fields)], merge=False)  # type: ignore[arg-type]
        clock.forward(minutes=1)
    return saved


def test_C3_what_two_clones_both_learned_becomes_one(memory: Muisti, clock: FakeClock) -> None:
    first, same, near = save_apart(memory, clock, AUTH, AUTH, AUTHENTICATION)
    other = memory.save("The otter swims in the lake")
    memory.link(other.id, same.id)
    memory.link(near.id, other.id, "BUILDS_ON")
    memory.update(near.id, keywords=["auth"], pinned=True)
    found = memory.dedupe(dry_run=True)
    assert [(one.kept.id, one.merged.id) for one in found] == [
        (first.id, same.id),
        (first.id, near.id),
    ]
    assert len(memory.list()) == 4
    assert memory.dedupe() == found
    assert memory.dedupe() == []
    assert {one.id for one in memory.list()} == {first.id, other.id}
    kept = memory.get(first.id)
    assert kept is not None
    assert kept.keywords == ("auth",)
    assert kept.pinned
    assert kept.importance > first.importance
    assert {(link.source, link.type.value, link.target) for link in memory.links(first.id)} == {
        (other.id, "RELATED_TO", first.id),
        (first.id, "BUILDS_ON", other.id),
    }
    assert {one.id for one in memory.list_trash()} == {same.id, near.id}
    assert memory.verify().ok


def test_C3_a_merge_of_stored_memories_can_be_undone_and_is_not_repeated(
    memory: Muisti, clock: FakeClock
) -> None:
    first, near = save_apart(memory, clock, AUTH, AUTHENTICATION)
    assert len(memory.dedupe()) == 1
    assert [entry.content for entry in memory.history(first.id) if entry.what == "merged"] == [
        AUTHENTICATION
    ]
    clock.forward(minutes=1)
    separate = memory.unmerge(near.id)
    assert (separate.id, separate.content) == (near.id, AUTHENTICATION)
    assert {one.id for one in memory.list()} == {first.id, near.id}
    kept = memory.get(first.id)
    assert kept is not None
    assert kept.importance == first.importance
    assert memory.list_trash() == []
    assert memory.dedupe() == []
    assert memory.verify().ok


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The deadline is March 15", "The deadline is March 16"),
        ("Anna likes tea in the morning", "Ben likes tea in the morning"),
        ("We use tabs in this project", "We do not use tabs in this project"),
        ("The config is in /etc/app.conf", "The config is in /opt/app.conf"),
    ],
)
def test_C3_what_says_something_else_stays(
    memory: Muisti, clock: FakeClock, one: str, other: str
) -> None:
    save_apart(memory, clock, one, other)
    assert memory.dedupe() == []


@pytest.mark.parametrize(
    "fields", [{"user": "ben"}, {"project": "shop"}, {"tier": "global"}, {"session_id": "s1", "tier": "session"}]
)  # fmt: skip
def test_C3_dedupe_never_crosses_a_scope(
    memory: Muisti, clock: FakeClock, fields: dict[str, str]
) -> None:
    save_apart(memory, clock, AUTH, user="anna")
    save_apart(memory, clock, AUTH, **fields)
    assert memory.dedupe() == []


def test_C3_memories_that_people_set_apart_stay_apart(memory: Muisti, clock: FakeClock) -> None:
    one, other = save_apart(memory, clock, AUTH, AUTHENTICATION)
    memory.link(other.id, one.id, "ALTERNATIVE_TO")
    assert memory.dedupe() == []


def test_C3_items_that_a_program_stores_by_key_stay(memory: Muisti, clock: FakeClock) -> None:
    save_apart(memory, clock, AUTH, files=("langgraph://a/1",))
    save_apart(memory, clock, AUTH, files=("langgraph://a/2",))
    assert memory.dedupe() == []


def test_C3_sessions_follow_the_memory_that_stays(memory: Muisti, clock: FakeClock) -> None:
    session = memory.start_session("")
    first, near = save_apart(memory, clock, AUTH, AUTHENTICATION)
    memory.link_to_session(near.id, session.id, "recalled")
    memory.dedupe()
    assert [one.id for one in memory.get_by_session(session.id)] == [first.id]


def test_C3_a_pair_that_changed_since_it_was_shown_is_left_alone(
    memory: Muisti, clock: FakeClock
) -> None:
    _, near = save_apart(memory, clock, AUTH, AUTHENTICATION)
    shown = memory.dedupe(dry_run=True)
    memory.update(near.id, content="Something else")
    assert memory.dedupe(shown) == []
    assert memory.list_trash() == []


def test_C3_each_memory_is_compared_with_few(memory: Muisti, clock: FakeClock) -> None:
    texts = [f"Server {name} runs the {name} service" for name in ("a1", "b2", "c3", "d4")] * 3
    save_apart(memory, clock, *texts)
    seen: list[tuple[int, int]] = []
    found = memory.dedupe(dry_run=True, progress=lambda done, total: seen.append((done, total)))
    assert len(found) == 8
    assert len({one.kept.id for one in found}) == 4
    assert seen[-1] == (12, 12)
