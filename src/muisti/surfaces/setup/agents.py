"""The agents that muisti knows, and where each keeps what."""

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
    """Where we are: agents keep their files in different places."""

    home: Path
    folder: Path
    """The one that the person is in."""
    environ: Mapping[str, str]
    platform: str
    """As `sys.platform` says."""

    def folder_from(self, variable: str, otherwise: Path) -> Path:
        """The folder that a variable of the environment names, or the usual one."""
        said = self.environ.get(variable, "").strip()
        return self.folder / Path(said).expanduser() if said else otherwise

    @classmethod
    def current(cls) -> Machine:
        """Where this process is. Raises OSError if the folder that we are in is gone."""
        return cls(Path.home(), Path.cwd(), os.environ, sys.platform)

    @property
    def applications(self) -> Path:
        """Where applications with windows keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder_from("APPDATA", self.home / "AppData" / "Roaming")
        return self.folder_from("XDG_CONFIG_HOME", self.home / ".config")


Place = Callable[[Machine], Path]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Hooks of an agent: events, each with a list of groups of commands."""

    events: tuple[str, ...]
    timeout: int
    """For one of them, in the agent's unit: after that it goes on without us."""
    agent: str | None = None
    """What a hook is told about who calls it; None: it thinks so anyway."""
    name: str | None = None
    """If the agent shows a name."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of an agent, and what of muisti belongs into it."""

    place: Place
    servers: tuple[str, ...] = ()
    """Where the list of servers is; empty: not in this file."""
    kind: str | None = None
    """What the agent calls a server that it starts itself, if it wants to be told."""
    hooks: Hooks | None = None
    grammar: Grammar = PLAIN
    toml: bool = False
    off: tuple[tuple[str, ...], bool] | None = None
    """The setting that switches hooks off, and its value then."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that can be given a memory."""

    name: str
    title: str
    user: tuple[File, ...]
    """For all folders."""
    here: tuple[File, ...]
    """For one folder alone; empty: the agent has no such thing."""
    trace: Place
    """What is there if the agent is installed."""
    after: str
    """What a person does next."""

    def files(self, *, here: bool) -> tuple[File, ...]:
        """The files of a scope. Raises InvalidRequest."""
        if here and not self.here:
            raise InvalidRequest(
                "--here",
                self.name,
                f"{self.title} has no settings for one folder; leave --here out",
            )
        return self.here if here else self.user


def _claude(machine: Machine) -> Path:
    return machine.folder_from("CLAUDE_CONFIG_DIR", machine.home / ".claude")


def _claude_state(machine: Machine) -> Path:
    """Beside the folder usually, but within one that was named."""
    return machine.folder_from("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json"


def _codex(machine: Machine) -> Path:
    return machine.folder_from("CODEX_HOME", machine.home / ".codex")


def _gemini(machine: Machine) -> Path:
    return machine.folder_from("GEMINI_CLI_HOME", machine.home) / ".gemini"


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
_COMMENTED = Grammar(comments=True)
_VSCODE = Grammar(comments=True, trailing_commas=True)
_MCP = ("mcpServers",)
_CLAUDE_OFF = (("disableAllHooks",), True)
_CODEX_OFF = (("features", "hooks"), False)
_GEMINI_OFF = (("hooksConfig", "enabled"), False)


def _gemini_file(folder: Place) -> File:
    place: Place = lambda machine: folder(machine) / "settings.json"  # noqa: E731  # as in the table below
    return File(place, _MCP, hooks=_GEMINI_HOOKS, grammar=_COMMENTED, off=_GEMINI_OFF)


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
            "Start Claude Code anew; /mcp and /hooks show muisti.",
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
            "Start Codex anew; /mcp shows muisti, and /hooks asks whether its hooks may run.",
        ),
        Agent(
            "gemini",
            "Gemini CLI",
            (_gemini_file(_gemini),),
            (_gemini_file(lambda machine: machine.folder / ".gemini"),),
            _gemini,
            "Start Gemini CLI anew; /mcp and /hooks show muisti.",
        ),
        Agent(
            "cursor",
            "Cursor",
            (File(lambda machine: machine.home / ".cursor" / "mcp.json", _MCP, kind="stdio"),),
            (File(lambda machine: machine.folder / ".cursor" / "mcp.json", _MCP, kind="stdio"),),
            lambda machine: machine.home / ".cursor",
            "Switch muisti on in Cursor's settings, under MCP, if it is not on.",
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
            ),
            (
                File(
                    lambda machine: machine.folder / ".vscode" / "mcp.json",
                    ("servers",),
                    "stdio",
                    grammar=_VSCODE,
                ),
            ),
            lambda machine: machine.applications / "Code",
            "In VS Code, run “MCP: List Servers” and start muisti.",
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
            "Quit Claude Desktop, closing its window is not enough, and start it anew.",
        ),
    )
}
