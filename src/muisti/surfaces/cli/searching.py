"""What `muisti search` does, without click: most searches do not need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muisti.model import Memory, SearchResults
from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.vaults import (
    echo,
    get_scope,
    keep_warm,
    look_into,
    note,
    note_scope,
    open_to_search,
    print_json,
    warn_if_degraded,
    warn_of_problems,
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
        echo("No good match.")
    if weak and shown == len(good):
        room = None if most_lines is None else most_lines - lines - 1
        if room is None or not good or room > 1:
            echo("Weak matches:")
            shown += render_results.print_results(weak, now, outdated, brief=True, most_lines=room)[
                0
            ]
    if shown < len(results):
        note(f"{len(results) - shown} more; --limit {len(results)} shows all.")


def run_search(
    text: str,
    filters: dict[str, Any],
    *,
    vault: str | None,
    as_json: bool,
    for_agent: bool = False,
    also: Sequence[str] = (),
    **options: Any,
) -> SearchResults:
    """Search, print the results, and return them."""
    with open_to_search(vault, options["mode"]) as memory, look_into(memory, also):
        results = memory.search(text, **options, **filters)
        if as_json:
            print_json(results)
        elif for_agent and results:
            from muisti.recall.fence import fence_text

            good = [result for result in results if not result.weak]
            marks = {one.memory.id: one.superseded_by or "" for one in good if one.outdated}
            block = fence_text([result.memory for result in good], marks)
            echo(block or "No good match.")
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
