"""The check-up of agents: what their configurations say, whether that runs, and how their hooks fared."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.settings import SETTINGS_FILE
from muisti.surfaces.setup import commands
from muisti.surfaces.setup.agents import Machine
from muisti.surfaces.setup.findings import Finding, Level, run_check
from muisti.surfaces.setup.state import AgentStatus, has_claude_plugin, list_agent_status

if TYPE_CHECKING:
    from muisti.surfaces.hooks.log import Run

OK, NOTE, PROBLEM = Level.OK, Level.NOTE, Level.PROBLEM
PATIENCE = 20.0
"""Seconds that a command gets to tell its version."""
RUNS = 200
"""Runs of hooks that are looked at."""


def check_agents(machine: Machine) -> list[Finding]:
    """Every agent that is here or set up, the command `muisti` itself, and the log of hooks. Never raises."""
    found = run_check("command", partial(_check_path, machine))
    for standing in list_agent_status(machine):
        area = standing.agent.name + (" (here)" if standing.here else "")
        found += run_check(area, partial(_check_agent, standing, area, machine))
    return [*found, *run_check("hooks", _check_hook_runs)]


def _check_path(machine: Machine) -> Iterator[Finding]:
    there = shutil.which("muisti", path=machine.environ.get("PATH"))
    ours = commands.find_program()
    if there is None:
        what = "muisti is not on PATH; agents that were set up with `muisti install` do not need it, the plugin does"
        yield Finding("command", NOTE, what, f"add {os.path.dirname(ours[0])} to PATH")
    elif len(ours) == 1 and not os.path.samefile(there, ours[0]):
        yield Finding(
            "command",
            NOTE,
            f"on PATH is {there}, but this is {ours[0]}",
            "remove one of them, or mind which is used",
        )
    else:
        yield Finding("command", OK, there)


def _check_agent(standing: AgentStatus, area: str, machine: Machine) -> Iterator[Finding]:
    agent = standing.agent
    for problem in standing.problems:
        yield Finding(
            area, PROBLEM, problem, f"correct the file; {agent.title} cannot read it either"
        )
    flag = " --here" if standing.here else ""
    plugin = agent.name == "claude-code" and not standing.here and has_claude_plugin(machine)
    if plugin:
        yield Finding(area, OK, "the muisti plugin is enabled")
    if not standing.is_set_up:
        if (
            not standing.here
            and not plugin
            and not standing.problems
            and agent.trace(machine).exists()
        ):
            yield Finding(area, NOTE, "does not use muisti", f"muisti install {agent.name}")
        return
    if plugin:
        cure = f"muisti uninstall {agent.name}, or disable the plugin"
        yield Finding(
            area,
            PROBLEM,
            "both the plugin and the configuration have muisti: everything is done twice",
            cure,
        )
    again = f"muisti install {agent.name}{flag}"
    if standing.server:
        yield from _check_command(area, "server", standing.server, again, try_it=not standing.here)
    else:
        yield Finding(area, PROBLEM, "hooks are there, but the server is not", again)
    yield from _check_agent_vault(standing.server, area, again)
    yield from _check_hooks(standing, area, again)


def _check_agent_vault(server: Sequence[str], area: str, again: str) -> Iterator[Finding]:
    """Whether the vault that a configuration names is there."""
    named = [after for word, after in pairwise(server) if word == "--vault"]
    for vault in named:
        if not Path(vault, SETTINGS_FILE).is_file():
            cure = f"muisti init {shlex.quote(vault)}, or name another: {again} --vault PATH"
            yield Finding(area, PROBLEM, f"the vault that it names is not there: {vault}", cure)


def _check_hooks(standing: AgentStatus, area: str, again: str) -> Iterator[Finding]:
    if standing.missing and standing.hooks:
        yield Finding(area, PROBLEM, f"hooks are missing: {', '.join(standing.missing)}", again)
    elif standing.missing:
        yield Finding(area, NOTE, "no hooks: nothing is recalled or kept by itself", again)
    elif standing.hooks:
        yield Finding(area, OK, f"{len(standing.hooks)} hooks")
    if standing.hooks and standing.switched_off:
        cure = "switch them on: without them nothing is recalled or kept by itself"
        yield Finding(area, PROBLEM, f"hooks are switched off ({standing.switched_off})", cure)
    server = commands.get_program(standing.server)
    programs = {
        tuple(commands.get_program(_split_command(command))) for command in standing.hooks.values()
    } - {tuple(server)}
    for program in sorted(programs):
        yield from _check_command(
            area, "hooks", (*program, "hook"), again, try_it=not standing.here
        )


def _last_error(runs: Sequence[Run]) -> str:
    return next(f"{run.event}: {run.detail}" for run in runs if run.outcome == "error")


def _check_command(
    area: str, what: str, words: Sequence[str], again: str, *, try_it: bool
) -> Iterator[Finding]:
    """Whether what a configuration starts is there and runs. One that came with a folder is somebody else's: it is not run."""
    program = commands.get_program(words)
    there = shutil.which(program[0]) if program else None
    shown = shlex.join(program)
    if there is None:
        yield Finding(
            area, PROBLEM, f"the {what} is started with {shown}, which is not there", again
        )
    elif not try_it and tuple(program) != commands.find_program():
        yield Finding(area, OK, f"{what}: {shown} (not tried: it comes from this folder)")
    elif not _is_muisti_itself(program):
        yield Finding(area, OK, f"{what}: {shown} (not tried)")
    else:
        said = _get_version(there, *program[1:])
        if said.startswith("muisti "):
            yield Finding(area, OK, f"{what}: {shown} ({said})")
        else:
            yield Finding(
                area,
                PROBLEM,
                f"the {what} is started with {shown}, which does not run: {said}",
                again,
            )


def _is_muisti_itself(program: Sequence[str]) -> bool:
    """Whether it is muisti itself, not something that would fetch it first."""
    return len(program) == 1 or list(program[1:]) in (["-m", "muisti"], ["-P", "-m", "muisti"])


@cache
def _get_version(*program: str) -> str:
    """What it says, or what goes wrong; agents usually start the same one."""
    try:
        done = subprocess.run(
            [*program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__}"
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip().split("\n")
    return said[0 if done.returncode == 0 else -1][:200] or f"it ends with {done.returncode}"


def _split_command(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _check_hook_runs() -> Iterator[Finding]:
    """How hooks fared lately, from their log."""
    from muisti.surfaces.hooks.log import recent
    from muisti.surfaces.hooks.spool import waiting

    runs = recent(RUNS)
    if not runs:
        yield Finding("hooks", OK, "none has run yet")
        return
    last = runs[0]
    when = f"{last.at:%Y-%m-%d %H:%M} UTC, {last.milliseconds:.0f} ms"
    yield Finding("hooks", OK, f"last: {last.event} of {last.agent or 'an agent'}, {when}")
    seen: set[tuple[str, str]] = set()
    for run in runs:
        if (run.agent, run.event) in seen:
            continue
        seen.add((run.agent, run.event))
        if run.outcome == "error":
            what = f"{run.event} of {run.agent or 'an agent'} failed, {run.at:%Y-%m-%d %H:%M} UTC: {run.detail}"
            yield Finding(
                "hooks",
                PROBLEM,
                what,
                "correct what it says; the next run that succeeds clears this",
            )
    errors = sum(run.outcome == "error" for run in runs)
    if errors:
        yield Finding(
            "hooks",
            NOTE,
            f"{errors} of the last {len(runs)} runs failed, at last: {_last_error(runs)}",
        )
    if left := len(waiting()):
        yield Finding(
            "hooks",
            NOTE,
            f"{left} of the things that agents said wait to be stored",
            "the next hook tries again",
        )
