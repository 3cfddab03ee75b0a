"""J6 · The plugin and `muisti install claude-code`, as the real Claude Code sees them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muisti import __version__
from muisti.surfaces.hooks.events import EVENTS
from muisti.surfaces.setup.agents import AGENTS

from .claude_code import MISSING, PLUGIN, ROOT, program

pytestmark = pytest.mark.exhaustive


class Claude:
    """The program, in a home of its own; it asks nobody on the network."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MUISTI_", "XDG_", "CLAUDE", "ANTHROPIC"))
        }
        quiet = {
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        nowhere = {
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "MUISTI_STATE": str(home / "state"),
            "MUISTI_VAULT": str(home / "vault"),
        }
        self.environment = {**kept, **quiet, **nowhere, "HOME": str(home)}

    def __call__(self, *arguments: str) -> str:
        found = program()
        if found is None:
            pytest.skip(MISSING)
        return self._run(str(found), *arguments)

    def muisti(self, *arguments: str) -> str:
        return self._run(sys.executable, "-m", "muisti", *arguments)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            cwd=self.work,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def settings(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.home / ".claude/settings.json").read_text())
        return found


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


@pytest.mark.parametrize("folder", [PLUGIN, ROOT])
def test_J6_the_plugin_and_its_marketplace_are_valid(claude: Claude, folder: Path) -> None:
    assert "Validation passed" in claude("plugin", "validate", "--strict", str(folder))


def test_J6_the_repository_can_be_added_and_installed_from(claude: Claude) -> None:
    claude("plugin", "marketplace", "add", str(ROOT))
    claude("plugin", "install", "muisti@muisti")
    assert claude.settings()["enabledPlugins"] == {"muisti@muisti": True}
    details = claude("plugin", "details", "muisti")
    assert all(event in details for event in EVENTS)
    assert "Skills (1)" in details
    assert "MCP servers (1)" in details
    claude.muisti("init", str(claude.home / "vault"))
    found = json.loads(claude.muisti("doctor", "--json"))["findings"]
    assert any(one["area"] == "claude-code" and "plugin is enabled" in one["what"] for one in found)


def test_J6_claude_code_reads_what_was_installed_and_writes_around_it(claude: Claude) -> None:
    claude("mcp", "add", "--scope", "user", "other", "--", "/bin/true")
    claude.muisti("install", "claude-code", "--yes")
    told = claude("mcp", "get", "muisti")
    assert "stdio" in told
    assert "Args: mcp" in told
    claude("mcp", "add", "--scope", "user", "third", "--", "/bin/true")
    claude.muisti("uninstall", "claude-code", "--yes")
    state = json.loads((claude.home / ".claude.json").read_text())
    assert list(state["mcpServers"]) == ["other", "third"]
    assert not (claude.home / ".claude/settings.json").exists()


def test_J6_the_plugin_does_what_install_does() -> None:
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    installed = AGENTS["claude-code"].user[1].hooks
    assert installed is not None
    assert tuple(hooks) == installed.events == EVENTS
    for event, groups in hooks.items():
        expected = {
            "type": "command",
            "command": f"muisti hook {event}",
            "timeout": installed.timeout,
        }
        assert groups == [{"hooks": [expected]}]
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["muisti"]
    assert server == {"command": "muisti", "args": ["mcp"]}
    assert json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())["version"] == __version__


@pytest.mark.parametrize(
    ("agent", "hooks_file", "manifest"),
    [
        ("codex", "hooks/codex.json", ".codex-plugin/plugin.json"),
        ("gemini", "gemini/hooks/hooks.json", "gemini/gemini-extension.json"),
    ],
)
def test_J6_the_plugins_of_other_agents_do_what_install_does(
    agent: str, hooks_file: str, manifest: str
) -> None:
    (installed,) = (file.hooks for file in AGENTS[agent].user if file.hooks)
    hooks = json.loads((PLUGIN / hooks_file).read_text())["hooks"]
    assert tuple(hooks) == installed.events
    for event, groups in hooks.items():
        (hook,) = groups[0]["hooks"]
        assert hook["command"] == f"muisti hook {event} --agent {agent}"
        assert hook["timeout"] == installed.timeout
        assert hook.get("name") == installed.name
    said = json.loads((PLUGIN / manifest).read_text())
    assert said["name"] == "muisti"
    assert said["version"] == __version__
    if agent == "gemini":
        assert said["mcpServers"]["muisti"] == {"command": "muisti", "args": ["mcp"]}
        # A copy: git on Windows and many archives have no symbolic links.
        skill = "skills/memory/SKILL.md"
        assert (PLUGIN / "gemini" / skill).read_text() == (PLUGIN / skill).read_text()
    else:
        assert (PLUGIN / said["hooks"]).is_file()
        assert (PLUGIN / said["mcpServers"]).is_file()


def test_J6_the_skill_is_short() -> None:
    text = (PLUGIN / "skills/memory/SKILL.md").read_text()
    assert text.startswith("---\nname: memory\ndescription: ")
    assert len(text.split("---\n", 2)[1]) < 500
    assert len(text) < 3_000
