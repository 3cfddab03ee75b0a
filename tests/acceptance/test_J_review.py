"""J9 · A review queue: what agents saved and what muisti suggests, until a person decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from muisti import (
    Conflict,
    InvalidMemory,
    InvalidRequest,
    Memory,
    MemoryNotFound,
    MemoryService,
    Muisti,
    ReviewItem,
)
from tests.conftest import FakeClock, Opener

OLD_PORT, NEW_PORT = "The API runs on port 8080", "The API now runs on port 9090"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def texts(items: list[ReviewItem]) -> list[str]:
    return [
        item.memory.content if item.link is None else f"{item.link.type} {item.target.content}"  # type: ignore[union-attr]
        for item in items
    ]


def suggested(memory: Muisti, clock: FakeClock) -> ReviewItem:
    """Save two memories of which the second seems to replace the first."""
    memory.save(OLD_PORT)
    clock.forward(hours=1)
    memory.save(NEW_PORT)
    (item,) = memory.review()
    return item


def test_J9_unconfirmed_memories_and_suggested_links_are_one_queue_newest_first(
    memory: Muisti, clock: FakeClock
) -> None:
    memory.save("A person wrote this about otters")
    memory.save(OLD_PORT)
    for text in ("Sara drinks coffee", NEW_PORT, "The release is on Friday"):
        clock.forward(hours=1)
        memory.save(text, trusted=False, source="ai")
    queue = memory.review()
    assert texts(queue) == [
        "The release is on Friday",
        NEW_PORT,
        f"SUPERSEDES {OLD_PORT}",
        "Sara drinks coffee",
    ]
    assert (memory.count_review().memories, memory.count_review().links) == (3, 1)
    assert memory.count_review().total == 4
    assert queue[2].memory == queue[1].memory
    assert texts(memory.review(limit=2, offset=1)) == texts(queue)[1:3]
    assert memory.review(limit=0) == []


def test_J9_by_importance(memory: Muisti, clock: FakeClock) -> None:
    for text, importance in (("low tide", 0.1), ("high mountain", 0.9), ("some river", 0.5)):
        clock.forward(hours=1)
        memory.save(text, importance=importance, trusted=False)
    found = memory.review(order_by="importance")
    assert texts(found) == ["high mountain", "some river", "low tide"]


def test_J9_filters(memory: Muisti, clock: FakeClock) -> None:
    memory.save("Anna has a cat", project="p1", user="anna", kind="fact", trusted=False)
    memory.save("Ben has a dog", project="p2", user="ben", kind="note", trusted=False)
    clock.forward(days=2)
    memory.save("Codex wrote this", project="p1", agent="codex", kind="note", trusted=False)
    anna, ben, codex = "Anna has a cat", "Ben has a dog", "Codex wrote this"
    for filters, expected in (
        ({}, [codex, ben, anna]),
        ({"project": "p1"}, [codex, anna]),
        ({"project": "*", "user": "ben"}, [codex, ben]),
        ({"kind": "fact"}, [anna]),
        ({"kind": ["note", "fact"], "agent": "codex"}, [codex]),
        ({"since": clock.now()}, [codex]),
        ({"until": clock.now()}, [ben, anna]),
        ({"project": "nowhere"}, []),
    ):
        found = memory.review(**filters)  # type: ignore[arg-type]
        assert sorted(texts(found)) == sorted(expected), filters
        assert memory.count_review(**filters).total == len(expected)  # type: ignore[arg-type]


def test_J9_no_suggestion_shows_a_memory_of_another_project_or_user(
    memory: Muisti, clock: FakeClock
) -> None:
    mine = memory.save("Ben's own text", project="p1", user="ben")
    for scope in ({"project": "p2"}, {"project": "p1", "user": "anna"}):
        other = memory.save("Anna's own text", **scope)  # type: ignore[arg-type]
        memory.link(mine.id, other.id, confidence=0.5, extracted_by="system")
    assert memory.count_review().links == 2
    assert memory.review(project="p1", user="ben") == []
    assert memory.count_review(project="p1").links == 1


def test_J9_to_confirm_is_to_trust_and_the_source_stays(memory: Muisti) -> None:
    saved = memory.save("Sara drinks coffee", trusted=False, source="ai", agent="codex")
    confirmed = memory.confirm(saved.id, expected_version=saved.version)
    assert confirmed.trusted
    assert (confirmed.source, confirmed.agent) == ("ai", "codex")
    assert confirmed.content == saved.content
    assert memory.review() == []
    assert memory.confirm(saved.id) == confirmed  # once more changes nothing
    assert memory.list(trusted=False) == []
    assert [one.id for one in memory.list(trusted=True)] == [saved.id]


def test_J9_what_has_changed_since_it_was_read_is_not_confirmed(memory: Muisti) -> None:
    read = memory.save("Sara drinks coffee", trusted=False)
    memory.update(read.id, content="Sara drinks motor oil")
    for decide in (
        lambda: memory.confirm(read.id, expected_version=read.version),
        lambda: memory.replace(read.id, "Sara drinks tea", expected_version=read.version),
    ):
        with pytest.raises(Conflict, match="has changed since you read it"):
            decide()
    (item,) = memory.review()
    assert item.memory.content == "Sara drinks motor oil"
    assert not item.memory.trusted
    assert memory.get_stats().total_count == 1


def test_J9_an_edit_alone_does_not_confirm(memory: Muisti) -> None:
    saved = memory.save("Sara drinks coffe", trusted=False)
    memory.update(saved.id, content="Sara drinks coffee")
    assert texts(memory.review()) == ["Sara drinks coffee"]
    memory.update(saved.id, content="Sara drinks tea", trusted=True)
    assert memory.review() == []


def test_J9_a_replacement_is_trusted_and_the_old_one_is_outdated(
    memory: Muisti, clock: FakeClock
) -> None:
    old = memory.save(
        "The API runs on port 8080",
        kind="decision",
        project="p1",
        user="anna",
        importance=0.9,
        keywords=["api"],
        source="ai",
        trusted=False,
    )
    clock.forward(hours=1)
    new = memory.replace(old.id, "The API runs on port 9090", expected_version=old.version)
    assert new.trusted
    assert (new.kind, new.project, new.user, new.importance) == ("decision", "p1", "anna", 0.9)
    assert new.keywords == ("api",)
    assert new.source == "user"
    assert memory.superseding(old.id) == memory.get(new.id)
    assert memory.review() == []
    outdated = memory.get(old.id)
    assert outdated is not None
    assert outdated.valid_until == clock.now()
    assert not outdated.trusted


def test_J9_a_replacement_with_nearly_the_same_text_is_not_merged_into_the_old_one(
    memory: Muisti,
) -> None:
    old = memory.save("We chose PostgreSQL for its JSON support.", trusted=False)
    new = memory.replace(old.id, "We choose PostgreSQL for its JSON support!")
    assert new.id != old.id
    assert new.content == "We choose PostgreSQL for its JSON support!"
    assert memory.superseding(old.id) == memory.get(new.id)


def test_J9_a_replacement_that_an_agent_saved_before_is_confirmed(memory: Muisti) -> None:
    old = memory.save(OLD_PORT, trusted=False)
    known = memory.save("Sara drinks coffee", trusted=False)
    new = memory.replace(old.id, "Sara drinks coffee")
    assert new.id == known.id
    assert new.trusted
    assert memory.review() == []


def test_J9_a_confirmed_suggestion_takes_effect(memory: Muisti, clock: FakeClock) -> None:
    item = suggested(memory, clock)
    assert item.link is not None
    assert item.target is not None
    link = memory.confirm_link(item.memory.id, item.target.id, item.link.type)
    assert (link.confidence, link.extracted_by, link.proposed) == (1.0, "user", False)
    assert memory.superseding(item.target.id) == memory.get(item.memory.id)
    assert memory.review() == []


def test_J9_a_rejected_suggestion_is_gone_and_both_memories_stay(
    memory: Muisti, clock: FakeClock
) -> None:
    item = suggested(memory, clock)
    assert item.link is not None
    assert item.target is not None
    memory.reject_link(item.memory.id, item.target.id, item.link.type)
    assert memory.review() == []
    assert memory.links(item.memory.id) == []
    assert memory.superseding(item.target.id) is None


def test_J9_forgotten_memories_leave_the_queue_and_come_back_when_restored(
    memory: Muisti, clock: FakeClock
) -> None:
    memory.save(OLD_PORT)
    clock.forward(hours=1)
    saved = memory.save(NEW_PORT, trusted=False)
    before = memory.review()
    assert len(before) == 2
    memory.delete(saved.id)
    assert memory.review() == []
    memory.restore(saved.id)
    assert texts(memory.review()) == texts(before)


def test_J9_who_may_confirm_by_repeating_stays_as_it_was(memory: Muisti) -> None:
    """An agent that repeats a memory confirms nothing; a person who does confirms it."""
    text = "The release is on Friday"
    saved = memory.save(text, trusted=False, source="ai")
    memory.save(text, trusted=False, source="ai")
    assert memory.count_review().memories == 1
    memory.confirm(saved.id)
    memory.save(text, trusted=False, source="ai")
    assert memory.count_review().memories == 0
    other = memory.save("Sara drinks coffee", trusted=False)
    memory.save("Sara drinks coffee")
    assert memory.get(other.id).trusted  # type: ignore[union-attr]


def two(memory: Muisti) -> tuple[Memory, Memory]:
    return memory.save("Sara drinks coffee"), memory.save("The release is on Friday")


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda m, a, b: m.review(limit=-1), InvalidRequest, "must not be negative"),
        (lambda m, a, b: m.review(offset=-1), InvalidRequest, "must not be negative"),
        (lambda m, a, b: m.review(order_by="size"), InvalidRequest, "must be one of created_at"),
        (lambda m, a, b: m.review(trusted=True), InvalidRequest, "trusted must be left out"),
        (lambda m, a, b: m.review(include_deleted=True), InvalidRequest, "must be left out"),
        (lambda m, a, b: m.review(source="message"), InvalidRequest, "source"),
        (lambda m, a, b: m.review(colour="red"), InvalidRequest, "option must be one of"),
        (lambda m, a, b: m.count_review(kind="nonsense"), InvalidRequest, "kind must be one of"),
        (lambda m, a, b: m.list(trusted="yes"), InvalidRequest, "trusted must be true or false"),
        (lambda m, a, b: m.search("x", trusted=0), InvalidRequest, "trusted must be true or false"),
        (lambda m, a, b: m.confirm("nobody"), MemoryNotFound, "nobody"),
        (lambda m, a, b: m.replace("nobody", "text"), MemoryNotFound, "nobody"),
        (lambda m, a, b: m.replace(a, " "), InvalidMemory, "content"),
        (lambda m, a, b: m.replace(a, "Sara drinks coffee"), InvalidMemory, "must differ"),
        (lambda m, a, b: m.replace(a, "tea", colour="red"), InvalidMemory, "colour"),
        (lambda m, a, b: m.confirm_link("nobody", a, "CONFIRMS"), MemoryNotFound, "nobody"),
        (lambda m, a, b: m.reject_link(a, "nobody", "CONFIRMS"), MemoryNotFound, "nobody"),
        (
            lambda m, a, b: m.confirm_link(a, b, "CONFIRMS"),
            InvalidRequest,
            "must be a suggested link",
        ),
        (lambda m, a, b: m.reject_link(a, b, "X"), InvalidRequest, "type must be"),
    ],
)
def test_J9_bad_input_changes_nothing(
    memory: Muisti, ask: Callable[..., object], error: type[Exception], message: str
) -> None:
    first, second = two(memory)
    with pytest.raises(error, match=message):
        ask(memory, first.id, second.id)
    assert {one.version for one in memory.list()} == {first.version, second.version}


def test_J9_a_confirmed_link_cannot_be_rejected(memory: Muisti) -> None:
    first, second = two(memory)
    memory.link(first.id, second.id)
    with pytest.raises(InvalidRequest, match="must be a suggested link"):
        memory.reject_link(first.id, second.id, "RELATED_TO")
    assert len(memory.links(first.id)) == 1


def test_J9_the_file_of_a_confirmed_memory_says_so(opened: Opener, vault: Path) -> None:
    memory = opened(embedder="none")
    saved = memory.save("Sara drinks coffee", trusted=False, source="ai")
    path = vault / str(saved.file_path)
    assert "trusted: false" in path.read_text("utf-8")
    memory.confirm(saved.id)
    written = path.read_text("utf-8")
    assert "trusted: false" not in written
    assert "source: ai" in written


def test_J9_the_async_service_has_the_queue(vault: Path) -> None:
    async def decide() -> None:
        async with await MemoryService.open(vault, embedder="none") as memory:
            saved = await memory.save("Sara drinks coffee", trusted=False)
            assert [item.memory.id for item in await memory.review()] == [saved.id]
            assert (await memory.count_review()).total == 1
            await memory.confirm(saved.id)
            assert await memory.review() == []

    anyio.run(decide)
