"""Commands that find memories."""

from __future__ import annotations

import shlex
from typing import Any

import click

from muisti.recall.fence import fence_text
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    common_options,
    filter_options,
    mode_option,
    note,
    open_vault,
    print_json,
    resolve_id,
    source_option,
    warn_if_degraded,
    warn_of_problems,
)

_limit_option = click.option(
    "--limit", "-n", type=int, default=10, show_default=True, help="Maximum number of results."
)
_search_limit_option = click.option(
    "--limit", "-n", type=int, help="Maximum number of results. Default: 10."
)


def _suggest_next(query: str) -> None:
    note(f"No memories match {query!r}. Try other words, or fewer filters.")
    note("To list all memories: muisti list")
    note(f"To see why one was not found: muisti explain {shlex.quote(query)} ID")


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@source_option
@_search_limit_option
@mode_option
@click.option("--for-agent", is_flag=True, help="Output one prompt block, fenced as data.")
@common_options
def search(
    query: tuple[str, ...],
    filters: dict[str, Any],
    for_agent: bool,
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search memories, conversations and documents in plain words.

    Narrow the search with filters, for example --kind decision or --since 2026-01-31.
    """
    text = " ".join(query)
    with open_vault(vault) as memory:
        results = memory.search(text, **options, **filters)
        if as_json:
            print_json(results)
        elif for_agent and results:
            click.echo(fence_text([result.memory for result in results]))
        elif results:
            render.print_results(results, render.current_time())
        else:
            _suggest_next(text)
        warn_if_degraded(results)
        warn_of_problems(memory)


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
    with open_vault(vault) as memory:
        found = memory.search_by_keywords(wanted, **options, **filters)
    if as_json:
        print_json(found)
    elif found:
        render.print_memories(found, render.current_time())
    else:
        note(f"No memories have the keywords {', '.join(wanted)}. Try: muisti search {wanted[0]}")


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@source_option
@_search_limit_option
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
    with open_vault(vault) as memory:
        results = memory.search_compact(text, **options, **filters)
    if as_json:
        print_json(results)
    elif results:
        render.print_compact(results, render.current_time())
    else:
        _suggest_next(text)


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
    if as_json:
        print_json(found)
    else:
        render.print_compact(found, render.current_time(), anchor)


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@common_options
def details(memory_ids: tuple[str, ...], vault: str | None, as_json: bool) -> None:
    """Show full memories."""
    with open_vault(vault) as memory:
        memories = memory.details([resolve_id(memory, part) for part in memory_ids])
    if as_json:
        print_json(memories)
        return
    for found in memories:
        render.print_memory(found)


@click.command()
@click.argument("memory_id", metavar="ID")
@_limit_option
@common_options
def related(memory_id: str, limit: int, vault: str | None, as_json: bool) -> None:
    """Find similar memories."""
    with open_vault(vault) as memory:
        results = memory.related(resolve_id(memory, memory_id), limit=limit)
    if as_json:
        print_json(results)
    elif results:
        render.print_results(results, render.current_time())
    else:
        note("No similar memories.")


@click.command()
@click.argument("query")
@click.argument("memory_id", metavar="ID")
@filter_options
@mode_option
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
    with open_vault(vault) as memory:
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
@common_options
def context(
    query: tuple[str, ...],
    filters: dict[str, Any],
    source: tuple[str, ...],
    budget: int,
    vault: str | None,
    as_json: bool,
) -> None:
    """Build a prompt block from memories that match QUERY.

    The block starts with core memory. Memories are fenced as data, with their source and trust.
    """
    with open_vault(vault) as memory:
        block = memory.context(" ".join(query), budget=budget, source=source, **filters)
    if as_json:
        print_json({"context": block})
    else:
        click.echo(block)


COMMANDS = {
    "search": search,
    "context": context,
    "keywords": keywords,
    "compact": compact,
    "timeline": timeline,
    "details": details,
    "related": related,
    "explain": explain,
}
