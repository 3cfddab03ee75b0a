"""The command that forgets a project, a user or a conversation."""

from __future__ import annotations

from datetime import datetime

import click

from muisti.model import ForgetReport
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    confirm_deletion,
    note,
    open_vault,
    print_json,
)

MOST_NAMES = 5
"""How many conversations are named."""


@click.command()
@click.option("--project", help="Everything of this project.")
@click.option("--user", help="Everything of this user.")
@click.option(
    "--conversation", "--chat", "conversation", metavar="NAME", help="A conversation or session."
)
@click.option(
    "--before",
    type=Time(),
    help="Only what was created before this time: 2026-01-31, '3 months ago' …",
)
@click.option("--hard", is_flag=True, help="Delete permanently.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed; change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@common_options
def forget(
    project: str | None,
    user: str | None,
    conversation: str | None,
    before: datetime | None,
    hard: bool,
    dry_run: bool,
    yes: bool,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Remove everything of a project, a user or a conversation.

    Options are combined: --user anna --before 2026-01-31. Shows what it would remove and asks.
    Memories and messages go to the trash unless --hard is given.
    """
    with open_vault(vault) as memory:

        def run(*, dry: bool) -> ForgetReport:
            return memory.forget(
                project=project,
                user=user,
                conversation=conversation,
                before=before,
                hard=hard,
                dry_run=dry,
            )

        report = run(dry=True)
        if not dry_run and not report.is_empty:
            if not as_json:
                click.echo(describe(report))
            confirm_deletion("all of this", "forget", yes=yes, is_hard=hard)
            report = run(dry=False)
    if as_json:
        print_json(report)
    elif report.is_empty:
        note("Nothing to forget.")
    elif dry_run:
        click.echo(describe(report))
        note("Nothing was changed.")
    elif hard:
        click.echo("Deleted permanently.")
    else:
        click.echo("Done." + (" The files of documents stay." if report.documents else ""))
        if report.memories:
            note("Restore a memory: muisti trash lists them, muisti restore ID")
        if report.conversations:
            note(f"Restore messages: muisti conversation restore {report.conversations[0]}")
    if not as_json and report.exchanges and not dry_run:
        note("Exchanges that another running process is extracting may remain; run it again.")


def describe(report: ForgetReport) -> str:
    """Return what a report counts: what goes to the trash, and what is deleted."""
    where = ", ".join(report.conversations[:MOST_NAMES])
    if len(report.conversations) > MOST_NAMES:
        where += f" and {len(report.conversations) - MOST_NAMES} more"
    moved = [
        (len(report.memories), "memory", ""),
        (report.messages, "message", f" in {where}"),
        (report.core_entries, "core memory entry", ""),
    ]
    deleted = [
        (len(report.sessions), "session", ""),
        (report.exchanges, "exchange", " waiting for extraction"),
    ]
    groups = {
        "Would move to the trash": [] if report.hard else moved,
        "Would delete permanently": [*moved, *deleted] if report.hard else deleted,
        "Would remove from the index": [(len(report.documents), "document source", "")],
    }
    lines = []
    for verb, counts in groups.items():
        found = [
            f"  {render.format_count(number, what)}{more}"
            for number, what, more in counts
            if number
        ]
        lines += [f"{verb}:", *found] if found else []
    return "\n".join(lines)


COMMANDS = {"forget": forget}
