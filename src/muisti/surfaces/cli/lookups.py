"""Commands that find memories in other ways than `muisti search`."""

from __future__ import annotations

from typing import Any

import click

from muisti.errors import MemoryNotFound
from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.also import also_option
from muisti.surfaces.cli.search import asked_at_option, search_limit_option
from muisti.surfaces.cli.searching import suggest_next
from muisti.surfaces.cli.shared import (
    common_options,
    filter_options,
    find_replaced,
    get_scope,
    mode_option,
    note,
    note_scope,
    open_vault,
    print_json,
    resolve_id,
    source_option,
)
from muisti.surfaces.cli.vaults import look_into

_limit_option = click.option(
    "--limit", "-n", type=int, default=10, show_default=True, help="Maximum number of results."
)


@click.command()
@click.argument("wanted", metavar="KEYWORD...", nargs=-1, required=True)
@filter_options
@click.option("--all", "match_all", is_flag=True, help="Only memories that have all keywords.")
@_limit_option
@common_options
def keywords(
    wanted: tuple[str, ...],
    filters: dict[str, Any],
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find memories by keyword."""
    with open_vault(vault, in_project=True) as memory:
        found = memory.search_by_keywords(wanted, **options, **filters)
        if not as_json:
            hint = memory.scope_hint(filters["project"], filters["user"])
            note_scope(memory, filters, hint)
        outdated = memory.find_outdated([one.id for one in found], **get_scope(memory, filters))
    if as_json:
        print_json(found)
    elif found:
        render_results.print_memories(found, render.current_time(), outdated)
    else:
        note(f"No memories have the keywords {', '.join(wanted)}. Try: muisti search {wanted[0]}")


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@source_option
@search_limit_option
@mode_option
@common_options
def compact(
    query: tuple[str, ...],
    filters: dict[str, Any],
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search, IDs and titles only.

    `muisti timeline` and `muisti details` show more about a result.
    """
    text = " ".join(query)
    with open_vault(vault, in_project=True) as memory:
        results = memory.search_compact(text, **options, **filters)
        outdated = memory.find_outdated([one.id for one in results], **get_scope(memory, filters))
        if not as_json:
            note_scope(memory, filters, memory.scope_hint(filters["project"], filters["user"]))
    if as_json:
        print_json(results)
    elif results:
        render_results.print_compact(results, render.current_time(), outdated)
    else:
        suggest_next(text)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--before", type=int, default=5, show_default=True, help="Number of earlier ones.")
@click.option("--after", type=int, default=5, show_default=True, help="Number of later ones.")
@common_options
def timeline(memory_id: str, before: int, after: int, vault: str | None, as_json: bool) -> None:
    """Show neighbours in time."""
    with open_vault(vault) as memory:
        anchor = resolve_id(memory, memory_id)
        found = memory.timeline(anchor, before=before, after=after)
        outdated = memory.find_outdated([one.id for one in found])
    if as_json:
        print_json(found)
    else:
        render_results.print_compact(found, render.current_time(), outdated, anchor)


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@common_options
def details(memory_ids: tuple[str, ...], vault: str | None, as_json: bool) -> None:
    """Show full memories."""
    with open_vault(vault) as memory:
        ids, missing = [], []
        for part in memory_ids:
            try:
                ids.append(resolve_id(memory, part))
            except MemoryNotFound:
                missing.append(part)
        memories = memory.details(ids)
        missing += memories.missing
        if not memories:
            raise MemoryNotFound(*missing)
        outdated = memory.find_outdated([found.id for found in memories])
        replaced = {found.id: find_replaced(memory, found) for found in memories}
    if missing:
        note(f"Not found: {', '.join(missing)}")
    if as_json:
        print_json(memories)
        return
    for found in memories:
        render.print_memory(found, outdated, replaced[found.id])


@click.command()
@click.argument("memory_id", metavar="ID")
@_limit_option
@common_options
def related(memory_id: str, limit: int, vault: str | None, as_json: bool) -> None:
    """Find similar memories."""
    with open_vault(vault) as memory:
        results = memory.related(resolve_id(memory, memory_id), limit=limit)
        outdated = memory.find_outdated([one.memory.id for one in results])
    if as_json:
        print_json(results)
    elif results:
        render_results.print_results(results, render.current_time(), outdated)
    else:
        note("No similar memories.")


@click.command()
@click.argument("query")
@click.argument("memory_id", metavar="ID")
@filter_options
@source_option
@mode_option
@asked_at_option
@common_options
def explain(
    query: str,
    memory_id: str,
    filters: dict[str, Any],
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Explain why QUERY finds a memory or not.

    Pass the same filters as to the search, so that they are explained too.
    """
    with open_vault(vault, in_project=True) as memory:
        found = memory.explain(query, resolve_id(memory, memory_id), **options, **filters)
    if as_json:
        print_json(found)
    else:
        render.print_explanation(found)


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@source_option
@click.option("--budget", type=int, default=2000, show_default=True, help="Maximum size in tokens.")
@click.option("--include-outdated", is_flag=True, help="Include outdated memories, marked.")
@also_option
@common_options
def context(
    query: tuple[str, ...],
    filters: dict[str, Any],
    also: tuple[str, ...],
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Build a prompt block from memories that match QUERY.

    The block starts with core memory. Memories are fenced as data, with their source and trust.
    """
    with open_vault(vault, in_project=True) as memory, look_into(memory, also):
        block = memory.context(" ".join(query), **options, **filters)
        if not as_json:
            note_scope(memory, filters, memory.scope_hint(filters["project"], filters["user"]))
    if as_json:
        print_json({"context": block})
    else:
        click.echo(block)


COMMANDS = {
    "context": context,
    "keywords": keywords,
    "compact": compact,
    "timeline": timeline,
    "details": details,
    "related": related,
    "explain": explain,
}
