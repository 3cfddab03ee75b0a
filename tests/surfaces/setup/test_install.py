"""J6 · What is written into configurations, what is left alone, and the way back."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from muisti.surfaces.setup import apply as applying
from muisti.surfaces.setup.agents import AGENTS, Machine
from muisti.surfaces.setup.apply import apply
from muisti.surfaces.setup.commands import find_program, is_hook_command, is_server_entry
from muisti.surfaces.setup.contents import LaunchCommand
from muisti.surfaces.setup.errors import ConfigurationProblem
from muisti.surfaces.setup.jsontext import Grammar, parse, to_value
from muisti.surfaces.setup.plan import plan_install, plan_uninstall
from tests.surfaces.setup.conftest import Home
from tests.surfaces.setup.had import CODEX, CURSOR, HAD, HERE, SETTINGS

COMMENTED = Grammar(comments=True, trailing_commas=True)
STARTING = LaunchCommand(("/opt/my tools/muisti",))


def install(
    home: Home, agent: str, starting: LaunchCommand = STARTING, *, here: bool = False
) -> None:
    apply(plan_install(AGENTS[agent], home.machine, starting, here=here))


def uninstall(home: Home, agent: str, *, here: bool = False) -> None:
    apply(plan_uninstall(AGENTS[agent], home.machine, here=here))


def prepared(home: Home, agent: str) -> dict[str, bytes]:
    for path, text in HAD[agent].items():
        home.write(path, text)
    return home.files()


@pytest.mark.parametrize("agent", AGENTS)
def test_J6_there_and_back_gives_the_same_bytes(home: Home, agent: str) -> None:
    before = prepared(home, agent)
    install(home, agent)
    changed = home.files()
    assert changed != before
    assert set(changed) >= set(before)
    install(home, agent)
    assert home.files() == changed, "a second time changes nothing"
    uninstall(home, agent)
    assert home.files() == before
    uninstall(home, agent)
    assert home.files() == before


@pytest.mark.parametrize("agent", AGENTS)
def test_J6_where_there_was_nothing_nothing_is_left(home: Home, agent: str) -> None:
    install(home, agent)
    assert home.files()
    uninstall(home, agent)
    assert home.files() == {}
    assert sorted(path.name for path in home.home.iterdir()) == [".local", "project"]


@pytest.mark.parametrize("agent", HERE)
def test_J6_here_writes_into_the_folder_alone(home: Home, agent: str) -> None:
    install(home, agent, here=True)
    assert sorted(home.files()) == sorted(f"project/{name}" for name in HERE[agent])
    uninstall(home, agent, here=True)
    assert list(home.folder.iterdir()) == []


def test_J6_what_each_agent_is_told(home: Home) -> None:
    for agent in AGENTS:
        prepared(home, agent)
        install(home, agent, LaunchCommand(("/opt/my tools/muisti",), Path("/data/vault")))
    server = {"command": "/opt/my tools/muisti", "args": ["mcp", "--vault", "/data/vault"]}
    files = home.files()
    assert json.loads(files[".claude.json"])["mcpServers"]["muisti"] == {"type": "stdio", **server}
    assert json.loads(files[".cursor/mcp.json"])["mcpServers"]["muisti"] == {
        "type": "stdio",
        **server,
    }
    assert (
        json.loads(files[".config/Claude/claude_desktop_config.json"])["mcpServers"]["muisti"]
        == server
    )
    assert tomllib.loads(files[".codex/config.toml"].decode())["mcp_servers"]["muisti"] == server
    assert (
        b'"muisti": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "/opt/my tools/muisti"'
        in files[".config/Code/User/mcp.json"]
    )
    windsurf = json.loads(files[".codeium/windsurf/mcp_config.json"])
    assert windsurf["mcpServers"]["muisti"] == server
    zed = to_value(parse(files[".config/zed/settings.json"].decode(), COMMENTED))
    assert zed["context_servers"]["muisti"] == server  # type: ignore[index,call-overload]
    opencode = to_value(parse(files[".config/opencode/opencode.json"].decode(), COMMENTED))
    assert opencode["mcp"]["muisti"] == {  # type: ignore[index,call-overload]
        "type": "local",
        "command": [server["command"], *server["args"]],
    }
    hooks = json.loads(files[".claude/settings.json"])["hooks"]
    assert list(hooks) == [
        "Stop",
        "PreToolUse",
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PreCompact",
        "SessionEnd",
    ]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "notify-send done"
    command = hooks["Stop"][1]["hooks"][0]["command"]
    assert shlex.split(command) == [
        "/opt/my tools/muisti",
        "hook",
        "Stop",
        "--vault",
        "/data/vault",
    ]
    codex = json.loads(files[".codex/hooks.json"])["hooks"]
    assert "SessionEnd" not in codex
    assert "--agent codex" in codex["Stop"][0]["hooks"][0]["command"]
    assert b"hook BeforeAgent --agent gemini" in files[".gemini/settings.json"]
    assert b"// what I like" in files[".gemini/settings.json"]


@pytest.mark.parametrize("agent", AGENTS)
def test_J6_an_older_entry_is_brought_up_to_date(home: Home, agent: str) -> None:
    before = prepared(home, agent)
    install(home, agent, LaunchCommand(("/old/bin/python", "-m", "muisti"), Path("/old/vault")))
    old = home.files()
    install(home, agent)
    new = home.files()
    assert all(b"/old/" not in content for content in new.values())
    assert {path: content.count(b" hook ") for path, content in new.items()} == {
        path: content.count(b" hook ") for path, content in old.items()
    }, "none was added beside the old ones"
    uninstall(home, agent)
    assert home.files() == before, "as it was before the first time"


def test_J6_what_a_person_added_to_our_entry_stays(home: Home) -> None:
    install(home, "cursor", LaunchCommand(("/old/muisti",)))
    file = home.home / ".cursor/mcp.json"
    said = json.loads(file.read_text())
    said["mcpServers"]["muisti"] |= {"env": {"MUISTI_PROJECT": "shop"}, "disabled": True}
    said["theme"] = "dark"
    file.write_text(json.dumps(said, indent=3))
    install(home, "cursor")
    now = json.loads(file.read_text())["mcpServers"]["muisti"]
    assert now["env"] == {"MUISTI_PROJECT": "shop"}
    assert now["disabled"] is True
    assert now["command"] == "/opt/my tools/muisti"
    uninstall(home, "cursor")
    assert json.loads(file.read_text()) == {"theme": "dark"}


def test_J6_hooks_that_a_person_moved_are_found(home: Home) -> None:
    install(home, "claude-code")
    file = home.home / ".claude/settings.json"
    said = json.loads(file.read_text())
    ours = said["hooks"].pop("Stop")[0]["hooks"][0]
    said["hooks"]["Stop"] = [
        {"matcher": "x", "hooks": [{"type": "command", "command": "mine"}, ours, ours]}
    ]
    file.write_text(json.dumps(said))
    install(home, "claude-code")
    assert file.read_text().count("hook Stop") == 1, "once is enough"
    uninstall(home, "claude-code")
    assert json.loads(file.read_text()) == {
        "hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_J6_without_the_ledger_it_still_comes_out(home: Home) -> None:
    for agent in AGENTS:
        prepared(home, agent)
        install(home, agent)
    (home.home / ".local/state/muisti/setup.json").write_text("garbage")
    for agent in AGENTS:
        uninstall(home, agent)
    assert not any(b"muisti" in content for content in home.files().values())
    assert json.loads(home.files()[".claude/settings.json"]) == json.loads(SETTINGS)
    assert home.files()[".codex/config.toml"].decode() == CODEX


BROKEN = {
    "a comment": (
        "claude-code",
        ".claude.json",
        b'{\n  // mine\n  "a": 1\n}',
        ":2:3: comments are not allowed",
    ),
    "a trailing comma": ("cursor", ".cursor/mcp.json", b'{\n  "a": 1,\n}', ":2:9: trailing comma"),
    "a trailing comma for Gemini": (
        "gemini",
        ".gemini/settings.json",
        b'{ // x\n  "a": 1,\n}',
        ":2:9: trailing comma",
    ),
    "a byte order mark": (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        b"\xef\xbb\xbf{}",
        ":1:1: the file starts with a byte order mark",
    ),
    "an empty file": ("cursor", ".cursor/mcp.json", b"", ":1:1: the file is empty"),
    "a list": ("cursor", ".cursor/mcp.json", b"[]", ":1:1: the whole file must be an object"),
    "a list of servers": (
        "cursor",
        ".cursor/mcp.json",
        b'{"mcpServers": []}',
        ':1:16: "mcpServers" must be an object',
    ),
    "null for servers": (
        "vscode",
        ".config/Code/User/mcp.json",
        b'{"servers": null}',
        ':1:13: "servers" must be an object',
    ),
    "hooks as a list": (
        "claude-code",
        ".claude/settings.json",
        b'{"hooks": []}',
        ':1:11: "hooks" must be an object',
    ),
    "an event as an object": (
        "claude-code",
        ".claude/settings.json",
        b'{"hooks": {"Stop": {}}}',
        '"Stop" must be a list',
    ),
    "not UTF-8": ("cursor", ".cursor/mcp.json", b'{\n "a": "\xe9"}', ":2:8: the file is not UTF-8"),
    "half a file": ("cursor", ".cursor/mcp.json", b'{"mcpServers": {', ":1:17: "),
    "twice the same": (
        "cursor",
        ".cursor/mcp.json",
        b'{"mcpServers": {}, "mcpServers": {}}',
        ":1:20: ",
    ),
    "TOML that is none": (
        "codex",
        ".codex/config.toml",
        b'a = 1\nb = "x\n',
        ":2:7: invalid TOML",
    ),
    "a text for a table": (
        "codex",
        ".codex/config.toml",
        b'mcp_servers = "x"\n',
        "must be a table",
    ),
    "an inline table": (
        "codex",
        ".codex/config.toml",
        b"mcp_servers = {}\n",
        "cannot be changed here",
    ),
    "somebody else's muisti": (
        "cursor",
        ".cursor/mcp.json",
        b'{"mcpServers": {"muisti": {"url": "http://x/mcp"}}}',
        "another server is already named",
    ),
}


@pytest.mark.parametrize(("agent", "path", "content", "said"), BROKEN.values(), ids=BROKEN)
def test_J6_a_broken_file_is_left_alone(
    home: Home, agent: str, path: str, content: bytes, said: str
) -> None:
    file = home.write(path, content)
    before = home.files()
    with pytest.raises(ConfigurationProblem) as caught:
        install(home, agent)
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)
    assert "add this to it yourself" in str(caught.value)
    assert "/opt/my tools/muisti" in str(caught.value)
    assert home.files() == before
    assert not list(home.home.rglob("*backup*"))


def test_J6_nothing_is_taken_out_of_a_broken_file(home: Home) -> None:
    install(home, "cursor")
    file = home.home / ".cursor/mcp.json"
    file.write_text(file.read_text() + "}")
    broken = file.read_bytes()
    with pytest.raises(ConfigurationProblem, match="unexpected text after the end"):
        uninstall(home, "cursor")
    assert file.read_bytes() == broken
    home.write(".cursor/mcp.json", '{"mcpServers": {"muisti": {"url": "http://x/mcp"}}}')
    uninstall(home, "cursor")
    assert b"http://x/mcp" in file.read_bytes(), "that one is not ours"


def test_J6_what_is_told_to_paste_is_right(home: Home) -> None:
    home.write(".cursor/mcp.json", "{,}")
    with pytest.raises(ConfigurationProblem) as caught:
        install(home, "cursor")
    pasted = json.loads(str(caught.value).split("yourself:\n")[1])
    assert is_server_entry(pasted["mcpServers"]["muisti"])


def test_J6_a_link_stays_a_link_and_rights_stay(home: Home) -> None:
    real = home.write("dotfiles/mcp.json", CURSOR)
    real.chmod(0o640)
    link = home.home / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    install(home, "cursor")
    assert link.is_symlink()
    assert b"muisti" in real.read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    backup = real.with_name("mcp.json.muisti-backup")
    assert backup.read_bytes() == CURSOR.encode()
    assert backup.stat().st_mode & 0o777 == 0o640
    uninstall(home, "cursor")
    assert real.read_bytes() == CURSOR.encode()
    assert real.with_name("mcp.json.muisti-backup-2").exists(), "no copy is overwritten"


def test_J6_a_new_file_is_private_but_for_a_folder_s_own(home: Home) -> None:
    install(home, "claude-code")
    install(home, "claude-code", here=True)
    assert (home.home / ".claude.json").stat().st_mode & 0o777 == 0o600
    assert (home.folder / ".mcp.json").stat().st_mode & 0o077


@pytest.mark.parametrize("what", ["a loop", "a folder", "a pipe", "a file for a folder"])
def test_J6_what_is_no_file_is_told(home: Home, what: str) -> None:
    path = home.home / ".cursor/mcp.json"
    if what == "a file for a folder":
        path.parent.write_text("x")
    else:
        path.parent.mkdir()
        {
            "a loop": lambda: path.symlink_to(path),
            "a folder": path.mkdir,
            "a pipe": lambda: os.mkfifo(path),
        }[what]()
    with pytest.raises(ConfigurationProblem, match="mcp.json"):
        install(home, "cursor")
    with pytest.raises(ConfigurationProblem, match="mcp.json"):
        uninstall(home, "cursor")


def test_J6_a_file_that_changed_since_it_was_shown_is_not_written(home: Home) -> None:
    file = home.write(".cursor/mcp.json", CURSOR)
    changes = plan_install(AGENTS["cursor"], home.machine, STARTING, here=False)
    file.write_text('{"other": 1}')
    with pytest.raises(ConfigurationProblem, match="changed in the meantime"):
        apply(changes)
    assert file.read_text() == '{"other": 1}'
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


def test_J6_a_file_that_changes_while_it_is_written_wins(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home.write(".cursor/mcp.json", CURSOR)
    changes = plan_install(AGENTS["cursor"], home.machine, STARTING, here=False)
    fill = applying._write_and_sync

    def interfering(*arguments) -> None:
        fill(*arguments)
        file.write_text('{"other": 1}')

    monkeypatch.setattr(applying, "_write_and_sync", interfering)
    with pytest.raises(ConfigurationProblem, match="changed in the meantime"):
        apply(changes)
    assert file.read_text() == '{"other": 1}'
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


def test_J6_a_write_protected_file_is_respected(home: Home) -> None:
    file = home.write(".cursor/mcp.json", CURSOR)
    file.chmod(0o444)
    with pytest.raises(ConfigurationProblem, match="write-protected"):
        install(home, "cursor")
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize(
    ("platform", "environ", "agent", "place"),
    [
        ("darwin", {}, "vscode", "Library/Application Support/Code/User/mcp.json"),
        (
            "darwin",
            {},
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        (
            "win32",
            {"APPDATA": "{home}/AppData/Roaming"},
            "claude-desktop",
            "AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        ("linux", {"XDG_CONFIG_HOME": "{home}/cfg"}, "vscode", "cfg/Code/User/mcp.json"),
        ("linux", {"CLAUDE_CONFIG_DIR": "{home}/c"}, "claude-code", "c/.claude.json"),
        ("linux", {"CODEX_HOME": "{home}/x"}, "codex", "x/config.toml"),
        ("linux", {"CODEX_HOME": " "}, "codex", ".codex/config.toml"),
        ("darwin", {}, "zed", ".config/zed/settings.json"),
        ("win32", {"APPDATA": "{home}/R"}, "zed", "R/Zed/settings.json"),
        ("darwin", {}, "opencode", ".config/opencode/opencode.json"),
    ],
)
def test_J6_where_agents_keep_it(
    tmp_path: Path, platform: str, environ: dict[str, str], agent: str, place: str
) -> None:
    named = {name: value.format(home=tmp_path) for name, value in environ.items()}
    assert (
        AGENTS[agent].user[0].place(Machine(tmp_path, tmp_path, named, platform))
        == tmp_path / place
    )


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("muisti hook Stop", True),
        ("'/opt/my tools/muisti' hook Stop --vault x", True),
        ("/usr/bin/python3 -m muisti hook SessionStart", True),
        ('"C:/Program Files/muisti.exe" hook Stop', True),
        ("muisti save hook", False),
        ("notmuisti hook Stop", False),
        ("echo muisti", False),
        (
            "timeout 5 muisti hook Stop; notify-send done",
            False,
        ),  # a person's own line, which also runs us
        ("echo do not run muisti hook here >> audit.log", False),
        ("/usr/bin/python3 -P -m muisti hook Stop", True),
        (None, False),
    ],
)
def test_knows_its_own_hooks(command: str | None, ours: bool) -> None:
    assert is_hook_command(command) is ours


def test_the_command_runs_from_anywhere(tmp_path: Path) -> None:
    said = subprocess.run(
        [*find_program(), "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"HOME": str(tmp_path)},
    )
    assert said.stdout.startswith("muisti ")
    assert Path(find_program()[0]).is_absolute()
    (tmp_path / "python").symlink_to(sys.executable)
    assert find_program(str(tmp_path / "python"))[1:] == ("-P", "-m", "muisti"), (
        "no script beside it"
    )
