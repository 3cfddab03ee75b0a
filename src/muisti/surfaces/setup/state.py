"""How it stands with an agent: what of muisti is in its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muisti.surfaces.setup import commands
from muisti.surfaces.setup.agents import AGENTS, Agent, File, Machine
from muisti.surfaces.setup.contents import Found, found_in, switched_off
from muisti.surfaces.setup.errors import ConfigurationProblem, Malformed, place_of
from muisti.surfaces.setup.jsontext import Grammar, parse, plain
from muisti.surfaces.setup.plan import decoded, read

PLUGIN = "muisti"


@dataclass(frozen=True, slots=True)
class Standing:
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


def standings(machine: Machine) -> list[Standing]:
    """How it stands with every agent, for all folders and for this one. Never raises."""
    found = []
    for agent in AGENTS.values():
        found.append(_standing(agent, machine, here=False))
        if agent.here and machine.folder != machine.home:
            found.append(_standing(agent, machine, here=True))
    return found


def plugin_of_claude(machine: Machine) -> bool:
    """Whether Claude Code has our plugin switched on. Never raises."""
    settings = AGENTS["claude-code"].user[1].place(machine)
    try:
        _, content = read(settings)
        said = plain(
            parse(decoded(settings, content or b"{}"), Grammar(comments=True, trailing_commas=True))
        )
    except (Malformed, ConfigurationProblem):
        return False
    plugins = said.get("enabledPlugins") if isinstance(said, dict) else None
    return isinstance(plugins, dict) and any(
        on is True and name.split("@")[0] == PLUGIN for name, on in plugins.items()
    )


def _standing(agent: Agent, machine: Machine, *, here: bool) -> Standing:
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
            found, switch = _look(path, file)
        except ConfigurationProblem as error:
            problems.append(str(error))
            continue
        off = switch or off
        if found:
            files.append(path)
            server = tuple(commands.command_of(found.server)) if found.server else server
            hooks |= found.hooks
    missing = tuple(event for event in events if event not in hooks)
    return Standing(agent, here, tuple(files), server, hooks, missing, off, tuple(problems))


def _look(path: Path, file: File) -> tuple[Found, str]:
    """What of muisti is in a file, and the setting that switches hooks off. Raises ConfigurationProblem."""
    _, content = read(path)
    if content is None:
        return Found(), ""
    text = decoded(path, content)
    try:
        return found_in(text, file), switched_off(text, file)
    except Malformed as error:
        raise ConfigurationProblem(
            path, error.reason, place=place_of(text, error.position)
        ) from error
