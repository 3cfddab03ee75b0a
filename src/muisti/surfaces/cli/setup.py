"""The verbs that give an agent its memory and take it away again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muisti.errors import InvalidRequest, MuistiError
from muisti.surfaces.cli.shared import common, note, print_json
from muisti.surfaces.extras import check_installed

if TYPE_CHECKING:
    from muisti.surfaces.setup.agents import Agent, Machine
    from muisti.surfaces.setup.apply import WrittenFile
    from muisti.surfaces.setup.plan import Change

AGENTS = ("claude-code", "codex", "gemini", "cursor", "vscode", "claude-desktop")
_agent = click.argument("agent", type=click.Choice(AGENTS), metavar="AGENT")
_here = click.option("--here", is_flag=True, help="Only for this folder, in a file of its own.")
_dry_run = click.option(
    "--dry-run", is_flag=True, help="Show what would change, and change nothing."
)
_yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@click.command()
@_agent
@_here
@_dry_run
@_yes
@common
def install(
    agent: str, here: bool, dry_run: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Give AGENT this memory: write muisti into its configuration, after showing what changes.

    AGENT is claude-code, codex, gemini, cursor, vscode or claude-desktop. With --vault it uses that vault; otherwise the
    one of the folder that it works in, or yours.
    """
    from muisti.surfaces.setup.agents import AGENTS as KNOWN
    from muisti.surfaces.setup.agents import Machine
    from muisti.surfaces.setup.commands import find_program
    from muisti.surfaces.setup.contents import LaunchCommand
    from muisti.surfaces.setup.plan import plan_install

    check_installed("muisti install")
    chosen, machine = KNOWN[agent], Machine.current()
    starting = LaunchCommand(find_program(), _vault(vault))
    changes = plan_install(chosen, machine, starting, here=here)
    _carry_out(
        "install", chosen, changes, (dry_run, yes, as_json), _remarks(chosen, machine, vault)
    )


@click.command()
@_agent
@_here
@_dry_run
@_yes
@common
def uninstall(
    agent: str, here: bool, dry_run: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Take muisti out of AGENT's configuration again; memories stay where they are.

    AGENT is claude-code, codex, gemini, cursor, vscode or claude-desktop.
    """
    from muisti.surfaces.setup.agents import AGENTS as KNOWN
    from muisti.surfaces.setup.agents import Machine
    from muisti.surfaces.setup.plan import plan_uninstall

    if vault is not None:
        raise InvalidRequest(
            "--vault",
            vault,
            "the whole entry is removed, whichever vault it names; leave --vault out",
        )
    chosen = KNOWN[agent]
    _carry_out(
        "uninstall",
        chosen,
        plan_uninstall(chosen, Machine.current(), here=here),
        (dry_run, yes, as_json),
        [],
    )


def _carry_out(
    action: str,
    agent: Agent,
    changes: Sequence[Change],
    flags: tuple[bool, bool, bool],
    remarks: Sequence[str],
) -> None:
    """Show, ask, write, tell."""
    from muisti.surfaces.setup.apply import apply

    dry_run, yes, as_json = flags
    differing = [change for change in changes if change.state != "same"]
    if not as_json:
        _show(action, agent, changes, remarks)
    if not differing or dry_run:
        if as_json:
            _tell_json(action, agent, changes, [], remarks, dry_run=dry_run)
        elif differing:
            click.echo("Nothing was written: this was a dry run.")
        return
    if not yes:
        _ask(as_json=as_json)
    done = apply(changes)
    if as_json:
        _tell_json(action, agent, changes, done, remarks, dry_run=False)
    else:
        _tell(action, agent, done)


def _show(action: str, agent: Agent, changes: Sequence[Change], remarks: Sequence[str]) -> None:
    from muisti.surfaces.setup.plan import format_diff

    for remark in remarks:
        note(f"Note: {remark}")
    differing = [change for change in changes if change.state != "same"]
    if not differing:
        done = (
            "is already set up"
            if action == "install"
            else "has nothing of muisti in its configuration"
        )
        click.echo(f"{agent.title} {done}: {', '.join(str(change.path) for change in changes)}")
    for change in differing:
        leads = f" → {change.target}" if change.path.is_symlink() else ""
        click.echo(click.style(_safe(f"{change.path}{leads} ({change.state})"), bold=True))
        for line in format_diff(change).split("\n")[2:]:
            click.echo(
                click.style(_safe(line), fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))
            )
        click.echo()


def _safe(line: str) -> str:
    from muisti.surfaces.cli.render import visible

    return visible(line)


def _ask(*, as_json: bool) -> None:
    """Raises MuistiError where nobody can answer, and click's Abort for a no."""
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MuistiError(
            "nobody is here to confirm this, and nothing was written: add --yes to write, or --dry-run to look"
        )
    click.confirm("Go ahead?", abort=True)


def _tell(action: str, agent: Agent, done: Sequence[WrittenFile]) -> None:
    for one in done:
        copy = f" (as it was: {one.backup})" if one.backup else ""
        click.echo(
            f"Written: {one.path}{copy}" if one.path.exists() else f"Removed: {one.path}{copy}"
        )
    click.echo(
        agent.after
        if action == "install"
        else f"{agent.title} no longer uses muisti; your memories are untouched."
    )


def _tell_json(
    action: str,
    agent: Agent,
    changes: Sequence[Change],
    done: Sequence[WrittenFile],
    remarks: Sequence[str],
    *,
    dry_run: bool,
) -> None:
    from muisti.surfaces.setup.plan import format_diff

    backups = {one.path: one.backup for one in done}
    files = [
        {
            "path": str(change.path),
            "state": change.state,
            "diff": "" if change.state == "same" else format_diff(change),
            "backup": str(backup) if (backup := backups.get(change.path)) else None,
        }
        for change in changes
    ]
    changed = bool(done)
    next_step = agent.after if action == "install" else ""
    print_json({"agent": agent.name, "action": action, "dry_run": dry_run, "changed": changed, "files": files,
                "notes": list(remarks), "next": next_step})  # fmt: skip


def _remarks(agent: Agent, machine: Machine, vault: str | None) -> list[str]:
    """What a person may want to know before."""
    from muisti.settings import SETTINGS_FILE, find_vault
    from muisti.surfaces.setup.state import has_claude_plugin

    remarks = []
    if not agent.trace(machine).exists():
        remarks.append(
            f"{agent.title} does not seem to be installed here: there is no {agent.trace(machine)}"
        )
    if agent.name == "claude-code" and has_claude_plugin(machine):
        remarks.append(
            "the muisti plugin is enabled too: everything would be done twice; keep one of them"
        )
    if vault is not None and not (find_vault(vault) / SETTINGS_FILE).is_file():
        remarks.append(
            f"there is no vault at {find_vault(vault)} yet: muisti init {find_vault(vault)} makes it"
        )
    if vault is None and find_vault() != find_vault(environ={}):
        remarks.append(
            f"MUISTI_VAULT is set here, but {agent.title} may not see it; to be sure, add --vault {find_vault()}"
        )
    return remarks


def _vault(vault: str | None) -> Path | None:
    from muisti.settings import find_vault

    return None if vault is None else find_vault(vault)


COMMANDS = {"install": install, "uninstall": uninstall}
