"""A full disk: whatever only reads works, says if it may lack something, and goes on when there is
space again. On a small file system in memory, which only root can mount.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muisti import Muisti, bootstrap
from muisti.errors import VaultFull
from muisti.ports import Clock

from .invariants import check_found, check_rebuild, check_sound, state


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(mount)]
    if sys.platform != "linux" or subprocess.run(command, check=False).returncode:
        pytest.skip("file systems can only be mounted by root, on Linux")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def _fill_disk(mount: Path) -> Path:
    filler = mount / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue
    return filler


def _save(memory: Muisti) -> str:
    memory.save_batch([f"Memory {n} about alpha{n} and beta" for n in range(20)])
    memory.append_message("cli_main", "user", "We talked about alpha")
    memory.core_update("user", "name", "Anna")
    session = memory.start_session("apollo").id
    return memory.save("The last memory about alpha", session_id=session).id


READS: dict[str, Callable[[Muisti, str], object]] = {
    "search": lambda memory, _: memory.search("alpha"),
    "get": lambda memory, id_: memory.get(id_),
    "list": lambda memory, _: memory.list(),
    "stats": lambda memory, _: memory.get_stats(),
    "context": lambda memory, _: memory.context("alpha"),
    "window": lambda memory, _: memory.window("cli_main"),
    "messages": lambda memory, _: memory.search_messages("alpha"),
    "timeline": lambda memory, id_: memory.timeline(id_),
    "details": lambda memory, id_: memory.details([id_]),
    "related": lambda memory, id_: memory.related(id_),
    "history": lambda memory, id_: memory.history(id_),
    "export": lambda memory, _: memory.export_memories(),
    "core": lambda memory, _: memory.core_get(),
    "sessions": lambda memory, _: memory.list_sessions(),
    "problems": lambda memory, _: [memory.problems()],
    "verify": lambda memory, _: memory.verify(),
    "explain": lambda memory, id_: memory.explain("alpha", id_),
}


def _read_all(memory: Muisti, id_: str) -> None:
    for _ in range(2):
        for name, read in READS.items():
            assert read(memory, id_), name
    with pytest.raises(VaultFull):
        memory.save("This does not fit any more " * 200)
    assert memory.search("alpha")


def test_K2_reads_work_in_an_open_vault(small: Path, clock: Clock) -> None:
    vault = small / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        id_ = _save(memory)
        held = state(memory)
        filler = _fill_disk(small)
        _read_all(memory, id_)
        assert all("the disk is full" in one.reason for one in memory.verify().problems)
        filler.unlink()
        memory.save("It fits again")
        assert len(state(memory)) == len(held) + 1
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("sync_on_open", [True, False], ids=["sync", "no sync"])
def test_K2_reads_work_in_a_vault_that_is_opened(
    small: Path, clock: Clock, sync_on_open: bool
) -> None:
    vault = small / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        id_ = _save(memory)
    filler = _fill_disk(small)
    options = {"sync_on_open": sync_on_open}
    with bootstrap.open(vault, clock=clock, settings=options) as memory:
        _read_all(memory, id_)
        assert all("the disk is full" in one.reason for one in memory.verify().problems)
        reasons = [problem.reason for problem in memory.verify(deep=True).problems]
        assert any("cannot be compared" in reason for reason in reasons)
        assert all("the disk is full" in reason for reason in reasons)
        filler.unlink()
        memory.save("It fits again")
        check_found(memory)
        check_sound(memory)
    check_rebuild(vault, clock)


def test_K2_a_hook_reads(small: Path, clock: Clock) -> None:
    vault = small / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        _save(memory)
    _fill_disk(small)
    hook = bootstrap.open(vault, role="hook")
    try:
        assert hook.search("alpha")
    finally:
        hook.close()


def test_F_a_search_says_that_an_edit_is_missing(small: Path, clock: Clock) -> None:
    vault = small / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        id_ = _save(memory)
        path = vault / str(memory.get(id_).file_path)  # type: ignore[union-attr]
    path.write_text(path.read_text("utf-8").replace("last", "final"), "utf-8")
    filler = _fill_disk(small)
    with bootstrap.open(vault, clock=clock) as memory:
        found = memory.search("alpha")
        assert found
        assert "the disk is full" in found.degraded
        assert not memory.verify().ok
        filler.unlink()
        assert [hit.memory.id for hit in memory.search("final")] == [id_]
        assert memory.search("final").degraded == ""
        check_sound(memory)


def test_K2_a_copied_vault_on_a_full_disk(small: Path, tmp_path: Path, clock: Clock) -> None:
    """Its index has to be marked as its own, for which there is no space."""
    with bootstrap.open(tmp_path / "vault", clock=clock) as memory:
        id_ = _save(memory)
        shutil.copytree(tmp_path / "vault", small / "vault")
    _fill_disk(small)
    with bootstrap.open(small / "vault", clock=clock) as memory:
        for name, read in READS.items():
            if name != "verify":
                assert read(memory, id_), name


@pytest.mark.parametrize(
    "command", ["search alpha", "list", "stats", "verify", "context alpha", "timeline", "show"]
)
def test_K2_commands_that_read(small: Path, clock: Clock, command: str) -> None:
    vault = small / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        id_ = _save(memory)
    _fill_disk(small)
    arguments = [*command.split(), *([id_] if command in ("timeline", "show") else [])]
    run = subprocess.run(
        [sys.executable, "-m", "muisti", *arguments, "--vault", str(vault)],
        capture_output=True,
        text=True,
        env={**os.environ, "MUISTI_EMBEDDER": "none"},
        cwd=small,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_K2_doctor_says_that_the_disk_is_full(small: Path, clock: Clock) -> None:
    from muisti.surfaces.setup.check_vault import check_vault

    vault = small / "vault"
    with bootstrap.open(vault, clock=clock) as memory:
        _save(memory)
    assert not [one for one in check_vault(str(vault)) if one.level == "problem"]
    _fill_disk(small)
    [problem] = [one for one in check_vault(str(vault)) if one.level == "problem"]
    assert "the disk is full" in problem.what
    assert problem.fix
