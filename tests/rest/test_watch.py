"""Which changes of files are heard of."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from watchfiles import Change

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
