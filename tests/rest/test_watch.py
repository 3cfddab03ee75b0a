"""Which changes of files are heard of."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from watchfiles import Change

from muisti.storage.files import watch as watching
from muisti.storage.files.watch import FolderWatch


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("facts/a.md", True), ("projects/x/facts/a.md", True), ("core_memory.json", True), ("conversations/a_b/2026-01-01.jsonl", True), ("muisti.toml", True), (".trash/a.md", True),
        (".muisti/index.db", False), ("journal/2026-01.jsonl", False), (".git/index", False), (".queue/x.jsonl", False), ("facts/.a.md.swp", False), ("facts/.tmp-1.md", False), ("facts", False), ("", False),
    ],
)  # fmt: skip
def test_only_what_a_person_may_edit(tmp_path: Path, name: str, theirs: bool) -> None:
    watch = FolderWatch(tmp_path, threading.Event())
    assert watch._is_relevant(Change.modified, str(tmp_path / name)) is theirs


@pytest.mark.parametrize(
    ("change", "theirs"), [(Change.added, True), (Change.deleted, True), (Change.modified, False)]
)
def test_a_folder_that_comes_or_goes_is_heard_of(
    tmp_path: Path, change: Change, theirs: bool
) -> None:
    watch = FolderWatch(tmp_path, threading.Event())
    assert watch._is_relevant(change, str(tmp_path / "projects" / "shop")) is theirs
    (tmp_path / "shop v1.2").mkdir()
    assert watch._is_relevant(change, str(tmp_path / "shop v1.2")) is theirs


def test_B5_the_files_of_a_new_folder_are_heard_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was written before the folder was watched has no event of its own."""
    (tmp_path / "notes").mkdir()
    for name in ("a.md", ".b.md", "picture.png"):
        (tmp_path / "notes" / name).touch()
    heard = [{(Change.added, str(tmp_path / "notes"))}, {(Change.deleted, str(tmp_path / "gone"))}]
    monkeypatch.setattr(watching, "watch", lambda *_, **__: iter(heard))
    found = list(FolderWatch(tmp_path, threading.Event()).batches(0.1, 1))
    assert found == [{"notes", "notes/a.md"}, {"gone"}]


def test_what_is_elsewhere_is_not_ours(tmp_path: Path) -> None:
    assert not FolderWatch(tmp_path / "a", threading.Event())._is_relevant(
        Change.modified, str(tmp_path / "b.md")
    )


def test_a_folder_that_cannot_be_watched_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    watch = FolderWatch(tmp_path, stop)
    asked: list[bool | None] = []

    def watched(settle: float, wake: float, *, polling: bool | None):
        asked.append(polling)
        if polling is None:
            raise OSError("too many watches")
        yield {"facts/a.md"}

    monkeypatch.setattr(watch, "_watch", watched)
    assert list(watch.batches(0.1, 1)) == [{"facts/a.md"}]
    assert asked == [None, True]


def test_K7_links_are_not_watched(tmp_path: Path) -> None:
    """Nothing outside is watched, and new folders inside still are."""
    root, outside = tmp_path / "vault", tmp_path / "outside"
    (root / "facts").mkdir(parents=True)
    outside.mkdir()
    (root / "projects").symlink_to(outside)
    (root / "facts" / "deep").symlink_to(outside)
    stop = threading.Event()
    watch = FolderWatch(root, stop)
    assert watch._list_folders() == [root, root / "facts"]
    seen: set[str] = set()

    def listen() -> None:
        for batch in watch.batches(0.05, 0.2):
            seen.update(batch)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    number = 0
    while not {"facts/a.md", "new/b.md"} <= seen and time.monotonic() < deadline:
        number += 1
        (root / "new").mkdir(exist_ok=True)
        for path in (outside / "x.md", root / "facts" / "a.md", root / "new" / "b.md"):
            path.write_text(f"text {number}")
        time.sleep(0.1)
    stop.set()
    thread.join(60)
    assert {"facts/a.md", "new/b.md"} <= seen
    assert not any(path.startswith(("projects/", "facts/deep/")) for path in seen)


def test_a_vault_without_links_is_watched_at_once(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    assert FolderWatch(tmp_path, threading.Event())._list_folders() == []
