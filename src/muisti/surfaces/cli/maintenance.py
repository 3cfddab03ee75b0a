"""Commands for the vault as a whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields

import click

from muisti.settings import Settings
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    common_options,
    note,
    open_vault,
    print_json,
    progress_bar,
)


@click.command()
@common_options
def stats(vault: str | None, as_json: bool) -> None:
    """Show where the vault is and what it holds."""
    with open_vault(vault) as memory:
        found, location = memory.get_stats(), memory.location
    if as_json:
        print_json(found)
    else:
        render.print_stats(found, location)


@click.command()
@click.option(
    "--confirm", is_flag=True, help="Remove the memories of all missing files, however many."
)
@common_options
def sync(confirm: bool, vault: str | None, as_json: bool) -> None:
    """Pick up external file changes."""
    with (
        open_vault(vault, sync=False) as memory,
        progress_bar("Reading files", quiet=as_json) as progress,
    ):
        report = memory.sync(confirm=confirm, progress=progress)
    if as_json:
        print_json(report)
        return
    counts = {
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
    }
    changes = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    if changes:
        click.echo(changes)
    elif report.paused or report.problems:
        click.echo("No changes.")
    else:
        click.echo("No changes; the index is up to date.")
    if report.paused:
        files = render.format_count(report.missing, "file")
        note(f"{files} missing; nothing was removed. If this is intended: muisti sync --confirm")
    render.print_problems(report.problems)


@click.command()
@click.option("--vectors", is_flag=True, help="Only create missing embeddings.")
@common_options
def reindex(vectors: bool, vault: str | None, as_json: bool) -> None:
    """Rebuild the index from the files.

    Other programs can read meanwhile.
    """
    title = "Embedding" if vectors else "Rebuilding the index"
    with (
        open_vault(vault) as memory,
        progress_bar(title, then="Embedding", quiet=as_json) as progress,
    ):
        if vectors:
            embedded = memory.reindex_missing(progress=progress)
            if as_json:
                print_json({"embedded": embedded})
            else:
                click.echo(f"Embedded {render.format_count(embedded, 'memory')}.")
            return
        report = memory.reindex(progress=progress)
        number = memory.get_stats().total_count
    if as_json:
        print_json(report)
    else:
        click.echo(f"Index rebuilt: {render.format_count(number, 'memory')}.")
        render.print_problems(report.problems)


@click.command()
@click.option("--deep", is_flag=True, help="Also compare with a newly built index.")
@common_options
def verify(deep: bool, vault: str | None, as_json: bool) -> None:
    """Check the index against the files.

    Exits with 1 if they differ. Changes nothing.
    """
    with (
        open_vault(vault, sync=False) as memory,
        progress_bar("Checking", quiet=as_json) as progress,
    ):
        report = memory.verify(deep=deep, progress=progress)
    if as_json:
        print_json(report)
    else:
        checked = [
            render.format_count(report.memories, "memory"),
            render.format_count(report.journal_events, "journal event"),
        ]
        if report.files:  # a database has none
            checked.insert(0, render.format_count(report.files, "file"))
        problems = (
            "no problems" if report.ok else render.format_count(len(report.problems), "problem")
        )
        click.echo(f"{', '.join(checked)}: {problems}.")
        render.print_problems(report.problems)
    if not report.ok:
        sys.exit(1)


@click.command()
@common_options
def settings(vault: str | None, as_json: bool) -> None:
    """Show all settings.

    Change them in muisti.toml in the vault, or with MUISTI_* environment variables.
    """
    from muisti.bootstrap import read_settings

    values = read_settings(vault)
    if as_json:
        print_json(values)
        return
    for field in fields(Settings):
        value = getattr(values, field.name)
        if isinstance(value, Mapping):
            shown = ", ".join(value) or "{}"
        else:
            shown = json.dumps(value, ensure_ascii=False)  # as in TOML, unlike `True`
        click.echo(f"{field.name} = {shown}\n    {field.metadata['doc']}")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell completion script.

    For bash: eval "$(muisti completion bash)". It completes commands, options, kinds, projects,
    users, keywords and IDs.
    """
    from click.shell_completion import get_completion_class

    from muisti.surfaces.cli.group import cli
    from muisti.surfaces.cli.simple_search import COMPLETE_VARIABLE

    script = get_completion_class(shell)
    if script is not None:
        click.echo(script(cli, {}, "muisti", COMPLETE_VARIABLE).source())


COMMANDS = {
    "stats": stats,
    "sync": sync,
    "reindex": reindex,
    "verify": verify,
    "settings": settings,
    "completion": completion,
}
