"""J6 · The hooks that are written for agents with a format of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muisti.surfaces.hooks.events import EVENTS, parse_event
from muisti.surfaces.setup.agents import AGENTS
from muisti.surfaces.setup.contents import LaunchCommand
from muisti.surfaces.setup.errors import ConfigurationProblem
from tests.surfaces.setup.conftest import Home
from tests.surfaces.setup.test_install import install, prepared, uninstall


def test_J6_hooks_of_cursor_and_vscode(home: Home) -> None:
    for agent in ("cursor", "vscode"):
        prepared(home, agent)
        install(home, agent, LaunchCommand(("/opt/my tools/muisti",), Path("/data/vault")))
    files = home.files()
    cursor = json.loads(files[".cursor/hooks.json"])
    assert cursor["version"] == 1
    assert cursor["hooks"]["stop"] == [
        {"command": "./audit.sh"},
        {
            "command": "'/opt/my tools/muisti' hook stop --agent cursor --vault /data/vault",
            "timeout": 10,
        },
    ]
    copilot = json.loads(files[".copilot/hooks/muisti.json"])
    assert copilot["version"] == 1
    assert list(copilot["hooks"]) == list(EVENTS)
    assert copilot["hooks"]["Stop"] == [
        {
            "type": "command",
            "command": "'/opt/my tools/muisti' hook Stop --agent vscode --vault /data/vault",
            "timeout": 10,
        }
    ]


def test_J6_the_plugin_of_opencode(home: Home) -> None:
    command = LaunchCommand(("/opt/my tools/muisti",), Path('/data/a "vault"'))
    install(home, "opencode", command)
    file = home.home / ".config/opencode/plugins/muisti.js"
    text = file.read_text()
    assert 'const COMMAND = ["/opt/my tools/muisti", "hook"];' in text
    assert 'const OPTIONS = ["--agent", "opencode", "--vault", "/data/a \\"vault\\""];' in text
    (hooks,) = (one.hooks for one in AGENTS["opencode"].user if one.hooks)
    assert all(f'"{event}"' in text for event in hooks.events)
    file.write_text(text.replace("const COMMAND = [", "const COMMAND = [,"))
    with pytest.raises(ConfigurationProblem, match="another file has the name"):
        install(home, "opencode")
    uninstall(home, "opencode")
    assert file.exists(), "what is not recognized is not removed"


def test_J6_a_version_that_was_missing_comes_and_goes(home: Home) -> None:
    file = home.write(".cursor/hooks.json", '{"hooks": {"stop": [{"command": "mine"}]}}')
    before = home.files()
    install(home, "cursor")
    assert json.loads(file.read_text())["version"] == 1
    uninstall(home, "cursor")
    assert home.files() == before


def test_J6_every_installed_event_is_one_that_hooks_know() -> None:
    for agent in AGENTS.values():
        for file in (*agent.user, *agent.here):
            for event in file.hooks.events if file.hooks else ():
                assert parse_event(event), (agent.name, event)
