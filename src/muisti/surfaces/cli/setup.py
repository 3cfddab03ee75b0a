"""Commands that add muisti to an agent's configuration and remove it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muisti.errors import InvalidRequest, MuistiError
from muisti.surfaces.cli.shared import common_options, note, print_json
from muisti.surfaces.extras import check_installed

if TYPE_CHECKING:
    from muisti.surfaces.setup.agents import Agent, Machine
    from muisti.surfaces.setup.apply import WrittenFile
    from muisti.surfaces.setup.plan import Change

AGENTS = (
    "claude-code",
    "codex",
    "gemini",
    "cursor",
    "vscode",
    "claude-desktop",
    "opencode",
    "windsurf",
    "zed",
)
_agent_argument = click.argument("agent", type=click.Choice(AGENTS), metavar="AGENT")
_here_option = click.option(
    "--here", is_flag=True, help="Only in the current folder, in a file of its own."
)
_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would change; change nothing."
)
_yes_option = click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")


@click.command()
@_agent_argument
@_here_option
@_dry_run_option
@_yes_option
@common_options
def install(
    agent: str, here: bool, dry_run: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Set up AGENT to use muisti.

    Shows the changes of its configuration before writing them. AGENT is claude-code, codex, gemini,
    cursor, vscode, claude-desktop, opencode, windsurf or zed. With --vault the agent always uses
    that vault; otherwise the vault of the folder it works in, or your own.
    """
    from muisti.settings import find_vault
    from muisti.surfaces.setup.agents import AGENTS as KNOWN
    from muisti.surfaces.setup.agents import Machine
    from muisti.surfaces.setup.commands import find_program
    from muisti.surfaces.setup.contents import LaunchCommand
    from muisti.surfaces.setup.plan import plan_install

    check_installed("muisti install")
    chosen, machine = KNOWN[agent], Machine.current()
    command = LaunchCommand(find_program(), None if vault is None else find_vault(vault))
    changes = plan_install(chosen, machine, command, here=here)
    remarks = _collect_remarks(chosen, machine, vault)
    is_done = _carry_out("install", chosen, changes, (dry_run, yes, as_json), remarks)
    if is_done and not as_json:
        note(f"Undo: muisti uninstall {agent}{' --here' if here else ''}")


@click.command()
@_agent_argument
@_here_option
@_dry_run_option
@_yes_option
@common_options
def uninstall(
    agent: str, here: bool, dry_run: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Remove muisti from AGENT's configuration.

    Memories stay. AGENT is claude-code, codex, gemini, cursor, vscode, claude-desktop, opencode,
    windsurf or zed.
    """
    from muisti.surfaces.setup.agents import AGENTS as KNOWN
    from muisti.surfaces.setup.agents import Machine
    from muisti.surfaces.setup.plan import plan_uninstall

    if vault is not None:
        reason = "must be left out; the entry is removed whichever vault it names"
        raise InvalidRequest("--vault", vault, reason)
    chosen = KNOWN[agent]
    changes = plan_uninstall(chosen, Machine.current(), here=here)
    _carry_out("uninstall", chosen, changes, (dry_run, yes, as_json), [])


def _carry_out(
    action: str,
    agent: Agent,
    changes: Sequence[Change],
    flags: tuple[bool, bool, bool],
    remarks: Sequence[str],
) -> bool:
    """Show the changes, ask, write and print them. Return whether something was written."""
    from muisti.surfaces.setup.apply import apply

    dry_run, yes, as_json = flags
    is_needed = any(change.state != "same" for change in changes)
    if not as_json:
        _print_changes(action, agent, changes, remarks)
    done: Sequence[WrittenFile] = ()
    if is_needed and not dry_run:
        if not yes:
            if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise MuistiError(
                    "not a terminal; nothing written. Add --yes to write, or --dry-run to look"
                )
            click.confirm("Continue?", abort=True)
        done = apply(changes)
    if as_json:
        _print_json_report(action, agent, changes, done, remarks, dry_run=dry_run)
        return bool(done)
    for written in done:
        verb = "Wrote" if written.path.exists() else "Removed"
        backup = f" (backup: {written.backup})" if written.backup else ""
        click.echo(f"{verb} {written.path}{backup}")
    if is_needed and dry_run:
        click.echo("Dry run; nothing written.")
    elif done and action == "install":
        click.echo(agent.after)
    elif done:
        click.echo(f"{agent.title} no longer uses muisti; your memories are unchanged.")
    return bool(done)


def _print_changes(
    action: str, agent: Agent, changes: Sequence[Change], remarks: Sequence[str]
) -> None:
    from muisti.surfaces.cli.render import replace_unprintable
    from muisti.surfaces.setup.plan import format_diff

    for remark in remarks:
        note(f"Note: {remark}")
    colours = {"+": "green", "-": "red", "@": "cyan"}
    differing = [change for change in changes if change.state != "same"]
    if not differing:
        state = "is already set up" if action == "install" else "is not set up to use muisti"
        click.echo(f"{agent.title} {state}: {', '.join(str(change.path) for change in changes)}")
    for change in differing:
        target = f" → {change.target}" if change.path.is_symlink() else ""
        heading = replace_unprintable(f"{change.path}{target} ({change.state})")
        click.echo(click.style(heading, bold=True))
        for line in format_diff(change).split("\n")[2:]:
            click.echo(click.style(replace_unprintable(line), fg=colours.get(line[:1])))
        click.echo()


def _print_json_report(
    action: str,
    agent: Agent,
    changes: Sequence[Change],
    done: Sequence[WrittenFile],
    remarks: Sequence[str],
    *,
    dry_run: bool,
) -> None:
    from muisti.surfaces.setup.plan import format_diff

    backups = {written.path: written.backup for written in done}
    files = []
    for change in changes:
        backup = backups.get(change.path)
        files.append(
            {
                "path": str(change.path),
                "state": change.state,
                "diff": "" if change.state == "same" else format_diff(change),
                "backup": str(backup) if backup else None,
            }
        )
    print_json(
        {
            "agent": agent.name,
            "action": action,
            "dry_run": dry_run,
            "changed": bool(done),
            "files": files,
            "notes": list(remarks),
            "next": agent.after if action == "install" else "",
        }
    )


def _collect_remarks(agent: Agent, machine: Machine, vault: str | None) -> list[str]:
    """Return what to know before installing."""
    from muisti.settings import SETTINGS_FILE, find_vault
    from muisti.surfaces.setup.state import has_claude_plugin

    remarks = []
    if not agent.trace(machine).exists():
        remarks.append(f"{agent.title} may not be installed: {agent.trace(machine)} is missing")
    if agent.name == "claude-code" and has_claude_plugin(machine):
        remarks.append("the muisti plugin is enabled too, so hooks would run twice; keep one")
    root = find_vault(vault)
    if vault is not None and not (root / SETTINGS_FILE).is_file():
        remarks.append(f"there is no vault in {root} yet; create it: muisti init {root}")
    if vault is None and root != find_vault(environ={}):
        remarks.append(
            f"MUISTI_VAULT is set here, but {agent.title} may not see it; add --vault {root}"
        )
    return remarks


COMMANDS = {"install": install, "uninstall": uninstall}
