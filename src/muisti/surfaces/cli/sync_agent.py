"""`muisti sync-agent`: keep memories in an agent's own memory folder."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from pathlib import Path

import click

from muisti.errors import InvalidRequest
from muisti.surfaces.cli.shared import common_options, note, open_vault, print_json
from muisti.surfaces.project import find_repository

_TOLD = {
    "write": "written",
    "update": "note updated",
    "remove": "note removed",
    "take": "memory updated",
    "new": "new memory",
    "conflict": "conflict",
    "problem": "problem",
}


def find_memory_folder() -> Path:
    """Return the memory folder of Claude Code for the repository of the current folder."""
    from muisti.surfaces.setup.agents import Machine

    machine = Machine.current()
    root = find_repository(machine.folder) or machine.folder.resolve()
    base = machine.folder_from("CLAUDE_CONFIG_DIR", machine.home / ".claude")
    return base / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root)) / "memory"


@click.command("sync-agent")
@click.argument("agent", type=click.Choice(["claude-code"]), default="claude-code")
@click.option("--folder", type=click.Path(path_type=Path), help="The agent's memory folder.")
@click.option("--kind", "kinds", multiple=True, help="Only this kind; may be repeated.")
@click.option("--keyword", "keywords", multiple=True, help="Only memories with this keyword.")
@click.option(
    "--limit",
    type=click.IntRange(1, 200),
    default=30,
    show_default=True,
    help="Maximum number of notes.",
)
@click.option(
    "--prefer",
    type=click.Choice(["vault", "agent"]),
    help="Which text to keep if a memory and its note have both changed. Default: both.",
)
@click.option("--take-new", is_flag=True, help="Also save notes that the agent wrote itself.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@common_options
def sync_agent(
    agent: str,
    folder: Path | None,
    kinds: tuple[str, ...],
    keywords: tuple[str, ...],
    limit: int,
    prefer: str | None,
    take_new: bool,
    dry_run: bool,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Sync chosen memories with Claude Code's own memory folder.

    Without --kind and --keyword: confirmed preferences, decisions and standing instructions of the
    project. A memory that is edited there is unconfirmed until you confirm it. A conflict keeps
    both texts.
    """
    from muisti.engine.other_vaults import use_own_vault
    from muisti.surfaces.agent_memory.folder import AgentFolder
    from muisti.surfaces.agent_memory.sync import AgentSync, Choice

    place = folder or find_memory_folder()
    with open_vault(vault, in_project=True) as memory:
        if not memory.is_trusted:
            reason = "is not trusted; if it is yours, run `muisti trust` first"
            raise InvalidRequest("vault", memory.location, reason)
        settings = memory.settings
        choice = Choice(settings.project, settings.user, kinds, keywords, limit)
        run = AgentSync(
            memory,
            AgentFolder(place),
            choice,
            prefer="vault" if prefer == "vault" else "agent" if prefer else None,
            take_new=take_new,
            dry_run=dry_run,
        )
        with use_own_vault(memory):  # an edited note must not change another vault
            steps = run.run()
    if as_json:
        done = [asdict(step) for step in steps]
        about = {"agent": agent, "folder": str(place), "project": choice.project}
        print_json({**about, "steps": done})
    else:
        from muisti.surfaces.cli.render import replace_unprintable

        for step in steps:
            reason = f": {step.reason}" if step.reason else ""
            title = f"  {step.title}" if step.title else ""
            line = f"{_TOLD[step.action]:<14}  {step.file}{title}{reason}"
            click.echo(replace_unprintable(line))
        where = f"{place}{f' for project {choice.project}' if choice.project else ''}"
        prefix = "Nothing was written: " if dry_run else ""
        note(f"{prefix}{where}" if steps else f"Nothing to do: {where}")
    if any(step.action in ("conflict", "problem") for step in steps):
        sys.exit(1)


COMMANDS = {"sync-agent": sync_agent}
