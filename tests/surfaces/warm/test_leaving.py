"""The warm process starts by itself, is the only one, and leaves by itself."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from pathlib import Path

import pytest

from muisti.surfaces.warm import client
from tests.surfaces.warm.conftest import LIMIT, World, find_processes, socket_path, wait_for


def test_it_starts_after_a_search(world: World, tmp_path: Path) -> None:
    assert not find_processes(tmp_path)
    first = world.search("which database")
    wait_for(world.status)
    assert world.answered() == 0
    assert world.search("which database").stdout == first.stdout
    assert world.answered() == 1
    assert len(find_processes(tmp_path)) == 1
    path = socket_path(world.vault)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    stopped = world.run("warm", "stop", "--vault", str(world.vault))
    assert stopped.returncode == 0, stopped.stderr
    wait_for(lambda: not find_processes(tmp_path))
    assert not path.exists()


def test_there_is_only_one(world: World, tmp_path: Path) -> None:
    first = world.start()
    second = world.start(wait=False)
    assert second.wait(timeout=LIMIT) == 0
    assert first.poll() is None
    assert world.status() is not None


def test_a_killed_one_is_replaced(world: World) -> None:
    process = world.start()
    process.kill()
    process.wait(timeout=LIMIT)
    assert socket_path(world.vault).exists()
    assert b"PostgreSQL" in world.search("which database").stdout
    wait_for(world.status)


@pytest.mark.parametrize("how", ["idle", "term", "socket", "vault", "moved", "taken"])
def test_it_leaves(world: World, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "idle":
        monkeypatch.setenv("MUISTI_WARM_MINUTES", "0.05")
    process = world.start()
    path = socket_path(world.vault)
    if how == "term":
        process.send_signal(signal.SIGTERM)
    elif how == "socket":
        path.unlink()
    elif how == "vault":
        shutil.rmtree(world.vault)
    elif how == "moved":
        world.vault.rename(world.vault.with_name("other"))
    elif how == "taken":
        path.unlink()
        path.write_text("of another process")
    assert process.wait(timeout=LIMIT) == 0
    assert path.exists() == (how == "taken")


def test_a_process_of_another_version_leaves(world: World) -> None:
    process = world.start()
    with pytest.raises(client.NoAnswer, match="another version"):
        client.ask(str(world.vault), {"do": "search", "muisti": "0.0.1"}, 10.0)
    assert process.wait(timeout=LIMIT) == 0


@pytest.mark.parametrize("why", ["CI", "variable", "setting", "file", "read-only", "stranger"])
def test_it_does_not_start(
    world: World, tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: list[str] = []
    if why == "CI":
        monkeypatch.setenv("CI", "true")
    elif why == "variable":
        monkeypatch.setenv("MUISTI_WARM", "0")
    elif why == "setting":
        monkeypatch.setenv("MUISTI_WARM", "no")
    elif why == "file":
        settings = world.vault / "muisti.toml"
        settings.write_text(settings.read_text("utf-8") + "\nwarm = false\n", "utf-8")
    elif why == "read-only":
        if os.geteuid() == 0:
            pytest.skip("root can write everywhere")
        world.vault.chmod(0o500)
    elif why == "stranger":
        stranger = tmp_path / "clone"
        shutil.copytree(world.vault, stranger, ignore=shutil.ignore_patterns(".muisti"))
        world.vault = stranger
        arguments = ["foreign"]
        monkeypatch.chdir(stranger)
    try:
        found = world.run("search", "which database") if arguments else world.search("database")
        assert b"PostgreSQL" in found.stdout
        process = world.start(*arguments, wait=False)
        assert process.wait(timeout=LIMIT) == 0
        assert not find_processes(tmp_path)
        assert world.status() is None
    finally:
        world.vault.chmod(0o700)


def test_doctor_and_status_name_it(world: World) -> None:
    vault = ("--vault", str(world.vault))
    assert b"not running" in world.run("warm", "status", *vault).stdout
    process = world.start()
    number = str(process.pid).encode()
    assert number in world.run("warm", "status", *vault).stdout
    assert number in world.run("doctor", *vault).stdout
    assert b'"process"' in world.run("warm", "status", "--json", *vault).stdout
