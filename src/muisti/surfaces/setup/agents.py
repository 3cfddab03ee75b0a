"""The supported agents, and where each keeps its configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from muisti.errors import InvalidRequest
from muisti.surfaces.setup.jsontext import PLAIN, Grammar


@dataclass(frozen=True, slots=True)
class Machine:
    """The folders and environment that decide where agents keep their files."""

    home: Path
    folder: Path
    """The current folder."""
    environ: Mapping[str, str]
    platform: str
    """The value of `sys.platform`."""

    def folder_from(self, variable: str, default: Path) -> Path:
        """Return the folder that an environment variable names, or the default."""
        value = self.environ.get(variable, "").strip()
        return self.folder / Path(value).expanduser() if value else default

    @classmethod
    def current(cls) -> Machine:
        """Return the values of this process. Raises OSError if the current folder was deleted."""
        return cls(Path.home(), Path.cwd(), os.environ, sys.platform)

    @property
    def applications(self) -> Path:
        """The folder where desktop applications keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder_from("APPDATA", self.home / "AppData" / "Roaming")
        return self.folder_from("XDG_CONFIG_HOME", self.home / ".config")


Place = Callable[[Machine], Path]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of an agent."""

    events: tuple[str, ...]
    timeout: int
    """The time limit of one hook, in the agent's unit."""
    agent: str | None = None
    """The value of `--agent`; None for the default."""
    name: str | None = None
    """The name shown by the agent, if it shows one."""
    kind: str | None = "command"
    """The value of `type`, if the agent requires one."""
    flat: bool = False
    """Whether an event has a list of hooks; else it has a list of groups of hooks."""
    version: int | None = None
    """The value of `version` at the top of the file, if the agent requires one."""


@dataclass(frozen=True, slots=True)
class File:
    """A configuration file of an agent, and what muisti adds to it."""

    place: Place
    servers: tuple[str, ...] = ()
    """The path of the list of MCP servers; empty if this file has none."""
    kind: str | None = None
    """The value of `type` for a server started by command, if the agent requires one."""
    one_list: bool = False
    """Whether the command of a server and its arguments are one list."""
    hooks: Hooks | None = None
    grammar: Grammar = PLAIN
    toml: bool = False
    off: tuple[tuple[str, ...], bool] | None = None
    """The setting that disables hooks, and the value that does."""
    script: str | None = None
    """The program that the whole file is, by its name in this package; None for a configuration."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that can use muisti."""

    name: str
    title: str
    user: tuple[File, ...]
    """The files for all folders."""
    here: tuple[File, ...]
    """The files for one folder; empty if the agent has none."""
    trace: Place
    """A path that exists if the agent is installed."""
    after: str
    """What to do after the setup."""

    def files(self, *, here: bool) -> tuple[File, ...]:
        """Return the files of a scope. Raises InvalidRequest if the agent does not have it."""
        if here and not self.here:
            raise InvalidRequest(
                "--here",
                "",
                f"is not supported by {self.title}, which has no settings per folder; omit it",
            )
        return self.here if here else self.user


def _claude(machine: Machine) -> Path:
    return machine.folder_from("CLAUDE_CONFIG_DIR", machine.home / ".claude")


def _claude_state(machine: Machine) -> Path:
    """Return `~/.claude.json`, or the file inside CLAUDE_CONFIG_DIR."""
    return machine.folder_from("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json"


def _codex(machine: Machine) -> Path:
    return machine.folder_from("CODEX_HOME", machine.home / ".codex")


def _gemini(machine: Machine) -> Path:
    return machine.folder_from("GEMINI_CLI_HOME", machine.home) / ".gemini"


def _opencode(machine: Machine) -> Path:
    """Return OpenCode's folder: `~/.config/opencode` on every system."""
    return machine.folder_from("XDG_CONFIG_HOME", machine.home / ".config") / "opencode"


def _zed(machine: Machine) -> Path:
    if machine.platform == "win32":
        return machine.applications / "Zed"
    return machine.folder_from("XDG_CONFIG_HOME", machine.home / ".config") / "zed"


def _windsurf(machine: Machine) -> Path:
    return machine.home / ".codeium" / "windsurf"


_CLAUDE_HOOKS = Hooks(
    ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"),
    timeout=10,
)
_CODEX_HOOKS = Hooks(
    ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"), 10, "codex"
)
_GEMINI_EVENTS = (
    "SessionStart",
    "BeforeAgent",
    "AfterTool",
    "AfterAgent",
    "PreCompress",
    "SessionEnd",
)
_GEMINI_HOOKS = Hooks(_GEMINI_EVENTS, 10_000, "gemini", name="muisti")
_CURSOR_EVENTS = (
    "sessionStart",
    "beforeSubmitPrompt",
    "postToolUse",
    "afterAgentResponse",
    "stop",
    "preCompact",
    "sessionEnd",
)
_CURSOR_HOOKS = Hooks(_CURSOR_EVENTS, 10, "cursor", kind=None, flat=True, version=1)
_VSCODE_HOOKS = Hooks(_CLAUDE_HOOKS.events, 10, "vscode", flat=True, version=1)
_OPENCODE_HOOKS = Hooks(_CLAUDE_HOOKS.events, 10, "opencode")
_COMMENTED = Grammar(comments=True)
_VSCODE = Grammar(comments=True, trailing_commas=True)
_MCP = ("mcpServers",)
_CLAUDE_OFF = (("disableAllHooks",), True)
_CODEX_OFF = (("features", "hooks"), False)
_GEMINI_OFF = (("hooksConfig", "enabled"), False)


def _gemini_file(folder: Place) -> File:
    def place(machine: Machine) -> Path:
        return folder(machine) / "settings.json"

    return File(place, _MCP, hooks=_GEMINI_HOOKS, grammar=_COMMENTED, off=_GEMINI_OFF)


def _copilot_file(folder: Place) -> File:
    """Return a file of hooks that VS Code and the Copilot CLI read."""

    def place(machine: Machine) -> Path:
        return folder(machine) / "hooks" / "muisti.json"

    return File(place, hooks=_VSCODE_HOOKS, off=_CLAUDE_OFF)


def _opencode_file(place: Place) -> File:
    return File(place, ("mcp",), kind="local", one_list=True, grammar=_VSCODE)


def _opencode_plugin(folder: Place) -> File:
    def place(machine: Machine) -> Path:
        return folder(machine) / "plugins" / "muisti.js"

    return File(place, hooks=_OPENCODE_HOOKS, script="opencode_plugin.js")


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            (
                File(_claude_state, _MCP, kind="stdio"),
                File(
                    lambda machine: _claude(machine) / "settings.json",
                    hooks=_CLAUDE_HOOKS,
                    off=_CLAUDE_OFF,
                ),
            ),
            (
                File(lambda machine: machine.folder / ".mcp.json", _MCP, kind="stdio"),
                File(
                    lambda machine: machine.folder / ".claude" / "settings.local.json",
                    hooks=_CLAUDE_HOOKS,
                    off=_CLAUDE_OFF,
                ),
            ),
            _claude,
            "Restart Claude Code; /mcp and /hooks show muisti.",
        ),
        Agent(
            "codex",
            "Codex",
            (
                File(
                    lambda machine: _codex(machine) / "config.toml",
                    ("mcp_servers",),
                    toml=True,
                    off=_CODEX_OFF,
                ),
                File(lambda machine: _codex(machine) / "hooks.json", hooks=_CODEX_HOOKS),
            ),
            (
                File(
                    lambda machine: machine.folder / ".codex" / "config.toml",
                    ("mcp_servers",),
                    toml=True,
                    off=_CODEX_OFF,
                ),
                File(lambda machine: machine.folder / ".codex" / "hooks.json", hooks=_CODEX_HOOKS),
            ),
            _codex,
            "Restart Codex; /mcp shows muisti, and /hooks asks whether its hooks may run.",
        ),
        Agent(
            "gemini",
            "Gemini CLI",
            (_gemini_file(_gemini),),
            (_gemini_file(lambda machine: machine.folder / ".gemini"),),
            _gemini,
            "Restart Gemini CLI; /mcp and /hooks show muisti.",
        ),
        Agent(
            "cursor",
            "Cursor",
            (
                File(lambda machine: machine.home / ".cursor" / "mcp.json", _MCP, kind="stdio"),
                File(lambda machine: machine.home / ".cursor" / "hooks.json", hooks=_CURSOR_HOOKS),
            ),
            (
                File(lambda machine: machine.folder / ".cursor" / "mcp.json", _MCP, kind="stdio"),
                File(
                    lambda machine: machine.folder / ".cursor" / "hooks.json", hooks=_CURSOR_HOOKS
                ),
            ),
            lambda machine: machine.home / ".cursor",
            "Enable muisti in Cursor's settings, under MCP; those under Hooks list its hooks.",
        ),
        Agent(
            "vscode",
            "VS Code",
            (
                File(
                    lambda machine: machine.applications / "Code" / "User" / "mcp.json",
                    ("servers",),
                    "stdio",
                    grammar=_VSCODE,
                ),
                _copilot_file(lambda machine: machine.home / ".copilot"),
            ),
            (
                File(
                    lambda machine: machine.folder / ".vscode" / "mcp.json",
                    ("servers",),
                    "stdio",
                    grammar=_VSCODE,
                ),
                _copilot_file(lambda machine: machine.folder / ".github"),
            ),
            lambda machine: machine.applications / "Code",
            "In VS Code, run “MCP: List Servers” and start muisti; /hooks in the chat shows hooks.",
        ),
        Agent(
            "claude-desktop",
            "Claude Desktop",
            (
                File(
                    lambda machine: machine.applications / "Claude" / "claude_desktop_config.json",
                    _MCP,
                ),
            ),
            (),
            lambda machine: machine.applications / "Claude",
            "Quit Claude Desktop (closing its window is not enough) and start it again.",
        ),
        Agent(
            "opencode",
            "OpenCode",
            (
                _opencode_file(lambda machine: _opencode(machine) / "opencode.json"),
                _opencode_plugin(_opencode),
            ),
            (
                _opencode_file(lambda machine: machine.folder / "opencode.json"),
                _opencode_plugin(lambda machine: machine.folder / ".opencode"),
            ),
            _opencode,
            "Restart OpenCode; `opencode mcp list` shows muisti.",
        ),
        Agent(
            "windsurf",
            "Windsurf",
            (File(lambda machine: _windsurf(machine) / "mcp_config.json", _MCP),),
            (),
            _windsurf,
            "In Windsurf, refresh the list of MCP servers in Cascade's settings.",
        ),
        Agent(
            "zed",
            "Zed",
            (
                File(
                    lambda machine: _zed(machine) / "settings.json",
                    ("context_servers",),
                    grammar=_VSCODE,
                ),
            ),
            (),
            _zed,
            "Zed starts muisti by itself; its settings list it under AI, MCP Servers.",
        ),
    )
}
