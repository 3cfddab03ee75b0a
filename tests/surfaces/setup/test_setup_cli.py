"""J6 · `muisti install` and `uninstall`, as a person and as a program use them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.setup.conftest import Home
from tests.surfaces.setup.had import STATE


def test_J6_asks_only_where_somebody_can_answer(home: Home) -> None:
    refused = home.run("install", "cursor", code=1)
    assert "--yes" in refused.stderr
    assert '+    "muisti": {' in refused.stdout
    assert home.files() == {}
    assert "--yes" in home.run("install", "cursor", "--json", code=1).stderr
    dry = home.run("install", "cursor", "--dry-run")
    assert "nothing written" in dry.stdout
    assert home.files() == {}
    done = home.run("install", "cursor", "--yes")
    assert "Wrote" in done.stdout
    assert "already set up" in home.run("install", "cursor").stdout
    assert "Removed" in home.run("uninstall", "cursor", "--yes").stdout
    assert "is not set up" in home.run("uninstall", "cursor").stdout


@pytest.mark.parametrize(
    ("answer", "written"), [("y\n", True), ("n\n", False), ("\n", False), ("\x04", False)]
)
def test_J6_in_a_terminal_it_asks(home: Home, answer: str, written: bool) -> None:
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "muisti", "install", "cursor"],
        stdin=follower, stdout=follower, stderr=follower, env=home.environment, cwd=home.folder, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(leader, 4096)
    os.write(leader, answer.encode())
    assert child.wait(30) == (0 if written else 130)
    os.close(leader)
    assert bool(home.files()) is written


def test_J6_for_programs(home: Home) -> None:
    home.write(".claude.json", STATE)
    dry = home.json("install", "claude-code", "--dry-run", "--vault", "v")
    assert [file["state"] for file in dry["files"]] == ["changed", "new"]
    assert dry["changed"] is False
    assert str(home.folder / "v") in dry["files"][0]["diff"]
    assert "ghp_" not in json.dumps(dry), "a secret nearby is not shown"
    done = home.json("install", "claude-code", "--yes")
    assert done["changed"] is True
    assert Path(done["files"][0]["backup"]).read_text() == STATE
    assert [file["state"] for file in home.json("install", "claude-code")["files"]] == [
        "same",
        "same",
    ]
    gone = home.json("uninstall", "claude-code", "--yes")
    assert [file["state"] for file in gone["files"]] == ["changed", "removed"]


def test_J6_what_makes_no_sense_is_refused(home: Home) -> None:
    assert "claude-code" in home.run("install", "emacs", code=2).stderr
    assert (
        "no settings per folder" in home.run("install", "claude-desktop", "--here", code=1).stderr
    )
    assert "must be left out" in home.run("uninstall", "cursor", "--vault", "x", code=1).stderr
    home.write(".cursor/mcp.json", "{")
    said = json.loads(home.run("install", "cursor", "--json", "--yes", code=1).stderr)
    assert said["error"] == "ConfigurationProblem"
    assert ".cursor/mcp.json:1:2:" in said["message"]


def test_J6_tells_if_the_plugin_does_it_already(home: Home) -> None:
    home.write(".claude/settings.json", '{"enabledPlugins": {"muisti@muisti": true}}')
    assert "twice" in home.run("install", "claude-code", "--dry-run").stderr


def test_J6_tells_what_the_agent_may_not_see(home: Home) -> None:
    home.environment["MUISTI_VAULT"] = str(home.home / "notes")
    assert f"--vault {home.home / 'notes'}" in home.run("install", "cursor", "--dry-run").stderr
    assert "MUISTI_VAULT" not in home.run("install", "cursor", "--dry-run", "--vault", "x").stderr


def test_J6_shows_where_a_link_leads(home: Home) -> None:
    real = home.write("elsewhere/mcp.json", "{}")
    (home.home / ".cursor").mkdir()
    (home.home / ".cursor/mcp.json").symlink_to(real)
    assert f"→ {real}" in home.run("install", "cursor", "--dry-run").stdout
