"""C5, B3 · History: what became of a memory, and what it said before."""

from __future__ import annotations

from pathlib import Path

import pytest

from muisti import InvalidRequest, Muisti
from tests.conftest import FakeClock, Opener


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def told(memory: Muisti, memory_id: str) -> list[tuple[str, str | None]]:
    return [(one.what, one.content) for one in memory.history(memory_id)]


def test_C5_each_update_of_the_text_keeps_what_it_said(memory: Muisti, clock: FakeClock) -> None:
    saved = memory.save("First")
    for text in ("Second", "Third"):
        clock.forward(hours=1)
        memory.update(saved.id, content=text)
    clock.forward(hours=1)
    memory.update(saved.id, importance=0.9)
    assert told(memory, saved.id) == [
        ("saved", None),
        ("updated", "First"),
        ("updated", "Second"),
        ("updated", None),
    ]
    moments = [one.at for one in memory.history(saved.id)]
    assert moments == sorted(moments)
    memory.reindex()
    assert told(memory, saved.id)[1] == ("updated", "First")


def test_C5_updates_of_one_moment_are_both_there(memory: Muisti) -> None:
    saved = memory.save("First")
    for text in ("Second", "Third"):
        memory.update(saved.id, content=text)
    assert {content for _, content in told(memory, saved.id) if content} == {"First", "Second"}


def test_C5_uses_links_and_deletion_are_told(memory: Muisti, clock: FakeClock) -> None:
    saved, other = memory.save("The otter swims"), memory.save("Deploys happen on Fridays")
    session = memory.start_session()
    memory.search("otter", session_id=session.id)
    memory.reinforce(saved.id, session_id=session.id)
    memory.deemphasize(saved.id)
    memory.touch(saved.id)
    memory.link(saved.id, other.id, "BUILDS_ON")
    memory.supersede(saved.id, other.id)
    memory.delete(saved.id)
    memory.restore(saved.id)
    found = memory.history(saved.id)
    whats = [one.what for one in found]
    expected = [
        "saved",
        "recalled",
        "reinforced",
        "deemphasized",
        "touched",
        "linked",
        "linked from",
        "superseded",
    ]
    assert whats == [*expected, "deleted", "restored"]
    assert {one.what for one in found if one.session_id == session.id} == {"recalled", "reinforced"}
    assert {one.what for one in found if one.other_id == other.id} == {
        "linked",
        "linked from",
        "superseded",
    }
    assert [one.what for one in memory.history(other.id)] == [
        "saved",
        "linked from",
        "linked",
        "replaced",
    ]


def test_C5_a_file_written_by_hand_has_a_beginning_too(memory: Muisti, vault: Path) -> None:
    (vault / "notes").mkdir(exist_ok=True)
    (vault / "notes" / "mine.md").write_text(
        "---\ncreated_at: 2026-01-02\nsource: anna\n---\n\nBy hand\n"
    )
    memory.sync()
    (found,) = memory.list()
    (line,) = memory.history(found.id)
    assert (line.what, line.note, line.at) == ("created", "by anna", found.created_at)


def test_C5_a_folder_of_versions_with_a_strange_file_still_tells(
    memory: Muisti, vault: Path
) -> None:
    saved = memory.save("First")
    memory.update(saved.id, content="Second")
    for name in ("20269901T000000000000Z.md", "notes.md", "20260101T000000000000Z.md"):
        (vault / ".history" / saved.id / name).write_text("---\nimportance: often\n---\n")
    assert ("updated", "First") in told(memory, saved.id)


def test_B6_a_hard_delete_takes_the_versions_along(memory: Muisti, vault: Path) -> None:
    saved = memory.save("Plughxyzzy")
    memory.update(saved.id, content="Second")
    assert memory.delete(saved.id, hard=True)
    assert not [
        path for path in vault.rglob("*") if path.is_file() and b"lughxyzzy" in path.read_bytes()
    ]
    assert [what for what, _ in told(memory, saved.id)][
        -1
    ] == "erased"  # that it was, not what it was


def test_B6_a_soft_delete_keeps_them(memory: Muisti) -> None:
    saved = memory.save("First")
    memory.update(saved.id, content="Second")
    memory.delete(saved.id)
    assert ("updated", "First") in told(memory, saved.id)


def test_H1_history_tells_when_a_link_was_taken_back(memory: Muisti, clock: FakeClock) -> None:
    one, other = memory.save("The otter swims"), memory.save("Deploys are on Fridays")
    memory.link(one.id, other.id, "related_to")
    clock.forward(days=2)
    memory.unlink(one.id, other.id, "related_to")
    assert [(h.what, h.at.day) for h in memory.history(one.id)[1:]] == [
        ("linked", 10),
        ("unlinked", 12),
    ]
    assert [h.what for h in memory.history(other.id)[1:]] == ["linked from", "unlinked from"]


def test_C3_memories_with_merged_texts_are_listed(memory: Muisti, clock: FakeClock) -> None:
    assert (memory.merged(), memory.merged_count()) == ([], 0)
    for n in range(3):
        memory.save(f"The auth module of service {n} is in src/auth{n}/index.ts")
    for n in (1, 2, 0):
        clock.forward(hours=1)
        memory.save(f"The authentication module of service {n} is located in src/auth{n}/index.ts")
    found = memory.merged()
    assert [one.content[27:28] for one in found] == ["0", "2", "1"]
    assert memory.merged_count() == 3
    assert memory.merged(limit=1, offset=1) == found[1:2]
    memory.delete(found[0].id)
    assert [one.id for one in memory.merged()] == [one.id for one in found]
    memory.delete(found[0].id, hard=True)
    memory.unmerge(found[1].id)
    assert [one.id for one in memory.merged()] == [found[2].id]
    with pytest.raises(InvalidRequest):
        memory.merged(limit=-1)
