"""Check the configuration of agents, the commands in it, and the last runs of hooks."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from muisti.settings import SETTINGS_FILE
from muisti.surfaces.setup import commands
from muisti.surfaces.setup.agents import Machine
from muisti.surfaces.setup.findings import Finding, Level, count_noun, run_check
from muisti.surfaces.setup.state import PLUGINS, AgentStatus, list_agent_status

OK, NOTE, PROBLEM = Level.OK, Level.NOTE, Level.PROBLEM
PATIENCE = 20.0
"""Seconds to wait for `muisti --version`."""
RUNS = 200
"""The number of hook runs to read from the log."""


def check_agents(machine: Machine) -> list[Finding]:
    """Check every agent, the command `muisti` itself, and the log of hooks. Never raises."""
    found = run_check("command", partial(_check_path, machine))
    for standing in list_agent_status(machine):
        area = standing.agent.name + (" (here)" if standing.here else "")
        found += run_check(area, partial(_check_agent, standing, area, machine))
    return [*found, *run_check("hooks", _check_hook_runs)]


def _check_path(machine: Machine) -> Iterator[Finding]:
    there = shutil.which("muisti", path=machine.environ.get("PATH"))
    ours = commands.find_program()
    if there is None:
        what = "muisti is not on PATH; plugins need it, `muisti install` does not"
        yield Finding("command", NOTE, what, f"add {os.path.dirname(ours[0])} to PATH")
    elif len(ours) == 1 and not os.path.samefile(there, ours[0]):
        yield Finding(
            "command",
            NOTE,
            f"two installations: {there} is on PATH, this is {ours[0]}",
            "remove one of them",
        )
    else:
        yield Finding("command", OK, there)


def _check_agent(standing: AgentStatus, area: str, machine: Machine) -> Iterator[Finding]:
    agent = standing.agent
    for problem in standing.problems:
        yield Finding(area, PROBLEM, problem, f"fix the file; {agent.title} cannot read it either")
    flag = " --here" if standing.here else ""
    has_plugin = PLUGINS.get(agent.name)
    plugin = has_plugin is not None and not standing.here and has_plugin(machine)
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
        fix = f"muisti uninstall {agent.name}, or disable the plugin"
        yield Finding(
            area,
            PROBLEM,
            "set up twice, by the plugin and by the configuration",
            fix,
        )
    again = f"muisti install {agent.name}{flag}"
    if standing.server:
        yield from _check_command(area, "server", standing.server, again, try_it=not standing.here)
    else:
        yield Finding(area, PROBLEM, "the hooks are configured, but the server is not", again)
    for word, vault in pairwise(standing.server):
        if word == "--vault" and not Path(vault, SETTINGS_FILE).is_file():
            fix = f"muisti init {shlex.quote(vault)}, or choose another: {again} --vault PATH"
            yield Finding(area, PROBLEM, f"the configured vault does not exist: {vault}", fix)
    yield from _check_hooks(standing, area, again)


def _check_hooks(standing: AgentStatus, area: str, again: str) -> Iterator[Finding]:
    if standing.missing and standing.hooks:
        yield Finding(area, PROBLEM, f"hooks are missing: {', '.join(standing.missing)}", again)
    elif standing.missing:
        yield Finding(area, NOTE, "no hooks: nothing is recalled or saved automatically", again)
    elif standing.hooks:
        yield Finding(area, OK, count_noun(len(standing.hooks), "hook", "hooks"))
    if standing.hooks and standing.switched_off:
        fix = "enable hooks: without them nothing is recalled or saved automatically"
        yield Finding(area, PROBLEM, f"hooks are disabled ({standing.switched_off})", fix)
    programs = set()
    for command in standing.hooks.values():
        try:
            words = shlex.split(command)
        except ValueError:
            words = command.split()
        programs.add(tuple(commands.get_program(words)))
    programs.discard(tuple(commands.get_program(standing.server)))
    for program in sorted(programs):
        yield from _check_command(
            area, "hooks", (*program, "hook"), again, try_it=not standing.here
        )


def _check_command(
    area: str, what: str, words: Sequence[str], again: str, *, try_it: bool
) -> Iterator[Finding]:
    """Check that a configured command exists and runs.

    A command configured in the current folder is not run: it may come from a cloned repository.
    """
    program = commands.get_program(words)
    there = shutil.which(program[0]) if program else None
    shown = shlex.join(program)
    if there is None:
        yield Finding(area, PROBLEM, f"the command of the {what} does not exist: {shown}", again)
    elif not try_it and tuple(program) != commands.find_program():
        yield Finding(area, OK, f"{what}: {shown} (not run: configured in this folder)")
    elif program[1:] not in ([], ["-m", "muisti"], ["-P", "-m", "muisti"]):
        # A runner such as uvx would download muisti first.
        yield Finding(area, OK, f"{what}: {shown} (not run)")
    else:
        said = _get_version(there, *program[1:])
        if said.startswith("muisti "):
            yield Finding(area, OK, f"{what}: {shown} ({said})")
        else:
            yield Finding(
                area,
                PROBLEM,
                f"the command of the {what} fails: {shown}: {said}",
                again,
            )


@cache
def _get_version(*program: str) -> str:
    """Return the output of `--version`, or the error. Cached: agents share one program."""
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
    return said[0 if done.returncode == 0 else -1][:200] or f"exit code {done.returncode}"


def _check_hook_runs() -> Iterator[Finding]:
    """Report the last runs of hooks, from their log."""
    from muisti.surfaces.hooks.log import read_recent
    from muisti.surfaces.hooks.spool import list_entries

    runs = read_recent(RUNS)
    if not runs:
        yield Finding("hooks", OK, "no hook has run yet")
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
            when = f"{run.at:%Y-%m-%d %H:%M} UTC"
            what = f"{run.event} of {run.agent or 'an agent'} failed, {when}: {run.detail}"
            yield Finding(
                "hooks",
                PROBLEM,
                what,
                "fix the cause; the next successful run clears this",
            )
    errors = [run for run in runs if run.outcome == "error"]
    if errors:
        latest = f"{errors[0].event}: {errors[0].detail}"
        what = f"{len(errors)} of the last {len(runs)} runs failed; the latest: {latest}"
        yield Finding("hooks", NOTE, what)
    if left := len(list_entries()):
        yield Finding(
            "hooks",
            NOTE,
            f"{count_noun(left, 'entry is', 'entries are')} waiting to be stored",
            "the next hook tries again",
        )
