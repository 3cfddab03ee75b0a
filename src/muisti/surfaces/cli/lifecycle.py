"""Verbs that keep the vault in order: history, merges, fading, trash, archive."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import Memory
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import common, note, opened, print_json, whole_id

_DRY = click.option("--dry-run", is_flag=True, help="Only tell what would be done.")


@click.command()
@click.argument("memory_id", metavar="ID")
@common
def history(memory_id: str, vault: str | None, as_json: bool) -> None:
    """What became of a memory: its versions, merges, links and uses."""
    with opened(vault) as memory:
        try:
            whole = whole_id(memory, memory_id)
        except MemoryNotFound:
            whole = memory_id  # of one that was merged or removed: the journal may know it
        found = memory.history(whole)
    print_json(found) if as_json else render.history(found)


@click.command()
@click.argument("memory_id", metavar="ID")
@common
def unmerge(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Make what was last merged into a memory one of its own again. ID may also be that of the merged text."""
    with opened(vault) as memory:
        try:
            whole = whole_id(memory, memory_id)
        except MemoryNotFound:
            whole = memory_id
        apart = memory.unmerge(whole)
    if as_json:
        print_json(apart)
    else:
        click.echo(f"Its own memory again: {render.short(apart.id)}  {render.visible(apart.title)}")


@click.command()
@_DRY
@common
def upkeep(dry_run: bool, vault: str | None, as_json: bool) -> None:
    """Note what has faded, clean up and archive as the settings say. For cron; nothing is erased."""
    with opened(vault) as memory:
        report = memory.upkeep(dry_run=dry_run)
    if as_json:
        print_json(report)
        return
    would = "would be " if dry_run else ""
    click.echo(f"{render.count(report.decayed, 'memory')} faded since the last time.")
    _tell(report.cleaned, f"{would}moved to the trash, being too weak (cleanup_below)")
    used = f"{report.live_bytes / 2**20:.1f} of {report.limit_bytes / 2**20:g} MB in use"
    _tell(report.evicted, f"{would}moved to the archive, being longest unused; {used}")


def _tell(found: Sequence[Memory], what: str) -> None:
    click.echo(f"{render.count(len(found), 'memory')} {what}.")
    if found:
        render.memories(found[:20], render.now())
        if len(found) > 20:
            note(f"And {len(found) - 20} more.")


@click.command()
@_DRY
@common
def decay(dry_run: bool, vault: str | None, as_json: bool) -> None:
    """How many memories have faded since this was last asked."""
    with opened(vault) as memory:
        changed = memory.decay_salience(dry_run=dry_run)
    print_json({"changed": changed}) if as_json else click.echo(
        f"{render.count(changed, 'memory')} faded since the last time."
    )


@click.command()
@click.option(
    "--min-salience",
    type=float,
    default=0.1,
    show_default=True,
    help="Weaker ones go to the trash.",
)
@_DRY
@common
def cleanup(min_salience: float, dry_run: bool, vault: str | None, as_json: bool) -> None:
    """Move weak memories to the trash; decisions and pinned ones stay."""
    with opened(vault) as memory:
        found = memory.cleanup(min_salience, dry_run=dry_run)
    print_json(found) if as_json else _tell(
        found, "would be moved to the trash" if dry_run else "moved to the trash"
    )


@click.command()
@click.option("--max-bytes", type=int, help="Default: evict_above of the settings.")
@click.option(
    "--to", type=float, help="Share of that which is left; default: evict_to of the settings."
)
@_DRY
@common
def evict(
    max_bytes: int | None, to: float | None, dry_run: bool, vault: str | None, as_json: bool
) -> None:
    """Move the longest unused memories to the archive if there is too much; `muisti restore` brings one back."""
    with opened(vault) as memory:
        found = memory.evict(max_bytes, to=to, dry_run=dry_run)
    print_json(found) if as_json else _tell(
        found, "would be moved to the archive" if dry_run else "moved to the archive"
    )


@click.command()
@click.option("--empty", is_flag=True, help="Remove all of it for good.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@common
def trash(empty: bool, yes: bool, vault: str | None, as_json: bool) -> None:
    """What is in the trash; `muisti restore ID` brings a memory back."""
    with opened(vault) as memory:
        found = memory.list_trash()
        if empty:
            _confirm(len(found), yes)
            for one in found:
                memory.delete(one.id, hard=True)
    if as_json:
        print_json(found)
    elif empty:
        click.echo(f"{render.count(len(found), 'memory')} removed for good.")
    elif found:
        render.memories(found, render.now())
    else:
        note("The trash is empty.")


def _confirm(number: int, yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise InvalidRequest(
            "--empty", "no terminal to ask on", "add --yes to remove for good without a question"
        )
    if not yes:
        click.confirm(
            f"Remove {render.count(number, 'memory')} for good? This cannot be undone", abort=True
        )


@click.command()
@common
def archive(vault: str | None, as_json: bool) -> None:
    """What is in the archive, where no search looks; `muisti restore ID` brings a memory back."""
    with opened(vault) as memory:
        found = memory.list_archive()
    if as_json:
        print_json(found)
    elif found:
        render.memories(found, render.now())
    else:
        note("The archive is empty.")


COMMANDS = {
    "history": history,
    "unmerge": unmerge,
    "upkeep": upkeep,
    "decay": decay,
    "cleanup": cleanup,
    "evict": evict,
    "trash": trash,
    "archive": archive,
}
