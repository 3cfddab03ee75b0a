"""A command in a large vault answers first, says so, and the files are checked after it (B5, E11)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.surfaces.cli import sync_process

pytestmark = pytest.mark.needs_files("edits files by hand")
MAIN = "from muisti.surfaces.cli.main import main; main()"


@pytest.fixture
def filled(vault: Path) -> Path:
    with bootstrap.open(vault, settings={"embedder": "none"}) as memory:
        for text in ("Sanna drinks green tea", "The deployment runs on Friday", "A third memory"):
            memory.save(text)
    return vault


def edit_in_place(vault: Path, old: str, new: str) -> None:
    """Change a file without changing its size, its inode, or the times of its folder."""
    assert len(old) == len(new)
    path = next(path for path in vault.rglob("*.md") if old in path.read_text("utf-8"))
    folder = path.parent.stat()
    before = path.stat()
    with path.open("r+", encoding="utf-8") as file:
        text = file.read().replace(old, new)
        file.seek(0)
        file.write(text)
    assert (path.stat().st_size, path.stat().st_ino) == (before.st_size, before.st_ino)
    assert path.parent.stat().st_mtime_ns == folder.st_mtime_ns


def open_as_command(vault: Path, limit: int) -> Muisti:
    settings: dict[str, str | int] = {"embedder": "none", "sync_first_below": limit}
    return bootstrap.open(vault, role="cli", settings=settings)


def find_texts(memory: Muisti, query: str) -> list[str]:
    return [one.memory.content.strip() for one in memory.search(query, record=False)]


def test_B5_in_an_ordinary_vault_the_next_open_finds_an_edit_in_place(filled: Path) -> None:
    edit_in_place(filled, "green tea", "black tea")
    with open_as_command(filled, 3) as memory:
        found = memory.search("black tea", record=False)
        assert found[0].memory.content.strip() == "Sanna drinks black tea"
        assert not memory.sync_postponed
        assert "edited outside" not in found.degraded


def test_B5_a_large_vault_answers_first_and_says_so(filled: Path) -> None:
    edit_in_place(filled, "green tea", "black tea")
    with open_as_command(filled, 2) as memory:
        found = memory.search("tea", mode="keyword", record=False)
        assert found[0].memory.content.strip() == "Sanna drinks green tea"
        assert "edited outside" in found.degraded
        assert memory.sync_postponed
        assert memory.details([found[0].memory.id, found[0].memory.id[:-4] + "0000"]).missing
    sync_process.sync_all(filled)
    with open_as_command(filled, 2) as memory:
        assert find_texts(memory, "tea") == ["Sanna drinks black tea"]


def test_B5_programs_that_stay_check_before_they_answer(filled: Path) -> None:
    edit_in_place(filled, "green tea", "black tea")
    settings: dict[str, str | int] = {"embedder": "none", "sync_first_below": 0}
    for role in ("library", "server", "mcp"):
        with bootstrap.open(filled, role=role, settings=settings) as memory:  # type: ignore[call-overload]
            assert find_texts(memory, "tea") == ["Sanna drinks black tea"], role


def test_B5_the_next_command_sees_what_the_one_before_left(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUISTI_EMBEDDER", "none")
    monkeypatch.setenv("MUISTI_SYNC_FIRST_BELOW", "2")
    monkeypatch.chdir(tmp_path)
    edit_in_place(filled, "green tea", "black tea")
    command = [sys.executable, "-P", "-c", MAIN, "search", "tea", "--vault", str(filled)]
    first = subprocess.run(command, check=True, capture_output=True)
    assert b"green tea" in first.stdout
    assert b"checked in the background" in first.stderr
    until = time.monotonic() + 60
    while b"black tea" not in subprocess.run(command, check=True, capture_output=True).stdout:
        assert time.monotonic() < until, "the edit was never found"
    wait_until_free(filled)


def wait_until_free(vault: Path) -> None:
    """Wait until no process looks at the files any more."""
    name = os.fsencode(vault)
    until = time.monotonic() + 60
    while any(
        name in path.read_bytes() and b"sync_process" in path.read_bytes()
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.exists()
    ):
        assert time.monotonic() < until, "a process is left"
        time.sleep(0.05)


def test_E11_a_command_waits_only_a_moment_for_the_check(filled: Path) -> None:
    from muisti.surfaces import detached

    with detached.hold_lock(filled / ".muisti" / sync_process.LOCK):
        sync_process.wait(filled)  # returns, although the lock is held


def test_B5_an_edit_during_the_check_is_found_too(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that ends while another one's check runs asks it to look again."""
    lock = filled / ".muisti" / sync_process.LOCK
    looks: list[int] = []
    original = Muisti.sync

    def sync(self: Muisti, **options: object) -> object:
        looks.append(1)
        report = original(self, **options)  # type: ignore[arg-type]
        if len(looks) == 1:
            edit_in_place(filled, "green tea", "black tea")
            os.utime(lock)
        return report

    monkeypatch.setattr(Muisti, "sync", sync)
    sync_process.sync_all(filled)
    assert len(looks) == 2
    with open_as_command(filled, 2) as memory:
        assert find_texts(memory, "tea") == ["Sanna drinks black tea"]
