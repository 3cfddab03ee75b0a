"""The options of `muisti search`. It runs often, so the other commands that find are elsewhere."""

from __future__ import annotations

from typing import Any

import click

from muisti.model import SearchResults
from muisti.surfaces.cli.also import also_option
from muisti.surfaces.cli.searching import run_search
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    filter_options,
    mode_option,
    source_option,
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
    return run_search(
        " ".join(query),
        filters,
        vault=vault,
        as_json=as_json,
        for_agent=for_agent,
        also=also,
        **options,
    )


COMMANDS = {"search": search}
