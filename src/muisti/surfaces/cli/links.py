"""Commands for links between memories."""

from __future__ import annotations

from datetime import datetime

import click

from muisti.model import LinkType
from muisti.model.validity import is_outdated
from muisti.recall.filters import ALL
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    find_replaced,
    note,
    open_vault,
    print_json,
    resolve_id,
)

_TYPES = click.Choice([name.value.lower() for name in LinkType], case_sensitive=False)


@click.command()
@click.argument("source", metavar="ID")
@click.argument("type_", metavar="TYPE", type=_TYPES)
@click.argument("target", metavar="OTHER")
@click.option(
    "--confidence", type=float, default=1.0, show_default=True, help="Confidence, 0 to 1."
)
@click.option(
    "--by", default="user", show_default=True, help="Origin of the link: user, llm or system."
)
@click.option("--valid-from", type=Time(), help="When the link starts to hold.")
@click.option("--valid-until", type=Time("end"), help="When the link stops holding.")
@common_options
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
    """Link two memories, or confirm a suggested link.

    TYPE is supersedes, contradicts, related_to, builds_on, confirms, applies_to, depends_on or
    alternative_to.
    """
    with open_vault(vault) as memory:
        made = memory.link(
            resolve_id(memory, source),
            resolve_id(memory, target),
            type_,
            confidence=confidence,
            extracted_by=by,
            valid_from=valid_from,
            valid_until=valid_until,
        )
    if as_json:
        print_json(made)
    else:
        click.echo(f"Linked: {render.format_link(made)}")


@click.command()
@click.argument("source", metavar="ID")
@click.argument("type_", metavar="TYPE", type=_TYPES)
@click.argument("target", metavar="OTHER")
@common_options
def unlink(source: str, type_: str, target: str, vault: str | None, as_json: bool) -> None:
    """Remove a link or reject a suggestion.

    Removing a `supersedes` link makes the outdated memory current again.
    """
    with open_vault(vault) as memory:
        source, target = resolve_id(memory, source), resolve_id(memory, target)
        memory.unlink(source, target, type_)
    if as_json:
        print_json({"source": source, "type": type_.upper(), "target": target})
    else:
        verb = type_.lower().replace("_", " ")
        ends = f"{render.short_id(source)} {verb} {render.short_id(target)}"
        click.echo(f"Removed the link: {ends}")


@click.command()
@click.argument("memory_id", metavar="[ID]", required=False)
@click.option(
    "--unresolved", is_flag=True, help="List wikilinks of all memories that lead to no memory."
)
@common_options
def links(memory_id: str | None, unresolved: bool, vault: str | None, as_json: bool) -> None:
    """List a memory's links.

    Confirm a suggested link with `muisti link`, reject it with `muisti unlink`. A `[[wikilink]]` in
    the text is a link if a memory has this title, alias or ID.
    """
    if unresolved == (memory_id is not None):
        raise click.UsageError("Pass the ID of a memory, or --unresolved.")
    if memory_id is None:
        with open_vault(vault) as memory:
            missing = memory.unresolved_links(project=ALL, user=ALL)
        if as_json:
            print_json(missing)
        elif missing:
            render.print_unresolved(missing)
        else:
            note("Every wikilink leads to a memory.")
        return
    with open_vault(vault) as memory:
        whole = resolve_id(memory, memory_id)
        found = memory.links(whole)
        graph = memory.graph(whole)
        nowhere = [name for name, target in memory.wikilinks(whole).items() if target is None]
    if as_json:
        print_json(found)
    elif found:
        render.print_links(graph)
    else:
        note(f"No links. Add one: muisti link {whole[-8:]} builds_on OTHER")
    if nowhere:
        names = ", ".join(f"[[{render.replace_unprintable(name)}]]" for name in nowhere)
        note(f"No memory has the title or alias: {names}")


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@common_options
def supersede(old: str, new: str, vault: str | None, as_json: bool) -> None:
    """Replace OLD with NEW; OLD is marked outdated.

    OLD and NEW are IDs of memories. OLD ends when NEW starts: at its `valid_from`, or when it was
    created. It stays in the vault and ranks below NEW in searches.
    """
    with open_vault(vault) as memory:
        new_id = resolve_id(memory, new)
        outdated = memory.supersede(resolve_id(memory, old), new_id)
        current = memory.get(new_id)
    if as_json:
        print_json(outdated)
        return
    old_title = render.replace_unprintable(outdated.title)
    new_title = render.replace_unprintable(current.title if current else "")
    since = ""
    if not is_outdated(outdated, render.current_time()):
        since = f" from {outdated.valid_until:%Y-%m-%d}"
    click.echo(f"Outdated{since}: {render.short_id(outdated.id)}  {old_title}")
    click.echo(f"  replaced by {render.short_id(new_id)}  {new_title}")
    note(f"Undo: muisti unlink {new_id[-8:]} supersedes {outdated.id[-8:]}")


@click.command()
@click.argument("memory_id", metavar="ID")
@common_options
def superseding(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Show the memory that replaced this one."""
    with open_vault(vault) as memory:
        found = memory.superseding(resolve_id(memory, memory_id))
        outdated = memory.find_outdated([found.id] if found else [])
        replaced = find_replaced(memory, found) if found else []
    if as_json:
        print_json(found)
    elif found is None:
        note("Not replaced: this memory is current.")
    else:
        render.print_memory(found, outdated, replaced)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--depth", type=int, default=2, show_default=True, help="How many links to follow.")
@common_options
def graph(memory_id: str, depth: int, vault: str | None, as_json: bool) -> None:
    """Show linked memories as a tree."""
    with open_vault(vault) as memory:
        found = memory.graph(resolve_id(memory, memory_id), depth=depth)
    if as_json:
        print_json(found)
    else:
        render.print_graph(found)


COMMANDS = {
    "link": link,
    "unlink": unlink,
    "links": links,
    "supersede": supersede,
    "superseding": superseding,
    "graph": graph,
}
