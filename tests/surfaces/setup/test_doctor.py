"""`muisti doctor`: looks at everything, changes nothing, survives anything."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muisti.surfaces.hooks.log import Run, record
from muisti.surfaces.setup.findings import Finding, Level, run_check
from muisti.surfaces.setup.state import has_codex_plugin
from tests.surfaces.setup.conftest import Home

NOW = datetime(2026, 11, 16, tzinfo=UTC)
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"

WAITS = (
    b'{"id": "0195f000-0000-7000-8000-000000000002", "at": "2026-03-10T12:00:00Z", "session_id": "chat", '
    b'"user": "I prefer tea.", "assistant": ""}\n'
)
"""An exchange that waits to be extracted."""


def findings(home: Home, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    said = home.json("doctor", *arguments, code=code)
    assert said["ok"] is (code == 0)
    found: list[dict[str, Any]] = said["findings"]
    return found


def about(found: list[dict[str, Any]], area: str, level: str | None = None) -> str:
    return "\n".join(
        f"{one['what']} → {one['cure']}"
        for one in found
        if one["area"] == area and level in (None, one["level"])
    )


def vault_of(home: Home) -> Path:
    root = home.home / "vault"
    home.run("save", "We chose PostgreSQL", "--vault", str(root))
    home.environment["MUISTI_VAULT"] = str(root)
    return root


def test_a_newcomer_has_no_problem_and_gets_no_vault(home: Home) -> None:
    found = findings(home)
    assert "muisti init" in about(found, "vault", "note")
    assert home.files() == {}
    assert not (home.home / ".local/share").exists()
    assert "No problems." in home.run("doctor").stdout


def test_a_vault_that_is_well(home: Home) -> None:
    vault_of(home)
    found = findings(home)
    assert "1 memory, " in about(found, "vault", "ok")
    assert "schema" in about(found, "index", "ok")
    assert "1 memory is not embedded yet" in about(found, "index", "note")
    assert "local" in about(found, "embedder", "ok")
    assert about(found, "queue", "ok")
    assert "muisti mcp is available" in about(found, "extras")


def _file_instead(root: Path) -> None:
    shutil.rmtree(root)
    root.write_text("x")


@pytest.mark.parametrize(
    ("harm", "area", "said"),
    [
        (shutil.rmtree, "vault", "no vault at"),
        (_file_instead, "vault", "is not a folder"),
        (lambda root: (root / "muisti.toml").write_text("embedder = "), "vault", "muisti.toml"),
        (lambda root: (root / "muisti.toml").write_text("embedder = 'nobody'\n"), "index", "nobody"),
        (lambda root: (root / "muisti.toml").write_text("model = 'nobody'\n"), "embedder", "nobody"),
        (lambda root: (root / "muisti.toml").write_bytes(b"\xff\xfe"), "vault", "muisti.toml"),
        (lambda root: (root / ".muisti/current").write_text("../../etc/passwd"), "index", "muisti reindex"),
        (lambda root: [file.write_bytes(b"garbage" * 1000) for file in (root / ".muisti").glob("index-*.db")], "index", "damaged"),
        (lambda root: next((root / "facts").glob("*.md"), next(root.rglob("*.md"))).write_text("---\nid: [\n---\n"), "", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_vault_is_told_and_left(
    home: Home, harm, area: str, said: str
) -> None:
    root = vault_of(home)
    harm(root)
    before = home.files()
    if not area:
        home.run("sync")
        area, said, before = "vault", "muisti sync", home.files()
    found = findings(home, code=1)
    assert said in about(found, area, "problem")
    assert {path for path, content in home.files().items() if before.get(path) != content} <= {
        path for path in home.files() if "/.muisti/" in path
    }, "no file of the vault was changed"
    if said == "damaged":
        assert home.files() == before, "it looks, it does not mend"


def test_a_vault_that_cannot_be_written(home: Home) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    root = vault_of(home)
    root.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "chmod u+w" in about(findings(home, code=1), "vault", "problem")
    root.chmod(0o700)


def test_an_agent_that_was_set_up_is_well(home: Home) -> None:
    home.run("install", "claude-code", "--yes")
    home.run("install", "codex", "--yes")
    found = findings(home)
    assert "(muisti 0" in about(found, "claude-code", "ok")
    assert "6 hooks" in about(found, "claude-code", "ok")
    assert "5 hooks" in about(found, "codex", "ok")
    home.write(".cursor/mcp.json", "{}")
    assert "muisti install cursor" in about(findings(home), "cursor", "note")


def test_a_command_that_is_gone_or_does_not_run_is_told(home: Home) -> None:
    home.run("install", "cursor", "--yes", "--vault", "nowhere")
    file = home.home / ".cursor/mcp.json"
    assert "muisti init" in about(findings(home, code=1), "cursor", "problem"), "the vault it names"
    said = json.loads(file.read_text())
    said["mcpServers"]["muisti"] = {
        "command": "/gone/muisti",
        "args": ["mcp"],
        "env": {"KEY": SECRET},
    }
    file.write_text(json.dumps(said))
    found = findings(home, code=1)
    assert "does not exist: /gone/muisti → muisti install cursor" in about(
        found, "cursor", "problem"
    )
    assert SECRET not in json.dumps(found)
    broken = home.write("bin/muisti", "#!/bin/sh\necho no such module >&2; exit 3\n")
    broken.chmod(0o755)
    file.write_text(
        json.dumps({"mcpServers": {"muisti": {"command": str(broken), "args": ["mcp"]}}})
    )
    assert ": no such module" in about(findings(home, code=1), "cursor", "problem")


def test_a_command_that_came_with_a_folder_is_not_run(home: Home) -> None:
    trap = home.write("project/muisti", f"#!/bin/sh\ntouch {home.home}/sprung\necho muisti 0.1.0\n")
    trap.chmod(0o755)
    home.write(
        "project/.mcp.json",
        json.dumps({"mcpServers": {"muisti": {"command": str(trap), "args": ["mcp"]}}}),
    )
    assert "not run" in about(findings(home), "claude-code (here)")
    assert not (home.home / "sprung").exists()


def test_missing_hooks_and_two_of_everything(home: Home) -> None:
    home.run("install", "claude-code", "--yes")
    file = home.home / ".claude/settings.json"
    said = json.loads(file.read_text())
    del said["hooks"]["Stop"]
    said["enabledPlugins"] = {"muisti@muisti": True}
    file.write_text(json.dumps(said))
    found = about(findings(home, code=1), "claude-code", "problem")
    assert "hooks are missing: Stop → muisti install claude-code" in found
    assert "set up twice" in found
    home.run("uninstall", "claude-code", "--yes")
    assert "plugin is enabled" in about(findings(home), "claude-code", "ok")


def test_plugins_of_codex_and_gemini_are_told(home: Home) -> None:
    home.write(".codex/config.toml", '[plugins."muisti@muisti"]\nenabled = true\n')
    home.write(".gemini/extensions/muisti/gemini-extension.json", "{}")
    for agent in ("codex", "gemini"):
        home.run("install", agent, "--yes")
    found = findings(home, code=1)
    for agent in ("codex", "gemini"):
        assert "plugin is enabled" in about(found, agent, "ok")
        assert "set up twice" in about(found, agent, "problem")
    home.write(".codex/config.toml", '[plugins."muisti@muisti"]\nenabled = false\n')
    assert not has_codex_plugin(home.machine)


@pytest.mark.parametrize(
    ("agent", "path", "before", "after"),
    [
        ("claude-code", ".claude/settings.json", '"hooks"', '"disableAllHooks": true, "hooks"'),
        ("codex", ".codex/config.toml", "[mcp", "[features]\nhooks = false\n[mcp"),
        (
            "gemini",
            ".gemini/settings.json",
            '"hooks": {',
            '"hooksConfig": {"enabled": false}, "hooks": {',
        ),
    ],
)
def test_hooks_that_are_switched_off_are_told(
    home: Home, agent: str, path: str, before: str, after: str
) -> None:
    home.run("install", agent, "--yes")
    assert not about(findings(home), agent, "problem")
    file = home.home / path
    file.write_text(file.read_text().replace(before, after, 1))
    assert "hooks are disabled" in about(findings(home, code=1), agent, "problem")


def run_at(minutes: int, event: str, outcome: str, detail: str = "") -> None:
    record(
        Run(NOW + timedelta(minutes=minutes), event, "claude-code", "", "", 12.0, outcome, detail)
    )


def test_hooks_that_failed_are_told_until_they_succeed(home: Home) -> None:
    run_at(0, "Stop", "error", "VaultFull: the disk is full")
    run_at(1, "SessionStart", "ok")
    found = findings(home, code=1)
    assert "Stop of claude-code failed, 2026-11-16 00:00 UTC: VaultFull: the disk is full" in about(
        found, "hooks", "problem"
    )
    assert "last: SessionStart" in about(found, "hooks", "ok")
    run_at(2, "Stop", "ok")
    found = findings(home)
    assert "1 of the last 3 runs failed" in about(found, "hooks", "note")


def test_everything_broken_at_once(home: Home) -> None:
    home.write("vault/muisti.toml", b"\xff")
    home.write("vault/.muisti/current", b"\xff\x00/")
    home.write("vault/.queue/a.jsonl", b'{"id": 1}\n[]\nnot json\n{"done": 1}\n' + WAITS)
    home.write("vault/.queue/b.jsonl.corrupt", b"not json\n")
    home.environment["MUISTI_VAULT"] = str(home.home / "vault")
    home.write(".claude.json", "{")
    home.write(".claude/settings.json", b"\xff\xfe")
    home.write(".codex/config.toml", f'token = "{SECRET}')
    (home.home / ".gemini").mkdir()
    (home.home / ".gemini/settings.json").symlink_to(home.home / ".gemini/settings.json")
    home.write(".cursor/mcp.json", "[" * 100_000)
    home.write(".config/Code/User/mcp.json", '{"servers": {"muisti": {"command": 7, "args": {}}}}')
    home.write(".config/Claude/claude_desktop_config.json", '{"mcpServers": [1]}')
    home.write("project/.mcp.json", "")
    home.write(".local/state/muisti/hooks.jsonl", os.urandom(2000))
    home.write(".local/state/muisti/setup.json", "[")
    before = home.files()
    found = findings(home, code=1)
    for area in (
        "vault",
        "index",
        "claude-code",
        "claude-code (here)",
        "codex",
        "gemini",
        "cursor",
    ):
        assert about(found, area, "problem"), area
    assert "1 exchange is waiting" in about(found, "queue")
    assert "1 file" in about(found, "queue")
    assert SECRET not in json.dumps(found)
    assert home.files() == before
    shown = home.run("doctor", code=1).stdout
    assert "problems found" in shown
    assert all(char.isprintable() or char in "\n→" for char in shown)


def test_a_folder_that_is_gone(home: Home) -> None:
    again = (
        "sys.exit(subprocess.run([sys.executable, '-m', 'muisti', 'doctor', '--json']).returncode)"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import os, subprocess, sys; os.rmdir({str(home.folder)!r}); {again}",
        ],
        cwd=home.folder,
        env=home.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["ok"] is False


def test_a_check_that_fails_is_a_finding() -> None:
    def failing():
        yield Finding("x", Level.OK, "first")
        raise RuntimeError("second")

    assert [(one.level, one.what) for one in run_check("x", failing)] == [
        (Level.OK, "first"),
        (Level.PROBLEM, "cannot be checked: second (RuntimeError)"),
    ]


def test_A3_conversations_that_belong_to_nobody_are_named_once_there_are_owners(
    home: Home,
) -> None:
    root = vault_of(home)
    for number in range(7):
        home.run("conversation", "log", f"chan_{number}", "user", "Hello", "--vault", str(root))
    assert "no project or user" not in about(findings(home), "vault")  # nobody else uses the vault
    home.run("save", "Anna prefers tea", "--user", "anna", "--vault", str(root))
    told = about(findings(home), "vault", "note")
    assert "7 conversations have no project or user" in told
    assert "chan_2" in told
    assert "chan_1" not in told  # five of them, the latest first
    assert "muisti conversation assign" in told
    names = [f"chan_{number}" for number in range(7)]
    home.run("conversation", "assign", *names, "--user", "anna", "--vault", str(root))
    assert "no project or user" not in about(findings(home), "vault")
