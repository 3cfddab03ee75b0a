"""Commands that import from and export to other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muisti.errors import InvalidRequest
from muisti.locations import find_database
from muisti.surfaces.cli import render
from muisti.surfaces.cli.render_results import cut
from muisti.surfaces.cli.shared import (
    common_options,
    embed_with_bar,
    filter_options,
    note,
    open_vault,
    print_json,
    progress_bar,
)

if TYPE_CHECKING:
    from muisti.model import ImportReport


NAMES, NAME_WIDTH = 5, 40
"""How many names of missing notes are shown, and how many characters of each."""
EXAMPLE_WIDTH = 76
"""Characters of a title among the examples of a dry run."""


@click.command()
@filter_options
@click.option(
    "--format",
    "form",
    default="markdown",
    show_default=True,
    help="markdown, json, jsonl, html, mcp-memory, obsidian or vault.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="File to write; for obsidian and vault a new folder. Default: standard output.",
)
@common_options
def export(
    filters: dict[str, Any], form: str, output: Path | None, vault: str | None, as_json: bool
) -> None:
    """Export memories to one file, or to a vault for Obsidian.

    `muisti import` reads markdown, json, jsonl and obsidian back. html is a page to read offline.
    To move a whole vault, copy its folder instead: see `muisti init --help`. With --format vault, a
    vault in a database becomes a folder, as with `muisti pull`; run it again if it was cut short.
    """
    if form == "vault":
        store = find_database(vault)
        if store is None:
            raise InvalidRequest("format", form, "is for a vault in a database; copy the folder")
        if output is None or any(filters.values()):
            reason = "needs --output FOLDER, and no filters: a vault is exported whole"
            raise InvalidRequest("format", form, reason)
        from muisti.surfaces.cli.moving import copy_to_folder

        copy_to_folder(store, str(output), "Exported", as_json=as_json)
        return
    if form == "obsidian":
        if output is None:
            raise click.UsageError("--format obsidian needs a folder: --output FOLDER")
        with open_vault(vault) as memory:
            number = memory.export_folder(output, format=form, **filters)
        note(f"Wrote {render.format_count(number, 'file')} to {output}. Open it with Obsidian.")
        return
    with open_vault(vault) as memory:
        text = memory.export_memories(format="json" if as_json else form, **filters)
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            raise InvalidRequest("output", output, reason) from error
        hint = "" if form == "html" else f" Import it with: muisti import {output}"
        if form == "mcp-memory" and output.suffix != ".jsonl":
            hint += f" --from {form}"
        note(f"Wrote {output}.{hint}")


@click.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "form",
    metavar="FORMAT",
    help="Format of SOURCE: obsidian, markdown, chatgpt, claude, claude-code, codex, mcp-memory, "
    "mem0, basic-memory, letta, agent-instructions, json or jsonl. Default: detected.",
)
@click.option("--kind", help="Kind of all imported memories.")
@click.option("--project", help="Project of all imported memories.")
@click.option("--trusted", is_flag=True, help="Mark the memories as trusted.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported; write nothing.")
@click.option("--extract", is_flag=True, help="Also extract memories from conversations.")
@common_options
def import_(
    source: Path,
    form: str | None,
    kind: str | None,
    project: str | None,
    trusted: bool,
    dry_run: bool,
    extract: bool,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Import memories and conversations from another program.

    SOURCE is a file, a folder or a zip archive: Obsidian, ChatGPT, Claude, Claude Code, Codex, MCP
    memory, mem0, basic-memory, Letta, JSON or Markdown. Duplicates are merged. Repeating an import
    adds only what is new. Items that cannot be imported are listed.
    """
    with open_vault(vault, create=True) as memory:
        with progress_bar("Importing", quiet=as_json) as progress:
            report = memory.import_from(
                source,
                format=form,
                kind=kind,
                project=project,
                trusted=trusted,
                dry_run=dry_run,
                extract=extract,
                progress=progress,
            )
        if not dry_run:
            embed_with_bar(memory, quiet=as_json)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    done = report.imported or report.messages or report.existing or report.existing_messages
    if report.problems and not done:
        sys.exit(1)


def _print_report(report: ImportReport) -> None:
    """Print what an import did, or would do."""
    count = render.format_count
    done = "Would import" if report.dry_run else "Imported"
    parts = []
    if report.imported or not report.messages:
        parts.append(count(report.imported, "new memory"))
    if report.messages:
        parts.append(
            f"{count(report.messages, 'message')} of {count(report.conversations, 'conversation')}"
        )
    if report.links:
        parts.append(count(report.links, "link"))
    click.echo(f"{done} {', '.join(parts)}.")
    if report.kinds and report.dry_run:
        click.echo(
            "Kinds: " + ", ".join(f"{number} {kind}" for kind, number in report.kinds.items())
        )
    for number, text in (
        (report.merged, "merged with a memory that has the same text"),
        (report.existing + report.existing_messages, "imported before"),
        (report.redacted, "with private or secret text, which is redacted"),
        (report.extracted, "extracted from conversations"),
        *((number, f"left out: {reason}") for reason, number in report.left_out.items()),
    ):
        if number:
            click.echo(f"{number} {text}")
    if report.dry_run and report.examples:
        click.echo("Examples:")
        for title in report.examples:
            click.echo(f"  {cut(render.replace_unprintable(title), EXAMPLE_WIDTH)}")
    if report.unresolved:
        names = list(dict.fromkeys(one.reason for one in report.unresolved))
        shown = [cut(render.replace_unprintable(name), NAME_WIDTH) for name in names[:NAMES]]
        more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
        links = count(len(report.unresolved), "link")
        note(f"{links} to notes that are not in the source: {', '.join(shown)}{more}.")
    if report.problems:
        note(f"{count(len(report.problems), 'item')} not imported:")
        render.print_problems(report.problems)


COMMANDS = {"export": export, "import": import_}
