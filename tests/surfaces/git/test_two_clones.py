"""Two clones of a vault are edited, and merged by git: nothing is lost."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

from muisti import Memory
from muisti.storage.files.memory_ids import read_memory_id
from muisti.surfaces.git.resolve import resolve_conflicts
from tests.conftest import FakeClock
from tests.surfaces.git.clones import (
    CHAT,
    Edits,
    edit_randomly,
    git,
    keep_ours,
    make_clones,
    open_vault,
)


def merge(one: Path, other: Path) -> set[str]:
    """Merge the other clone into one, and return the files that still have a conflict."""
    git(one, "fetch", "-q", str(other), "main")
    with suppress(AssertionError):
        git(one, "merge", "-q", "-m", "Merge", "FETCH_HEAD")
    return set(resolve_conflicts(one)[1])


def read_events(root: Path) -> list[bytes]:
    return [
        line
        for file in sorted(root.glob("journal/*.jsonl"))
        for line in file.read_bytes().splitlines()
    ]


def read_texts(root: Path, memory: Memory) -> str:
    """Return the text of a memory's file, and for a deleted one those of its versions.

    Git takes a version for the new place of a file that one side updated and then deleted.
    """
    files = [root / str(memory.file_path)]
    if memory.deleted_at is not None:
        files += (root / ".history" / memory.id).glob("*.md")
    return "".join(file.read_text() for file in files)


def check_merged(root: Path, mine: Edits, their: Edits, before: list[bytes]) -> None:
    after = read_events(root)
    assert len(after) == len(set(after))
    assert set(before) <= set(after)
    times = [re.search(rb'"at":"([^"]+?)Z?"', line)[1] for line in after]  # type: ignore[index]
    assert times == sorted(times)
    with open_vault(root, FakeClock()) as vault:
        assert vault.verify().ok, vault.verify()
        found = {m.id: m for m in vault.list(limit=None, include_deleted=True)}
        assert mine.saved | their.saved <= set(found)
        assert {id_ for id_, m in found.items() if m.deleted_at} == mine.deleted | their.deleted
        for edits, others in ((mine, their), (their, mine)):
            for (id_, part), text in edits.parts.items():
                if (id_, part) not in others.parts:
                    assert text in read_texts(root, found[id_])
            for id_, title in edits.titles.items():
                if id_ not in others.titles:
                    assert f"title: {title}\n" in read_texts(root, found[id_])
            for id_, words in edits.keywords.items():
                assert all(f"  - {word}\n" in read_texts(root, found[id_]) for word in words)
            for source, target in edits.links:
                assert f"RELATED_TO {target}" in read_texts(root, found[source])
            for key, value in edits.core.items():
                if key not in others.core:
                    assert vault.core_get().user[key] == value
        said = [message.content for message in vault.window(CHAT, limit=None)]
        assert len(said) == len(set(said))
        assert mine.messages | their.messages <= set(said)


def list_answers(root: Path) -> list[object]:
    clock = FakeClock()
    clock.forward(days=2)
    with open_vault(root, clock, record_recall=False) as vault:
        vault.sync()
        vault.reindex()
        questions = ("changed part", "title 3", "new 1", "renamed", "memory 7", "word5")
        hits = [
            [(hit.memory.id, hit.score) for hit in vault.search(q, limit=20)] for q in questions
        ]
        listed = [
            (m.id, m.content, m.title, m.keywords, m.salience, m.access_count, m.links)
            for m in sorted(vault.list(limit=None), key=lambda m: m.id)
        ]
        return [hits, listed, vault.core_get(), [m.content for m in vault.window(CHAT, limit=None)]]


@pytest.mark.parametrize(
    ("memories", "edits", "seed"),
    [
        pytest.param(12, 25, 1),
        *(pytest.param(60, 200, seed, marks=pytest.mark.exhaustive) for seed in (14,)),
    ],
)
def test_B5_two_clones_merge_and_nothing_is_lost(
    tmp_path: Path, memories: int, edits: int, seed: int
) -> None:
    one, other = make_clones(tmp_path, memories)
    mine = edit_randomly(one, seed, edits)
    their = edit_randomly(other, seed + 100, edits)
    before = list(dict.fromkeys([*read_events(one), *read_events(other)]))
    left = merge(one, other)
    texts = {id_ for id_, _ in set(mine.parts) & set(their.parts)}
    titles = set(mine.titles) & set(their.titles)
    memories_left = {path for path in left if path.endswith(".md")}
    ids = {str(read_memory_id((one / path).read_bytes())) for path in memories_left}
    assert ids <= texts | titles
    deleted = mine.deleted | their.deleted
    assert ids - deleted == (texts | titles) - deleted
    is_core = bool(set(mine.core) & set(their.core))
    assert left - memories_left == ({"core_memory.json"} if is_core else set())
    for path in left:
        keep_ours(one / path)
    git(one, "add", "-A")
    git(one, "commit", "-q", "--allow-empty", "-m", "Resolved")
    check_merged(one, mine, their, before)
    git(one, "add", "-A")
    git(one, "commit", "-q", "--allow-empty", "-m", "Opened")
    git(other, "pull", "-q", "--ff-only", str(one), "main")
    assert list_answers(one) == list_answers(other)


def test_B5_resolving_removes_no_file_that_a_name_matches_as_a_pattern(tmp_path: Path) -> None:
    """Both clones delete a memory whose file a person renamed."""
    one, other = make_clones(tmp_path, 3)
    first, *rest = sorted(one.glob("facts/*.md"))
    memory_id = str(read_memory_id(first.read_bytes()))
    first.rename(first.with_name("[a-z0-9]*.md"))
    git(one, "add", "-A")
    git(one, "commit", "-q", "-m", "Rename")
    git(other, "pull", "-q", "--ff-only", str(one), "main")
    for clone, hours in ((one, 1), (other, 2)):
        clock = FakeClock()
        clock.forward(hours=hours)
        with open_vault(clone, clock) as vault:
            vault.update(memory_id, importance=hours / 10)
            vault.delete(memory_id)
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", "Delete")
    assert merge(one, other) == set()
    assert all(path.exists() for path in rest)
    [trashed] = one.glob(".trash/facts/*.md")
    assert b"importance: 0.2" in trashed.read_bytes()
