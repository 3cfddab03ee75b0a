"""Changing only what was read: `expected_version`, across processes and against edits by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from muisti import Conflict, Memory, Muisti
from muisti.model.memory import VERSIONED
from tests.conftest import FakeClock, Opener

BY_USE = {
    "updated_at", "concepts", "salience", "access_count", "last_accessed", "content_hash", "simhash", "chunk_count",
    "embedding_model", "file_path", "index_pending", "standing", "hashtags",
    "wikilinks",
}  # fmt: skip
"""What follows from other fields, or changes by use, by upkeep of the index and by moves of the
file.
"""
LATER = datetime(2027, 1, 1, tzinfo=UTC)
CHANGES: dict[str, object] = {
    "content": "Maija moved to Tampere", "title": "Where Maija lives", "aliases": ["Home"], "kind": "decision", "sector": "emotional",
    "tier": "global", "project": "apollo", "user": "anna", "agent": "codex", "session_id": "s-1", "source": "letter", "summary": "A move",
    "keywords": ["home"], "files": ["a.py"], "importance": 0.9, "valid_from": LATER, "valid_until": LATER, "pinned": True,
    "trusted": False,
}  # fmt: skip


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def test_C5_every_field_is_of_the_version_or_follows_from_use() -> None:
    assert {one.name for one in fields(Memory)} == set(VERSIONED) | BY_USE
    assert not set(VERSIONED) & BY_USE


@pytest.mark.parametrize("field", CHANGES)
def test_C5_a_change_of_any_field_is_another_version(memory: Muisti, field: str) -> None:
    read = memory.save("Maija lives in Turku", kind="fact")
    changed = memory.update(read.id, expected_version=read.version, **{field: CHANGES[field]})  # type: ignore[arg-type]
    assert changed.version != read.version
    with pytest.raises(Conflict, match=r"read it again"):
        memory.update(read.id, expected_version=read.version, title="Too late")
    again = memory.get(read.id)
    assert again is not None
    assert again == changed
    assert (
        memory.update(read.id, expected_version=again.version, title="In time").title == "In time"
    )


def test_C5_a_link_is_another_version_and_being_used_is_not(
    memory: Muisti, clock: FakeClock
) -> None:
    read, other = memory.save_batch(["Maija lives in Turku", "The printer is on the third floor"])
    clock.forward(days=40)
    memory.search("Maija")
    memory.touch(read.id)
    memory.reinforce(read.id)
    memory.deemphasize(read.id)
    memory.upkeep()
    memory.reindex()
    used = memory.get(read.id)
    assert used is not None
    assert (used.access_count, used.version) == (3, read.version)
    memory.link(read.id, other.id)
    with pytest.raises(Conflict):
        memory.update(read.id, expected_version=read.version, title="Too late")


ELSEWHERE = """
import sys
from muisti import Muisti
with Muisti.open(sys.argv[1], embedder="none") as memory:
    memory.update(sys.argv[2], **eval(sys.argv[3]))
"""


def in_another_process(vault: Path, memory_id: str, changes: dict[str, object]) -> None:
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, vault, memory_id, repr(changes)], check=True, timeout=60
    )


@pytest.mark.parametrize(
    "changes",
    [{"title": "Theirs"}, {"importance": 0.8}, {"keywords": ["theirs"]}, {"kind": "decision"}],
)
def test_C5_what_another_process_changed_is_a_conflict(
    memory: Muisti, vault: Path, changes: dict[str, object]
) -> None:
    read = memory.save("Maija lives in Turku", kind="fact")
    in_another_process(vault, read.id, changes)
    with pytest.raises(Conflict):
        memory.update(read.id, expected_version=read.version, summary="Mine")
    now = memory.get(read.id)
    assert now is not None
    assert [getattr(now, name) for name in changes] == [
        tuple(v) if isinstance(v, list) else v for v in changes.values()
    ]
    assert memory.update(read.id, expected_version=now.version, summary="Mine").summary == "Mine"


EDITS: dict[str, Callable[[str], str]] = {
    "title": lambda text: text.replace("title: Maija lives in Turku", "title: By hand"),
    "importance": lambda text: text.replace("importance: 0.5", "importance: 0.7"),
    "a new field": lambda text: text.replace("---\n", "---\npinned: true\n", 1),
    "the text": lambda text: text.replace("Turku\n", "Oulu\n"),
}


@pytest.mark.parametrize("what", EDITS)
def test_C5_an_edit_by_hand_is_a_conflict_until_it_is_read(
    memory: Muisti, vault: Path, what: str
) -> None:
    read = memory.save("Maija lives in Turku", kind="fact")
    file = vault / str(read.file_path)
    edited = EDITS[what](file.read_text())
    assert edited != file.read_text()
    file.write_text(edited)
    with pytest.raises(Conflict):  # though nobody has looked at the files since
        memory.update(read.id, expected_version=read.version, summary="Mine")
    assert file.read_text() == edited
    now = memory.get(read.id)
    assert now is not None
    assert now.version != read.version
    assert memory.update(read.id, expected_version=now.version, summary="Mine").summary == "Mine"
    assert memory.verify(deep=True).ok


def test_C5_an_edit_that_says_nothing_new_is_none(memory: Muisti, vault: Path) -> None:
    read = memory.save("Maija lives in Turku")
    file = vault / str(read.file_path)
    file.write_text(file.read_text().replace("---\n", "---\nmood: a note for myself\n", 1))
    assert memory.update(read.id, expected_version=read.version, title="Mine").title == "Mine"
    assert "mood: a note for myself" in file.read_text()


def test_C5_the_same_moment_in_another_time_zone_is_the_same_version(memory: Muisti) -> None:
    read = memory.save("Maija lives in Turku", valid_from=LATER)
    assert read.valid_from is not None
    elsewhere = replace(read, valid_from=read.valid_from.astimezone(timezone(timedelta(hours=2))))
    assert elsewhere.version == read.version
    assert (
        replace(read, valid_from=read.valid_from + timedelta(microseconds=1)).version
        != read.version
    )


def test_C5_a_memory_that_was_superseded_can_be_changed(memory: Muisti) -> None:
    """Its end follows from the link of another memory as well as from its own file."""
    old, new = memory.save("Maija lives in Turku"), memory.save("The printer is on the third floor")
    memory.link(new.id, old.id, "SUPERSEDES")
    read = memory.get(old.id)
    assert read is not None
    assert memory.update(old.id, expected_version=read.version, title="Before").title == "Before"
