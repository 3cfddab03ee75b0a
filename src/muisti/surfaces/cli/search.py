"""The command `muisti search`. It runs often, so the other commands that find are elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from muisti.model import Memory, SearchResults
from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.also import also_option, look_into
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    filter_options,
    get_scope,
    keep_warm,
    mode_option,
    note,
    note_scope,
    open_to_search,
    print_json,
    source_option,
    warn_if_degraded,
    warn_of_problems,
)

search_limit_option = click.option(
    "--limit",
    "-n",
    type=int,
    help="Maximum number of results. Default: 10, of which a terminal shows as many as fit.",
)
asked_at_option = click.option(
    "--asked-at", type=Time("moment"), help="Time that words like yesterday refer to. Default: now."
)


def suggest_next(query: str) -> None:
    """Say what to try if no memory matches."""
    from shlex import quote  # only needed here

    note(f"No memories match {query!r}. Try other words, or fewer filters.")
    note("To list all memories: muisti list")
    note(f"To see why one was not found: muisti explain {quote(query)} ID")


def _print_by_strength(
    results: SearchResults, outdated: Mapping[str, Memory | None], most_lines: int | None
) -> None:
    """Print the good matches, then the weak ones below a heading, as many as fit."""
    now = render.current_time()
    good = [result for result in results if not result.weak]
    weak = [result for result in results if result.weak]
    shown = lines = 0
    if good:
        shown, lines = render_results.print_results(good, now, outdated, most_lines=most_lines)
    else:
        click.echo("No good match.")
    if weak and shown == len(good):
        room = None if most_lines is None else most_lines - lines - 1
        if room is None or not good or room > 1:
            click.echo("Weak matches:")
            shown += render_results.print_results(weak, now, outdated, brief=True, most_lines=room)[
                0
            ]
    if shown < len(results):
        note(f"{len(results) - shown} more; --limit {len(results)} shows all.")


@click.command()
@click.argument("query", nargs=-1, required=True)
@filter_options
@source_option
@search_limit_option
@mode_option
@asked_at_option
@click.option("--for-agent", is_flag=True, help="Output one prompt block, fenced as data.")
@also_option
@common_options
def search(
    query: tuple[str, ...],
    filters: dict[str, Any],
    for_agent: bool,
    also: tuple[str, ...],
    vault: str | None,
    as_json: bool,
    **options: Any,
) -> SearchResults:
    """Search memories, conversations and documents in plain words.

    Narrow the search with filters, for example --kind decision or --since 2026-01-31.
    """
    text = " ".join(query)
    with open_to_search(vault) as memory, look_into(memory, also):
        results = memory.search(text, **options, **filters)
        if as_json:
            print_json(results)
        elif for_agent and results:
            from muisti.recall.fence import fence_text

            good = [result for result in results if not result.weak]
            marks = {one.memory.id: one.superseded_by or "" for one in good if one.outdated}
            block = fence_text([result.memory for result in good], marks)
            click.echo(block or "No good match.")
        elif results:
            ids = [one.memory.id for one in results]
            outdated = memory.find_outdated(ids, **get_scope(memory, filters))
            screen = render_results.count_screen_lines() if options["limit"] is None else None
            _print_by_strength(results, outdated, screen)
        else:
            suggest_next(text)
        if not as_json:
            note_scope(memory, filters, results.hint)
        warn_if_degraded(results, embeds_later=memory.embedding_postponed)
        warn_of_problems(memory)
    keep_warm(memory, vault)
    return results


COMMANDS = {"search": search}
