"""H1, H4 · `save(replaces=ID)`: a new memory takes the place of an outdated one in one call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muisti import InvalidMemory, InvalidRequest, MemoryNotFound, MemoryService, Muisti
from muisti.model import LinkType
from tests.conftest import FakeClock, Opener

OLD, NEW = "Anna lives in Turku", "Anna moved to Espoo in June"
NO_SUCH_ID = "01a1e3f4-56a5-7eb0-88a4-75f4e0a2e806"


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def everything(memory: Muisti) -> list[Any]:
    return [(one, memory.links(one.id)) for one in memory.list(limit=None)]


def test_H1_the_new_memory_supersedes_the_old_one(memory: Muisti, clock: FakeClock) -> None:
    old = memory.save(OLD)
    clock.forward(days=1)
    new = memory.save(NEW, replaces=old.id, importance=0.8)
    assert (new.content, new.importance, new.valid_until) == (NEW, 0.8, None)
    assert [(one.type, one.target, one.proposed) for one in new.links] == [
        (LinkType.SUPERSEDES, old.id, False)
    ]
    found = memory.get(old.id)
    assert found is not None
    assert found.valid_until == clock.now()
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == new.id
    assert [one.id for one in memory.list(as_of=clock.now())] == [new.id]
    assert "superseded" in [entry.what for entry in memory.history(old.id)]


def test_H1_a_near_duplicate_of_the_old_one_replaces_it_too(memory: Muisti) -> None:
    old = memory.save("The orders are stored in the big PostgreSQL database in the cellar")
    text = "The orders are stored in the big PostgreSQL databases in the cellar"
    assert memory.save(text).id == old.id, "without `replaces` they are merged"
    new = memory.save(text, replaces=old.id)
    assert new.id != old.id
    assert new.content == text


def test_H1_the_same_text_cannot_replace_itself(memory: Muisti) -> None:
    old = memory.save(OLD)
    before = everything(memory)
    with pytest.raises(InvalidRequest, match="replaces must be another memory"):
        memory.save(f" {OLD}  ", replaces=old.id)
    assert everything(memory) == before


def test_H1_a_known_memory_replaces_another(memory: Muisti) -> None:
    old, known = memory.save(OLD), memory.save(NEW)
    saved = memory.save(NEW, replaces=old.id)
    assert saved.id == known.id
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == known.id
    assert memory.get_stats().total_count == 2


def test_H1_repeating_the_call_changes_nothing_more(memory: Muisti, clock: FakeClock) -> None:
    old = memory.save(OLD)
    first = memory.save(NEW, replaces=old.id)
    ended = memory.get(old.id)
    clock.forward(days=1)
    second = memory.save(NEW, replaces=old.id)
    assert (second.id, second.links) == (first.id, first.links)
    assert ended is not None
    after = memory.get(old.id)
    assert after is not None
    assert after.valid_until == ended.valid_until


def test_H1_an_outdated_memory_can_be_replaced_again(memory: Muisti) -> None:
    old = memory.save(OLD)
    memory.save(NEW, replaces=old.id)
    third = memory.save("Anna has been living in Oulu all the time", replaces=old.id)
    assert [link.target for link in third.links] == [old.id]


@pytest.mark.parametrize(
    ("replaces", "error"),
    [
        (NO_SUCH_ID, MemoryNotFound),
        ("", MemoryNotFound),
        ("../../etc/passwd", MemoryNotFound),
        (7, InvalidRequest),
        (["x"], InvalidRequest),
    ],
)
def test_A4_an_unknown_memory_cannot_be_replaced(
    memory: Muisti, replaces: Any, error: type[Exception]
) -> None:
    memory.save(OLD)
    before = everything(memory)
    with pytest.raises(error):
        memory.save(NEW, replaces=replaces)
    assert everything(memory) == before


def test_A4_a_memory_in_the_trash_cannot_be_replaced(memory: Muisti) -> None:
    old = memory.save(OLD)
    memory.delete(old.id)
    with pytest.raises(MemoryNotFound):
        memory.save(NEW, replaces=old.id)
    assert memory.list() == []


def test_A4_a_message_cannot_be_replaced(memory: Muisti) -> None:
    message = memory.append_message("telegram_1", "user", OLD)
    with pytest.raises((InvalidRequest, MemoryNotFound)):
        memory.save(NEW, replaces=message.id)
    assert memory.list() == []


def test_A4_an_invalid_memory_replaces_nothing(memory: Muisti) -> None:
    old = memory.save(OLD)
    for wrong in ({"content": ""}, {"content": NEW, "kind": "poem"}):
        with pytest.raises(InvalidMemory):
            memory.save(**wrong, replaces=old.id)
    found = memory.get(old.id)
    assert found is not None
    assert found.valid_until is None
    assert len(memory.list()) == 1


@pytest.mark.parametrize(("whose", "by"), [("anna", "ben"), ("anna", None), ("", "ben")])
def test_A3_a_memory_of_another_user_cannot_be_replaced(
    memory: Muisti, whose: str, by: str | None
) -> None:
    old = memory.save(OLD, user=whose)
    before = everything(memory)
    with pytest.raises(InvalidRequest, match="replaces must be a memory of the same user"):
        memory.save(NEW, user=by, replaces=old.id)
    assert everything(memory) == before
    assert memory.save(NEW, user=whose, replaces=old.id).user == whose


def test_A4_a_batch_has_no_replaces(memory: Muisti) -> None:
    old = memory.save(OLD)
    with pytest.raises(InvalidMemory, match="replaces is not a field"):
        memory.save_batch([{"content": NEW, "replaces": old.id}])


def test_J1_it_is_the_same_for_asyncio(tmp_path: Path) -> None:
    async def work() -> None:
        async with await MemoryService.open(tmp_path / "vault", embedder="none") as memory:
            old = await memory.save(OLD)
            new = await memory.save(NEW, replaces=old.id)
            assert (await memory.superseding(old.id)) == new

    asyncio.run(work())


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_H4_of_a_chain_exactly_the_last_one_is_current(choices: list[int]) -> None:
    with Muisti.open(":memory:", embedder="none", propose_links=False) as memory:
        last = memory.save("Colour 0 is on the wall of house 100")
        for number, choice in enumerate(choices, 1):
            text = f"Colour {number} is on the wall of house {100 + choice}"
            last = memory.save(text, replaces=last.id)
        current = [one for one in memory.list(limit=None) if one.valid_until is None]
        assert [one.id for one in current] == [last.id]
        assert len(memory.list(limit=None)) == len(choices) + 1
