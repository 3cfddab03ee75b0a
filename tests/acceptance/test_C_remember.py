"""C · Remember: the write path, as far as files and keyword search go."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from muisti import Conflict, Draft, InvalidRequest, MemoryNotFound, Muisti
from tests.conftest import FakeClock, Opener


def test_C3_the_same_content_reinforces_what_is_there(memory: Muisti) -> None:
    first = memory.save("The auth module is in src/auth/index.ts")
    memory.deemphasize(first.id, 0.5)
    again = memory.save("  The auth\n module is in src/auth/index.ts ")
    assert again.id == first.id
    assert again.salience == pytest.approx(0.55)
    assert len(memory.list()) == 1


def test_C3_the_session_that_repeats_it_is_linked(memory: Muisti) -> None:
    first = memory.save("Said twice")
    memory.save("Said twice", session_id="s2")
    assert [(use.memory_id, use.use) for use in memory.session_uses("s2")] == [
        (first.id, "reinforced")
    ]


def test_C3_other_projects_and_other_sessions_keep_their_own(memory: Muisti) -> None:
    ids = {
        memory.save("Said here").id,
        memory.save("Said here", project="web").id,
        memory.save("Said here", tier="session", session_id="a").id,
        memory.save("Said here", tier="session", session_id="b").id,
        memory.save("Said here", tier="global").id,
    }
    assert len(ids) == 5


def test_C3_deadline_dates_are_two_memories(memory: Muisti) -> None:
    assert memory.save("The deadline is March 15").id != memory.save("The deadline is March 16").id


def test_C5_save_batch_is_one_and_reports_progress(memory: Muisti) -> None:
    seen: list[tuple[int, int]] = []
    items = [
        "a text",
        {"content": "a dict", "kind": "fact"},
        Draft(content="a draft", keywords=("k",)),
        "a text",
    ]
    saved = memory.save_batch(items, progress=lambda done, total: seen.append((done, total)))
    assert [found.content for found in saved] == ["a text", "a dict", "a draft", "a text"]
    assert saved[0].id == saved[3].id
    assert seen[-1] == (4, 4)
    assert len(memory.list()) == 3
    assert memory.save_batch([]) == []


def test_C5_saving_returns_what_the_index_has(memory: Muisti, clock: FakeClock) -> None:
    old = memory.save("Helsinki is the capital, as of today")
    clock.forward(hours=5)
    known = memory.save("A walrus sings #loud about [[Helsinki]]", keywords=["b", "a"])
    items: list[Draft | str | dict[str, Any]] = [
        "Plain",
        Draft(content="With a link and a time", created_at=clock.now() - timedelta(days=90)),
        {"content": "Nearly forgotten", "salience": 0.02, "importance": 1},
        {"content": "Of a session", "session_id": "s1", "tier": "session", "user": "ana"},
        {"content": "True until", "valid_from": clock.now(), "valid_until": clock.now()},
        Draft(content="Given an ID", id="0190c0de-0000-7000-8000-000000000001"),
        "Twice in one batch",
        "Twice in one batch",
        "A walrus sings #loud about [[Helsinki]]",
    ]
    assert known == memory.get(known.id)
    new = memory.save("Tampere is the capital", replaces=old.id)
    assert new == memory.get(new.id)
    batches = [[item] for item in items]
    batches += [[f"{number} of many" for number in range(20)]]
    batches += [["New, and twice", "New, and twice", "New, once"]]
    for batch in batches:
        saved = memory.save_batch(batch)
        assert saved == [memory.get(one.id) for one in saved]
        clock.forward(seconds=1)


def test_C5_update_changes_what_is_named_and_keeps_the_rest(
    memory: Muisti, clock: FakeClock
) -> None:
    saved = memory.save("Version one of the text", kind="fact", keywords=["a"])
    clock.forward(hours=1)
    updated = memory.update(saved.id, content="Version two of the text", keywords=["a", "b"])
    assert (updated.content, updated.title, updated.keywords) == (
        "Version two of the text",
        "Version two of the text",
        ("a", "b"),
    )
    assert (updated.id, updated.kind, updated.created_at) == (saved.id, "fact", saved.created_at)
    assert updated.updated_at == clock.now()
    assert updated.content_hash != saved.content_hash
    assert [r.memory.id for r in memory.search("two")] == [saved.id]
    assert memory.search("one", mode="keyword") == []


def test_C5_a_title_of_its_own_survives_new_content(memory: Muisti) -> None:
    saved = memory.save("Some text", title="My title")
    assert memory.update(saved.id, content="Other text").title == "My title"


def test_C5_update_moves_the_file_with_its_kind(memory: Muisti, vault: Path) -> None:
    saved = memory.save("A fact that became a decision", kind="fact")
    updated = memory.update(saved.id, kind="decision", project="web")
    assert str(updated.file_path).startswith("projects/web/decisions/")
    assert not (vault / str(saved.file_path)).exists()
    assert memory.verify(deep=True).ok


def test_C5_update_of_what_somebody_else_changed_is_a_conflict(opened: Opener, vault: Path) -> None:
    memory = opened()
    saved = memory.save("Read by two")
    memory.update(saved.id, content="Changed by one", expected_hash=saved.content_hash)
    with pytest.raises(Conflict):
        memory.update(saved.id, content="Changed by the other", expected_hash=saved.content_hash)
    file = vault / str(saved.file_path)
    file.write_text(file.read_text().replace("Changed by one", "Edited by hand"))
    with pytest.raises(Conflict, match="outside muisti"):
        memory.update(saved.id, content="Would overwrite the edit")
    assert "Edited by hand" in file.read_text()
    assert (
        memory.update(saved.id, content="After reading it again").content
        == "After reading it again"
    )


def test_C5_changing_another_field_keeps_an_edit_made_meanwhile(
    memory: Muisti, vault: Path
) -> None:
    saved = memory.save("Original text")
    file = vault / str(saved.file_path)
    file.write_text(file.read_text().replace("Original text\n", "Edited text\n"))
    assert memory.update(saved.id, importance=0.8).content == "Edited text"


def test_C5_reinforce_has_diminishing_returns_and_deemphasize_a_floor(memory: Muisti) -> None:
    saved = memory.save("Another test")
    assert memory.reinforce(saved.id, 0.5).salience == 1.0
    assert memory.deemphasize(saved.id, 0.5).salience == 0.5
    boosted = memory.reinforce(saved.id, 0.5)
    assert boosted.salience == 0.75
    assert boosted.access_count == 2
    assert memory.deemphasize(saved.id, 2.0).salience == 0.05
    with pytest.raises(InvalidRequest, match="amount"):
        memory.reinforce(saved.id, -1)


def test_C5_touch_notes_when_it_was_looked_at(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("Look at me")
    assert saved.last_accessed is None
    clock.forward(days=2)
    assert memory.touch(saved.id).last_accessed == clock.now()


@pytest.mark.parametrize(
    "verb", ["touch", "reinforce", "deemphasize", "restore", "timeline", "related"]
)
def test_C5_an_unknown_id_is_named(memory: Muisti, verb: str) -> None:
    with pytest.raises(MemoryNotFound, match="no-such-id"):
        getattr(memory, verb)("no-such-id")
    with pytest.raises(MemoryNotFound, match="no-such-id"):
        memory.update("no-such-id", title="x")
    assert memory.get("no-such-id") is None
    assert memory.delete("no-such-id") is False


def test_C5_list_has_the_options_of_the_specification(memory: Muisti, clock: FakeClock) -> None:
    for n in range(6):
        clock.forward(hours=1)
        saved = memory.save(
            f"Number {n}",
            sector="episodic" if n % 2 else "semantic",
            tier="global" if n > 3 else None,
        )
        if n == 2:
            memory.deemphasize(saved.id, 0.7)
        if n == 5:
            memory.delete(saved.id)

    def numbers(**options: object) -> list[str]:
        return [found.content[-1] for found in memory.list(**options)]  # type: ignore[arg-type]

    assert numbers() == list("43210")
    assert numbers(order="asc", limit=2, offset=1) == list("12")
    assert numbers(sector="episodic") == list("31")
    assert numbers(tier="global") == list("4")
    assert numbers(min_salience=0.5) == list("4310")
    assert numbers(include_deleted=True)[0] == "5"
    assert numbers(order_by="salience", order="asc")[0] == "2"
    with pytest.raises(InvalidRequest, match="order_by"):
        memory.list(order_by="colour")


TITLES = [
    ("# A heading\n\ntext", "A heading"),
    ("First sentence. Second one.", "First sentence."),
    ("- a **bold** list item", "a bold list item"),
    ("```\ncode\n```", "```"),
    ("第一句。第二句。", "第一句。"),
    ("word " * 40, "word " * 14 + "word…"),
]


@pytest.mark.parametrize(("content", "title"), TITLES)
def test_C5_a_title_is_derived(memory: Muisti, content: str, title: str) -> None:
    assert memory.save(content).title == title


def test_C5_concepts_are_extracted(memory: Muisti) -> None:
    saved = memory.save(
        "We moved `make_token` from src/auth/index.ts to the AuthService of Acme Corp, see README.md."
    )
    assert {"make_token", "src/auth/index.ts", "AuthService", "Acme Corp", "README.md"} <= set(
        saved.concepts
    )
