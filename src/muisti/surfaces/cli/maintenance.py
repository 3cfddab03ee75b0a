"""Verbs for the vault as a whole."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from muisti.errors import EmbedderProblem
from muisti.model import SyncReport
from muisti.settings import SETTINGS_FILE, Settings, find_vault, load_settings
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    common,
    filters,
    note,
    opened,
    print_json,
    progress_bar,
    unsynced,
)


@click.command()
@click.argument("path", required=False)
@common
def init(path: str | None, vault: str | None, as_json: bool) -> None:
    """Make a vault in PATH (default: here), or check the one that is there."""
    root = find_vault(vault or path or ".")
    new = not (root / SETTINGS_FILE).is_file()
    with opened(str(root), create=True) as memory:
        count = memory.get_stats().total_count
    if as_json:
        print_json({"vault": str(root), "memories": count})
        return
    taken_in = ", from files that were there; ids were written into them" if new and count else ""
    click.echo(f"Vault ready: {root} ({render.count(count, 'memory')}{taken_in})")
    click.echo('Next: muisti save "something worth remembering"')
    if find_vault(start=root) != root:
        note(f"But MUISTI_VAULT names {find_vault()}: that one is used until you unset it.")


@click.command()
@common
def stats(vault: str | None, as_json: bool) -> None:
    """The vault in numbers."""
    with opened(vault) as memory:
        found, location = memory.get_stats(), memory.location
    print_json(found) if as_json else render.stats(found, location)


def _tell_sync(report: SyncReport, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    done = {
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "removed": report.removed,
    }
    agree = "Nothing to take in." if report.paused or report.problems else "Files and index agree."
    click.echo(", ".join(f"{count} {what}" for what, count in done.items() if count) or agree)
    if report.paused:
        note(
            f"{report.missing} files have vanished at once; nothing was forgotten. If you meant it: muisti sync --confirm"
        )
    render.problems(report.problems)


@click.command()
@click.option("--confirm", is_flag=True, help="Forget files that vanished, however many.")
@common
def sync(confirm: bool, vault: str | None, as_json: bool) -> None:
    """Take in what was edited, renamed, added or deleted by hand."""
    with unsynced(vault) as memory:
        _tell_sync(memory.sync(confirm=confirm), as_json)


@click.command()
@click.option(
    "--vectors",
    is_flag=True,
    help="Only make the vectors that are missing, all of them after a change of the model.",
)
@common
def reindex(vectors: bool, vault: str | None, as_json: bool) -> None:
    """Rebuild the index from the files, and its vectors; others keep reading meanwhile."""
    with (
        opened(vault) as memory,
        progress_bar("Making vectors" if vectors else "Rebuilding", quiet=as_json) as progress,
    ):
        if vectors:
            made = memory.reindex_missing(progress=progress)
            print_json({"embedded": made}) if as_json else click.echo(
                f"New vectors: {render.count(made, 'memory')}."
            )
            return
        report = memory.reindex(progress=progress)
        count = memory.get_stats().total_count
    if as_json:
        print_json(report)
    else:
        click.echo(f"The index is new: {render.count(count, 'memory')}.")
        render.problems(report.problems)


@click.command()
@click.option("--deep", is_flag=True, help="Also compare with an index that is built anew.")
@common
def verify(deep: bool, vault: str | None, as_json: bool) -> None:
    """Prove that files and index agree; exit code 1 if they do not."""
    with unsynced(vault) as memory, progress_bar("Comparing", quiet=as_json) as progress:
        report = memory.verify(deep=deep, progress=progress)
    if as_json:
        print_json(report)
    else:
        verdict = "all agree" if report.ok else render.count(len(report.problems), "problem")
        found = (render.count(report.files, "file"), render.count(report.memories, "memory"))
        click.echo(
            f"{', '.join(found)}, {render.count(report.journal_events, 'event')}: {verdict}."
        )
        render.problems(report.problems)
    if not report.ok:
        sys.exit(1)


@click.command()
@filters
@click.option("--format", "form", default="markdown", show_default=True, help="markdown or json")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file; default: standard output.",
)
@common
def export(
    narrowed: dict[str, Any], form: str, output: Path | None, vault: str | None, as_json: bool
) -> None:
    """Write memories as one text that `muisti import` reads."""
    with opened(vault) as memory:
        text = memory.export_memories(format="json" if as_json else form, **narrowed)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8", newline="")
        note(f"Written: {output}")


@click.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--kind", help="Make all of them this kind.")
@click.option("--project", help="Put all of them into this project.")
@click.option("--trusted", is_flag=True, help="Agents may rely on it as on your own memories.")
@common
def import_(
    source: Path,
    kind: str | None,
    project: str | None,
    trusted: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """Take in SOURCE: an export, a JSON or Markdown file, or a folder of Markdown."""
    with opened(vault, create=True) as memory, progress_bar("Importing", quiet=as_json) as progress:
        count = memory.import_memories(
            source, kind=kind, project=project, trusted=trusted, progress=progress
        )
        with suppress(EmbedderProblem):  # then they are made before the next search
            memory.reindex_missing(progress=progress)
    print_json({"imported": count}) if as_json else click.echo(
        f"New: {render.count(count, 'memory')}."
    )


@click.command()
@common
def settings(vault: str | None, as_json: bool) -> None:
    """The settings in force, and what each is for."""
    root = find_vault(vault)
    values = load_settings(root)
    if as_json:
        print_json(values)
        return
    for field in fields(Settings):
        shown = (
            ", ".join(values.kinds) if field.name == "kinds" else repr(getattr(values, field.name))
        )
        click.echo(f"{field.name} = {shown}\n    {field.metadata['doc']}")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script: eval "$(muisti completion bash)"."""
    from click.shell_completion import get_completion_class

    from muisti.surfaces.cli.main import cli

    script = get_completion_class(shell)
    if script is not None:
        click.echo(script(cli, {}, "muisti", "_MUISTI_COMPLETE").source())


COMMANDS = {
    "init": init,
    "stats": stats,
    "sync": sync,
    "reindex": reindex,
    "verify": verify,
    "export": export,
    "import": import_,
    "settings": settings,
    "completion": completion,
}
