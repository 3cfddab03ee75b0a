"""What the client finds out without a parser and without muisti's own modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muisti.locations import locate_vault
from muisti.settings import find_vault, get_own_vault, is_foreign
from muisti.surfaces.warm import client, protocol
from tests.surfaces.test_lean_imports import run
from tests.surfaces.warm.conftest import World

HEAVY = ("apsw", "click", "dataclasses", "hashlib", "muisti.settings", "numpy", "rich", "typing")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x", "--vault", "/a/b"], "/a/b"),
        (["--vault=/a/b", "x"], "/a/b"),
        (["--vault", "~/notes", "x"], "HOME/notes"),
        (["x", "--vault", "notes"], "HERE/notes"),
        (["x"], "HERE"),
        (["x", "--vault"], None),
        (["x", "--vault="], None),
        (["x", "--vault", "/a", "--vault", "/b"], None),
        (["--", "--vault", "/a"], None),
        (["x", "--vaults", "/a"], None),
    ],
)
def test_the_vault_of_a_command_line(
    arguments: list[str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "muisti.toml").touch()
    monkeypatch.chdir(tmp_path)
    home = str(tmp_path / "home")
    if expected is not None:
        expected = expected.replace("HOME", home).replace("HERE", str(tmp_path))
    assert client.find_option_vault(arguments) == expected


@pytest.mark.parametrize("named", [None, "notes", "~/notes", "/a/b"])
@pytest.mark.parametrize("variable", ["", "other"])
@pytest.mark.parametrize("has_settings", [False, True])
def test_the_vault_is_found_as_everywhere(
    named: str | None,
    variable: str,
    has_settings: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    if variable:
        monkeypatch.setenv("MUISTI_VAULT", variable)
    if has_settings:
        (tmp_path / "a" / "muisti.toml").touch()
    expected = find_vault(named)
    path, foreign = locate_vault(named, str(folder))
    assert (Path(path), foreign) == (expected, is_foreign(expected, named))
    if named is None and not variable and not has_settings:
        assert expected == get_own_vault()


def test_little_is_imported() -> None:
    code = "import sys; from muisti.surfaces.warm import client; print(*sys.modules)"
    command = [sys.executable, "-P", "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert {*HEAVY, "pathlib"} & set(done.stdout.split()) == set()


def test_J6_a_hook_that_asks_imports_little(world: World) -> None:
    world.start()
    session = "7d1f3c52-0d4e-4b55-9c1f-1f2a3b4c5d6e"
    prompt = {"session_id": session, "cwd": "/", "prompt": "Which database, PostgreSQL?"}
    place = f"/tmp/m{os.getpid()}"  # plain, as people's folders are: the log has to check others
    os.symlink(world.vault, place)
    try:
        arguments = ("hook", "UserPromptSubmit", "--agent", "claude-code", "--vault", place)
        for attempt in range(10):  # on a busy machine a hook does not wait for the warm process
            prompt["session_id"] = f"{session[:-1]}{attempt}"
            output, modules = run(*arguments, data=json.dumps(prompt).encode())
            if world.answered():
                break
    finally:
        os.unlink(place)
    assert b"PostgreSQL" in output
    assert world.answered() == 1
    assert {*HEAVY, "muisti.text.secrets"} & modules == set()


@pytest.mark.parametrize(
    ("name", "value", "disabled"),
    [
        ("CI", "true", True),
        ("CI", "1", True),
        ("CI", "false", False),
        ("MUISTI_WARM", "0", True),
        ("MUISTI_WARM", "Off", True),
        ("MUISTI_WARM", "1", False),
    ],
)
def test_variables_that_disable_it(
    name: str, value: str, disabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CI", "MUISTI_WARM"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name, value)
    assert protocol.is_disabled() == (disabled or not sys.platform.startswith("linux"))
