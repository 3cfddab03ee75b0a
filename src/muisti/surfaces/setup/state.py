"""Find out which agents use muisti."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muisti.surfaces.setup import commands, tomledit
from muisti.surfaces.setup.agents import AGENTS, Agent, Machine
from muisti.surfaces.setup.contents import find_disabling_setting, find_entries
from muisti.surfaces.setup.errors import ConfigurationProblem, Malformed, locate
from muisti.surfaces.setup.jsontext import Grammar, parse, to_value
from muisti.surfaces.setup.plan import decode_file, read_file

PLUGIN = "muisti"


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The entries of muisti in the files of one agent and scope."""

    agent: Agent
    here: bool
    files: tuple[Path, ...]
    """The files that contain muisti."""
    server: tuple[str, ...] = ()
    """The command of the server; empty if there is none."""
    hooks: Mapping[str, str] = field(default_factory=dict)
    """The command of each event."""
    missing: tuple[str, ...] = ()
    """Events without a hook."""
    switched_off: str = ""
    """The setting that disables hooks, if one does."""
    problems: tuple[str, ...] = ()
    """Errors of files that cannot be parsed."""

    @property
    def is_set_up(self) -> bool:
        """Whether the agent uses muisti."""
        return bool(self.server or self.hooks)


def list_agent_status(machine: Machine) -> list[AgentStatus]:
    """Return the status of every agent, for all folders and for this one. Never raises."""
    found = []
    for agent in AGENTS.values():
        found.append(_get_agent_status(agent, machine, here=False))
        if agent.here and machine.folder != machine.home:
            found.append(_get_agent_status(agent, machine, here=True))
    return found


def has_claude_plugin(machine: Machine) -> bool:
    """Whether the muisti plugin of Claude Code is enabled. Never raises."""
    settings = AGENTS["claude-code"].user[1].place(machine)
    try:
        _, content = read_file(settings)
        said = to_value(
            parse(
                decode_file(settings, content or b"{}"),
                Grammar(comments=True, trailing_commas=True),
            )
        )
    except (Malformed, ConfigurationProblem):
        return False
    plugins = said.get("enabledPlugins") if isinstance(said, dict) else None
    return isinstance(plugins, dict) and any(
        on is True and name.split("@")[0] == PLUGIN for name, on in plugins.items()
    )


def has_codex_plugin(machine: Machine) -> bool:
    """Whether the muisti plugin of Codex is enabled. Never raises."""
    config = AGENTS["codex"].user[0].place(machine)
    try:
        plugins = tomledit.parse(decode_file(config, read_file(config)[1] or b"")).get("plugins")
    except (Malformed, ConfigurationProblem):
        return False
    return isinstance(plugins, dict) and any(
        isinstance(plugin, dict)
        and plugin.get("enabled") is not False
        and name.split("@")[0] == PLUGIN
        for name, plugin in plugins.items()
    )


def has_gemini_extension(machine: Machine) -> bool:
    """Whether the muisti extension of Gemini CLI is installed."""
    folder = AGENTS["gemini"].trace(machine) / "extensions" / PLUGIN
    return (folder / "gemini-extension.json").exists()


PLUGINS = {
    "claude-code": has_claude_plugin,
    "codex": has_codex_plugin,
    "gemini": has_gemini_extension,
}
"""How to find out whether an agent has muisti's plugin."""


def _get_agent_status(agent: Agent, machine: Machine, *, here: bool) -> AgentStatus:
    server: tuple[str, ...] = ()
    hooks: dict[str, str] = {}
    events: list[str] = []
    files: list[Path] = []
    problems: list[str] = []
    off = ""
    for file in agent.files(here=here):
        path = file.place(machine)
        events += file.hooks.events if file.hooks else ()
        try:
            _, content = read_file(path)
            text = "" if content is None else decode_file(path, content)
        except ConfigurationProblem as error:
            problems.append(str(error))
            continue
        if content is None:
            continue
        try:
            found = find_entries(text, file)
            off = find_disabling_setting(text, file) or off
        except Malformed as error:
            place = locate(text, error.position)
            problems.append(str(ConfigurationProblem(path, error.reason, place=place)))
            continue
        if found:
            files.append(path)
            server = tuple(commands.get_command(found.server)) if found.server else server
            hooks |= found.hooks
    missing = tuple(event for event in events if event not in hooks)
    return AgentStatus(agent, here, tuple(files), server, hooks, missing, off, tuple(problems))
