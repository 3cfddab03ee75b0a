"""Verbs that find memories."""

from __future__ import annotations

from typing import Any

import click

from muisti.recall.fence import fence_text
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    common,
    filters,
    mode,
    note,
    opened,
    print_json,
    sources,
    tell_degraded,
    warn_of_problems,
    whole_id,
)


def _nothing(query: str) -> None:
    note(
        f"Nothing found for {query!r}. Try fewer or other words; `muisti list` shows what there is."
    )


@click.command()
@click.argument("query", nargs=-1, required=True)
@filters
@sources
@click.option("--limit", "-n", type=int, help="How many results; default 10.")
@mode
@click.option(
    "--for-agent",
    is_flag=True,
    help="As one block for an agent: fenced as data, with source and trust.",
)
@common
def search(
    query: tuple[str, ...],
    narrowed: dict[str, Any],
    for_agent: bool,
    vault: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Find memories that answer QUERY, in plain words."""
    question = " ".join(query)
    with opened(vault) as memory:
        found = memory.search(question, **how, **narrowed)
        if as_json:
            print_json(found)
        elif for_agent and found:
            click.echo(fence_text([result.memory for result in found]))
        elif found:
            render.results(found, render.now())
        else:
            _nothing(question)
        tell_degraded(found)
        warn_of_problems(memory)


@click.command()
@click.argument("wanted", metavar="KEYWORDS", nargs=-1, required=True)
@filters
@click.option("--all", "match_all", is_flag=True, help="Only memories that have all of them.")
@click.option("--limit", "-n", type=int, default=10, show_default=True)
@common
def keywords(
    wanted: tuple[str, ...], narrowed: dict[str, Any], vault: str | None, as_json: bool, **how: Any
) -> None:
    """Find memories that carry KEYWORDS."""
    with opened(vault) as memory:
        found = memory.search_by_keywords(wanted, **how, **narrowed)
    if as_json:
        print_json(found)
    elif found:
        render.memories(found, render.now())
    else:
        _nothing(" ".join(wanted))


@click.command()
@click.argument("query", nargs=-1, required=True)
@filters
@sources
@click.option("--limit", "-n", type=int)
@mode
@common
def compact(
    query: tuple[str, ...], narrowed: dict[str, Any], vault: str | None, as_json: bool, **how: Any
) -> None:
    """First layer: ids, titles and scores only."""
    with opened(vault) as memory:
        found = memory.search_compact(" ".join(query), **how, **narrowed)
    if as_json:
        print_json(found)
    elif found:
        render.compact(found, render.now())
    else:
        _nothing(" ".join(query))


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--before", type=int, default=5, show_default=True)
@click.option("--after", type=int, default=5, show_default=True)
@common
def timeline(memory_id: str, before: int, after: int, vault: str | None, as_json: bool) -> None:
    """Second layer: what came before and after a memory."""
    with opened(vault) as memory:
        anchor = whole_id(memory, memory_id)
        found = memory.timeline(anchor, before=before, after=after)
    if as_json:
        print_json(found)
    else:
        render.compact(found, render.now(), anchor)


@click.command()
@click.argument("memory_ids", metavar="ID", nargs=-1, required=True)
@common
def details(memory_ids: tuple[str, ...], vault: str | None, as_json: bool) -> None:
    """Third layer: whole memories."""
    with opened(vault) as memory:
        found = memory.details([whole_id(memory, part) for part in memory_ids])
    if as_json:
        print_json(found)
    else:
        for one in found:
            render.memory(one)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--limit", "-n", type=int, default=10, show_default=True)
@common
def related(memory_id: str, limit: int, vault: str | None, as_json: bool) -> None:
    """Memories that are about the same things."""
    with opened(vault) as memory:
        found = memory.related(whole_id(memory, memory_id), limit=limit)
    if as_json:
        print_json(found)
    elif found:
        render.results(found, render.now())
    else:
        note("Nothing shares its telling words.")


@click.command()
@click.argument("query")
@click.argument("memory_id", metavar="ID")
@filters
@mode
@common
def explain(
    query: str,
    memory_id: str,
    narrowed: dict[str, Any],
    vault: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Why a memory is, or is not, an answer to QUERY."""
    with opened(vault) as memory:
        found = memory.explain(query, whole_id(memory, memory_id), **how, **narrowed)
    if as_json:
        print_json(found)
    else:
        render.explanation(found)


@click.command()
@click.argument("query", nargs=-1, required=True)
@filters
@sources
@click.option(
    "--budget", type=int, default=2000, show_default=True, help="Tokens that it may take, at most."
)
@common
def context(
    query: tuple[str, ...],
    narrowed: dict[str, Any],
    source: tuple[str, ...],
    budget: int,
    vault: str | None,
    as_json: bool,
) -> None:
    """Core memory and what answers QUERY, as one block for a prompt: fenced as data, with source and trust."""
    with opened(vault) as memory:
        block = memory.context(" ".join(query), budget=budget, source=source, **narrowed)
    print_json({"context": block}) if as_json else click.echo(block)


COMMANDS = {
    "context": context,
    "search": search,
    "keywords": keywords,
    "compact": compact,
    "timeline": timeline,
    "details": details,
    "related": related,
    "explain": explain,
}
