"""How it stands with an agent: what of muisti is in its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muisti.surfaces.setup import commands
from muisti.surfaces.setup.agents import AGENTS, Agent, File, Machine
from muisti.surfaces.setup.contents import MuistiEntries, find_disabling_setting, find_entries
from muisti.surfaces.setup.errors import ConfigurationProblem, Malformed, locate
from muisti.surfaces.setup.jsontext import Grammar, parse, to_value
from muisti.surfaces.setup.plan import decode_file, read_file

PLUGIN = "muisti"


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """What of muisti is in the files of one agent and scope."""

    agent: Agent
    here: bool
    files: tuple[Path, ...]
    """Those that have something of muisti in them."""
    server: tuple[str, ...] = ()
    """The command of the server; empty: it is not there."""
    hooks: Mapping[str, str] = field(default_factory=dict)
    """The command of each event."""
    missing: tuple[str, ...] = ()
    """Events whose hook is not there, of an agent that has hooks."""
    switched_off: str = ""
    """The setting that keeps hooks from running."""
    problems: tuple[str, ...] = ()
    """Files that cannot be understood."""

    @property
    def is_set_up(self) -> bool:
        """Whether there is anything of muisti."""
        return bool(self.server or self.hooks)


def list_agent_status(machine: Machine) -> list[AgentStatus]:
    """How it stands with every agent, for all folders and for this one. Never raises."""
    found = []
    for agent in AGENTS.values():
        found.append(_get_agent_status(agent, machine, here=False))
        if agent.here and machine.folder != machine.home:
            found.append(_get_agent_status(agent, machine, here=True))
    return found


def has_claude_plugin(machine: Machine) -> bool:
    """Whether Claude Code has our plugin switched on. Never raises."""
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
            found, switch = _read_entries(path, file)
        except ConfigurationProblem as error:
            problems.append(str(error))
            continue
        off = switch or off
        if found:
            files.append(path)
            server = tuple(commands.get_command(found.server)) if found.server else server
            hooks |= found.hooks
    missing = tuple(event for event in events if event not in hooks)
    return AgentStatus(agent, here, tuple(files), server, hooks, missing, off, tuple(problems))


def _read_entries(path: Path, file: File) -> tuple[MuistiEntries, str]:
    """What of muisti is in a file, and the setting that switches hooks off. Raises ConfigurationProblem."""
    _, content = read_file(path)
    if content is None:
        return MuistiEntries(), ""
    text = decode_file(path, content)
    try:
        return find_entries(text, file), find_disabling_setting(text, file)
    except Malformed as error:
        raise ConfigurationProblem(
            path, error.reason, place=locate(text, error.position)
        ) from error
