"""Verbs for how memories stand to one another."""

from __future__ import annotations

from datetime import datetime

import click

from muisti.model import LinkType
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import Moment, common, note, opened, print_json, whole_id

_TYPES = click.Choice([name.value.lower() for name in LinkType], case_sensitive=False)


@click.command()
@click.argument("source", metavar="ID")
@click.argument("type_", metavar="TYPE", type=_TYPES)
@click.argument("target", metavar="OTHER")
@click.option(
    "--confidence", type=float, default=1.0, show_default=True, help="How sure it is, 0 to 1."
)
@click.option("--by", default="user", show_default=True, help="Who says so: user, llm or system.")
@click.option("--valid-from", type=Moment(), help="Since when it holds.")
@click.option("--valid-until", type=Moment(), help="Until when it holds.")
@common
def link(
    source: str,
    type_: str,
    target: str,
    confidence: float,
    by: str,
    valid_from: datetime | None,
    valid_until: datetime | None,
    vault: str | None,
    as_json: bool,
) -> None:  # shape: one argument for each option
    """Link a memory to another: supersedes, contradicts, related_to, builds_on, confirms, applies_to, depends_on or
    alternative_to. What was proposed is confirmed by this.
    """
    with opened(vault) as memory:
        ends = whole_id(memory, source), whole_id(memory, target)
        made = memory.link(
            *ends,
            type_,
            confidence=confidence,
            extracted_by=by,
            valid_from=valid_from,
            valid_until=valid_until,
        )
    print_json(made) if as_json else click.echo(f"Linked: {render.link(made)}")


@click.command()
@click.argument("source", metavar="ID")
@click.argument("type_", metavar="TYPE", type=_TYPES)
@click.argument("target", metavar="OTHER")
@common
def unlink(source: str, type_: str, target: str, vault: str | None, as_json: bool) -> None:
    """Take a link back, or turn a proposed one down."""
    with opened(vault) as memory:
        ends = whole_id(memory, source), whole_id(memory, target)
        memory.unlink(*ends, type_)
    gone = {"source": ends[0], "type": type_.upper(), "target": ends[1]}
    print_json(gone) if as_json else click.echo(
        f"No longer linked: {render.short(ends[0])} and {render.short(ends[1])}"
    )


@click.command()
@click.argument("memory_id", metavar="ID")
@common
def links(memory_id: str, vault: str | None, as_json: bool) -> None:
    """The links that begin or end at a memory; proposed ones wait for `muisti link` or `muisti unlink`."""
    with opened(vault) as memory:
        whole = whole_id(memory, memory_id)
        found = memory.links(whole)
        around = memory.graph(whole)
    if as_json:
        print_json(found)
    elif found:
        render.links(around)
    else:
        note("No links. Make one: muisti link ID builds_on OTHER")


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@common
def supersede(old: str, new: str, vault: str | None, as_json: bool) -> None:
    """Let NEW take the place of OLD, which is true no longer and steps behind it in every search."""
    with opened(vault) as memory:
        closed = memory.supersede(whole_id(memory, old), whole_id(memory, new))
    if as_json:
        print_json(closed)
    else:
        click.echo(f"Superseded: {render.short(closed.id)}  {render.visible(closed.title)}")


@click.command()
@click.argument("memory_id", metavar="ID")
@common
def superseding(memory_id: str, vault: str | None, as_json: bool) -> None:
    """The memory that took the place of this one."""
    with opened(vault) as memory:
        found = memory.superseding(whole_id(memory, memory_id))
    if as_json:
        print_json(found)
    elif found is None:
        note("None did: it is current.")
    else:
        render.memory(found)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--depth", type=int, default=2, show_default=True, help="Over how many links to go.")
@common
def graph(memory_id: str, depth: int, vault: str | None, as_json: bool) -> None:
    """What a memory is linked with, as a tree."""
    with opened(vault) as memory:
        found = memory.graph(whole_id(memory, memory_id), depth=depth)
    print_json(found) if as_json else render.graph(found)


COMMANDS = {
    "link": link,
    "unlink": unlink,
    "links": links,
    "supersede": supersede,
    "superseding": superseding,
    "graph": graph,
}
