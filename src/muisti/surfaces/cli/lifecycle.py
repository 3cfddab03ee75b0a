"""Commands for history, merges, maintenance, the trash and the archive."""

from __future__ import annotations

from collections.abc import Sequence

import click

from muisti.engine import Muisti
from muisti.errors import MemoryNotFound
from muisti.model import Memory
from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.shared import (
    common_options,
    confirm_change,
    confirm_deletion,
    note,
    open_vault,
    print_json,
    resolve_id,
)

_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would change; change nothing."
)
MOST_LISTED = 20


def _resolve_former_id(memory: Muisti, part: str) -> str:
    """Return the full ID, or `part` itself: the journal may know a merged or deleted memory."""
    try:
        return resolve_id(memory, part)
    except MemoryNotFound:
        return part


@click.command()
@click.argument("memory_id", metavar="ID")
@common_options
def history(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Show a memory's history: versions, merges, links, recalls."""
    with open_vault(vault) as memory:
        entries = memory.history(_resolve_former_id(memory, memory_id))
    if as_json:
        print_json(entries)
    else:
        render.print_history(entries)


@click.command()
@click.argument("memory_id", metavar="ID")
@common_options
def unmerge(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Undo the last merge.

    ID is the memory that a duplicate was merged into, or the ID of the merged text.
    """
    with open_vault(vault) as memory:
        separate = memory.unmerge(_resolve_former_id(memory, memory_id))
    if as_json:
        print_json(separate)
    else:
        title = render.replace_unprintable(separate.title)
        click.echo(f"Merge undone. Separate memory: {render.short_id(separate.id)}  {title}")


@click.command()
@click.option("--project", help="Only memories of this project, and global ones.")
@_dry_run_option
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@common_options
def dedupe(project: str | None, dry_run: bool, yes: bool, vault: str | None, as_json: bool) -> None:
    """Merge duplicates among stored memories.

    For example after merging two clones of a vault, or after two imports. Shows the pairs and asks.
    The older memory stays; the other one goes to the trash. `muisti unmerge ID` undoes a merge.
    """
    with open_vault(vault) as memory:
        pairs = memory.dedupe(project=project, dry_run=True)
        if not as_json:
            for pair in pairs:
                for mark, one in (("keep ", pair.kept), ("merge", pair.merged)):
                    title = render.replace_unprintable(one.title)
                    click.echo(f"{mark}  {render.short_id(one.id)}  {title}")
                click.echo("")
        number = render.format_count(len(pairs), "pair")
        if not dry_run and pairs:
            confirm_change(f"Merge {number}?", "dedupe", yes=yes)
            pairs = memory.dedupe(pairs)
    if as_json:
        print_json(pairs)
    elif dry_run or not pairs:
        note(f"{number} found. Nothing was changed.")
    else:
        click.echo(f"Merged {render.format_count(len(pairs), 'pair')}.")
        note(f"Undo one: muisti unmerge {pairs[0].kept.id[-8:]}")


@click.command()
@_dry_run_option
@common_options
def upkeep(dry_run: bool, vault: str | None, as_json: bool) -> None:
    """Run maintenance.

    Ends sessions that are no longer used, updates salience, moves weak memories to the trash and
    archives unused ones, as configured. Deletes nothing. Suitable for cron.
    """
    with open_vault(vault) as memory:
        report = memory.upkeep(dry_run=dry_run)
    if as_json:
        print_json(report)
        return
    if report.ended_sessions:
        number = render.format_count(len(report.ended_sessions), "session")
        verb = "would be ended" if dry_run else "ended"
        click.echo(f"{number} {verb} (not used for session_idle_hours).")
    _print_faded(report.decayed)
    _print_moved(report.cleaned, "trash", "salience below cleanup_below", dry_run=dry_run)
    used = f"{report.live_bytes / 2**20:.1f} of {report.limit_bytes / 2**20:g} MB in use"
    _print_moved(report.evicted, "archive", f"least recently used; {used}", dry_run=dry_run)


def _print_faded(number: int) -> None:
    click.echo(f"{render.format_count(number, 'memory')} faded since the last run.")


def _print_moved(memories: Sequence[Memory], folder: str, reason: str, *, dry_run: bool) -> None:
    verb = "would be moved" if dry_run else "moved"
    number = render.format_count(len(memories), "memory")
    click.echo(f"{number} {verb} to the {folder} ({reason}).")
    if memories:
        render_results.print_memories(memories[:MOST_LISTED], render.current_time())
    if len(memories) > MOST_LISTED:
        note(f"And {len(memories) - MOST_LISTED} more.")


@click.command()
@_dry_run_option
@common_options
def decay(dry_run: bool, vault: str | None, as_json: bool) -> None:
    """Count memories that faded since the last run."""
    with open_vault(vault) as memory:
        changed = memory.decay_salience(dry_run=dry_run)
    if as_json:
        print_json({"changed": changed})
    else:
        _print_faded(changed)


@click.command()
@click.option(
    "--min-salience",
    type=float,
    default=0.1,
    show_default=True,
    help="Move memories below this salience.",
)
@_dry_run_option
@common_options
def cleanup(min_salience: float, dry_run: bool, vault: str | None, as_json: bool) -> None:
    """Move weak memories to the trash.

    Decisions and pinned memories stay.
    """
    with open_vault(vault) as memory:
        moved = memory.cleanup(min_salience, dry_run=dry_run)
    if as_json:
        print_json(moved)
    else:
        _print_moved(moved, "trash", f"salience below {min_salience:g}", dry_run=dry_run)


@click.command()
@click.option("--max-bytes", type=int, help="Size limit. Default: the setting evict_above.")
@click.option(
    "--to", type=float, help="Share of the limit to shrink to. Default: the setting evict_to."
)
@_dry_run_option
@common_options
def evict(
    max_bytes: int | None, to: float | None, dry_run: bool, vault: str | None, as_json: bool
) -> None:
    """Archive the least recently used memories.

    Does nothing while the vault is below its size limit. `muisti restore ID` undoes it.
    """
    with open_vault(vault) as memory:
        moved = memory.evict(max_bytes, to=to, dry_run=dry_run)
    if as_json:
        print_json(moved)
    else:
        _print_moved(moved, "archive", "least recently used", dry_run=dry_run)


@click.command()
@click.option("--empty", is_flag=True, help="Delete everything in the trash permanently.")
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@common_options
def trash(empty: bool, yes: bool, vault: str | None, as_json: bool) -> None:
    """List or empty the trash."""
    with open_vault(vault) as memory:
        found = memory.list_trash()
        if empty:
            confirm_deletion(render.format_count(len(found), "memory"), "--empty", yes=yes)
            for trashed in found:
                memory.delete(trashed.id, hard=True)
    if as_json:
        print_json(found)
    elif empty:
        click.echo(f"Deleted {render.format_count(len(found), 'memory')} permanently.")
    else:
        _print_restorable(found, "trash")


def _print_restorable(memories: Sequence[Memory], folder: str) -> None:
    if not memories:
        note(f"The {folder} is empty.")
        return
    render_results.print_memories(memories, render.current_time())
    note(f"Restore one: muisti restore {memories[0].id[-8:]}")


@click.command()
@common_options
def archive(vault: str | None, as_json: bool) -> None:
    """List archived memories, which searches do not see."""
    with open_vault(vault) as memory:
        found = memory.list_archive()
    if as_json:
        print_json(found)
    else:
        _print_restorable(found, "archive")


COMMANDS = {
    "history": history,
    "unmerge": unmerge,
    "dedupe": dedupe,
    "upkeep": upkeep,
    "decay": decay,
    "cleanup": cleanup,
    "evict": evict,
    "trash": trash,
    "archive": archive,
}
