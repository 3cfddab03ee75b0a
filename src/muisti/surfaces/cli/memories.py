"""Commands for single memories."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import click

from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import Memory, Message
from muisti.model.fields import Given, ValueType
from muisti.model.memory import FIELDS
from muisti.remember.scope import default_scope
from muisti.surfaces.cli import render, render_results
from muisti.surfaces.cli.also import also_option
from muisti.surfaces.cli.shared import (
    Time,
    common_options,
    confirm_deletion,
    filter_options,
    find_replaced,
    flag_names,
    get_scope,
    note,
    note_scope,
    open_vault,
    option_names,
    print_json,
    read_stdin,
    resolve_id,
    warn_of_problems,
)
from muisti.surfaces.cli.vaults import look_into
from muisti.text.redact import redact_text

MOST_IDS = 10
"""How many messages a note names."""
MOST_LISTED = 20
HEADER_LINES = 2
_FIELD_NAMES = tuple(field.name for field in FIELDS)


def _print_result(memory: Memory, as_json: bool, verb: str) -> None:
    if as_json:
        print_json(memory)
        return
    title = render.replace_unprintable(memory.title)
    click.echo(f"{verb} {memory.kind} {render.short_id(memory.id)}  {title}")
    click.echo(f"  {memory.file_path}")
    if memory.index_pending:
        note("The index is busy; the file is saved and searchable after the next command.")


def _note_scope(memory: Memory, given: Mapping[str, Any]) -> None:
    """Say which scope a memory got, unless it was given."""
    if memory.tier == "global" and "tier" not in given:
        note("For all projects.")
    elif memory.project and not given.keys() & {"project", "tier"}:
        note(f"In project {memory.project}.")


def _note_sources(sources: list[Message]) -> None:
    """Say how to delete the messages that a deleted memory came from."""
    of_conversation: dict[str, list[str]] = {}
    for source in sources:
        ids = of_conversation.setdefault(source.conversation, [])
        ids += [source.id] if source.id not in ids else []
    for name, ids in of_conversation.items():
        what = "The message it came from is still there; to delete it"
        if len(ids) > 1:
            what = f"The {len(ids)} messages it came from are still there; to delete them"
        command = f"muisti conversation delete {name} {' '.join(ids)} --hard"
        if len(ids) > MOST_IDS:
            command = f"muisti forget --conversation {name} --hard"
        note(f"{what}: {command}")


def _field_options(function: Any, *, given: Given = Given.SAVE) -> Any:
    """Add an option for each field that `save`, or `update`, can set."""
    for field in reversed([field for field in FIELDS if field.help and field.given >= given]):
        names = option_names(field)
        settings: dict[str, Any] = {}
        match field.value_type:
            case ValueType.FLAG:
                names = flag_names(field)
                settings["default"] = None
            case ValueType.LIST:
                settings["multiple"] = True
            case ValueType.SHARE:
                settings["type"] = float
            case ValueType.TIME:
                settings["type"] = Time("end" if field.name == "valid_until" else "start")
            case _ if field.name.endswith(("_id", "_message")):
                settings["metavar"] = "ID"
        help_ = field.help if given is Given.SAVE else field.help.partition(" Default:")[0]
        function = click.option(*names, help=help_, **settings)(function)
    return function


def _drop_unset(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value != ()}


def _read_content(words: tuple[str, ...]) -> str:
    """Return the text of the arguments, or of standard input for `-` and for a pipe."""
    if "-" in words and len(words) > 1:
        raise click.UsageError("pass either TEXT or - for standard input, not both")
    if words == ("-",) or (not words and not sys.stdin.isatty()):
        return read_stdin().removesuffix("\n")
    if not words:
        raise click.UsageError("missing TEXT; pass the text to save, or - to read standard input")
    return " ".join(words)


@click.command()
@click.argument("text", nargs=-1)
@_field_options
@click.option("--replaces", metavar="ID", help="Mark this memory as outdated, replaced by TEXT.")
@common_options
def save(
    text: tuple[str, ...], replaces: str | None, vault: str | None, as_json: bool, **fields: Any
) -> None:
    """Save TEXT as a memory; - reads standard input.

    The first save creates your vault. A duplicate is merged into the existing memory.
    """
    content = _read_content(text)
    given = _drop_unset(fields)
    with open_vault(vault, create=True, in_project=True) as memory:
        started_at = render.current_time()
        scope: dict[str, Any] = {}
        if not given.keys() & {"project", "tier", "session_id", "conversation"}:
            project = memory.settings.project
            chosen = default_scope(project, given.get("kind"), content, memory.settings)
            scope = {"project": chosen.project, "tier": chosen.tier}
        if replaces is not None:
            replaces = given["replaces"] = resolve_id(memory, replaces)
        saved = memory.save(content, **given, **scope)
        redacted = redact_text(content, memory.settings)
        is_known = saved.created_at < started_at
        suggestions = []
        proposed = [link for link in saved.links if link.proposed]
        for link in () if is_known else proposed:
            target = memory.get(link.target)
            suggestions.append(render.format_suggestion(link, target.title if target else ""))
    is_merged = is_known and saved.content.split() != redacted.split()
    if is_merged:
        verb = "Duplicate; merged into"
    elif is_known:
        verb = "Already known; reinforced"
    else:
        verb = "Saved"
    _print_result(saved, as_json, verb)
    if not as_json and not is_known:
        _note_scope(saved, given)
    if replaces is not None:
        note(f"Replaces {render.short_id(replaces)}, which is outdated now.")
    if redacted != content:
        note("Private or secret text was redacted.")
    short = saved.id[-8:]
    if is_merged:
        note(f"Not a duplicate? Undo: muisti unmerge {short}")
    elif is_known and given.keys() - {"replaces"}:
        note(f"Its fields are unchanged; to change them: muisti update {short} …")
    for suggestion in suggestions:
        note(suggestion)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--include-deleted", is_flag=True, help="Include the trash.")
@click.option("--raw", is_flag=True, help="Print only the content, unformatted.")
@also_option
@common_options
def show(
    memory_id: str,
    include_deleted: bool,
    raw: bool,
    also: tuple[str, ...],
    vault: str | None,
    as_json: bool,
) -> None:
    """Show a memory.

    The last few characters of an ID are enough, here and in every command.
    """
    with open_vault(vault) as memory, look_into(memory, also):
        full_id = resolve_id(memory, memory_id)
        found = memory.get(full_id, include_deleted=include_deleted)
        if found is None:
            raise MemoryNotFound(full_id)
        outdated = memory.find_outdated([found.id])
        replaced = find_replaced(memory, found)
    if as_json:
        replacement = outdated.get(found.id)
        marks = {
            "outdated": found.id in outdated,
            "superseded_by": replacement.id if replacement else None,
        }
        print_json({**{name: getattr(found, name) for name in _FIELD_NAMES}, **marks})
    elif raw:
        click.echo(found.content)
    else:
        render.print_memory(found, outdated, replaced)


@click.command(name="list")
@filter_options
@click.option(
    "--limit",
    "-n",
    type=int,
    help="Maximum number of memories. Default: 20, or as many as fit on the terminal.",
)
@click.option("--offset", type=int, default=0, help="Number of memories to skip.")
@click.option(
    "--order-by",
    default="created_at",
    show_default=True,
    help="created_at, salience or last_accessed.",
)
@click.option("--order", default="desc", show_default=True, help="asc or desc.")
@also_option
@common_options
def list_(
    filters: dict[str, Any], also: tuple[str, ...], vault: str | None, as_json: bool, **page: Any
) -> None:
    """List memories, newest first."""
    if page["limit"] is None:
        screen = None if as_json else render_results.count_screen_lines()
        page["limit"] = MOST_LISTED if screen is None else min(MOST_LISTED, screen - HEADER_LINES)
    with open_vault(vault, in_project=True) as memory, look_into(memory, also):
        found = memory.list(**page, **filters)
        if not as_json:
            hint = memory.scope_hint(filters["project"], filters["user"])
            note_scope(memory, filters, hint)
        outdated = memory.find_outdated([one.id for one in found], **get_scope(memory, filters))
        warn_of_problems(memory)
    if as_json:
        print_json(found)
    elif found:
        render_results.print_memories(found, render.current_time(), outdated)
        if len(found) == page["limit"]:
            note(f"Showing the first {len(found)}; use --limit or --offset for more.")
    elif page["offset"] or page["limit"] == 0 or any(filters.values()):
        note("No matching memories.")
    else:
        note('No memories yet. Save one: muisti save "…"')


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--content", help="New content; - reads standard input.")
@partial(_field_options, given=Given.UPDATE)
@common_options
def update(
    memory_id: str, content: str | None, vault: str | None, as_json: bool, **fields: Any
) -> None:
    """Update a memory; other fields are unchanged.

    Earlier versions stay in `muisti history ID`.
    """
    changes = _drop_unset(fields)
    if content is not None:
        changes["content"] = _read_content((content,))
    if not changes:
        raise InvalidRequest("nothing", "", "to update; pass for example --title")
    with open_vault(vault) as memory:
        _print_result(memory.update(resolve_id(memory, memory_id), **changes), as_json, "Updated")


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--hard", is_flag=True, help="Delete permanently.")
@click.option("--yes", "-y", is_flag=True, help="Skip the confirmation.")
@common_options
def delete(
    memory_ids: tuple[str, ...], hard: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Move memories to the trash."""
    with open_vault(vault) as memory:
        ids = [resolve_id(memory, part) for part in memory_ids]
        if hard:
            confirm_deletion(render.format_count(len(ids), "memory"), "--hard", yes=yes)
        sources = []
        for memory_id in ids if hard else ():
            with suppress(MemoryNotFound):
                sources += memory.find_source_messages(memory_id)
        missing = [memory_id for memory_id in ids if not memory.delete(memory_id, hard=hard)]
        if missing:
            raise MemoryNotFound(*missing)
    if as_json:
        print_json({"deleted": ids, "hard": hard})
        return
    for memory_id in ids:
        short = memory_id[-8:]
        if hard:
            click.echo(f"Deleted …{short} permanently.")
        else:
            click.echo(f"Moved …{short} to the trash. Undo: muisti restore {short}")
    _note_sources(sources)


@click.command()
@click.argument("memory_id", metavar="ID")
@common_options
def restore(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Restore a memory from the trash or the archive."""
    with open_vault(vault) as memory:
        _print_result(memory.restore(resolve_id(memory, memory_id)), as_json, "Restored")


@click.command()
@click.argument("memory_id", metavar="ID")
@common_options
def touch(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Record an access."""
    with open_vault(vault) as memory:
        _print_result(memory.touch(resolve_id(memory, memory_id)), as_json, "Accessed")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option(
    "--amount",
    type=float,
    default=0.1,
    show_default=True,
    help="How far to move towards 1, 0 to 1.",
)
@common_options
def reinforce(memory_id: str, amount: float, vault: str | None, as_json: bool) -> None:
    """Increase a memory's salience."""
    with open_vault(vault) as memory:
        found = memory.reinforce(resolve_id(memory, memory_id), amount)
    _print_result(found, as_json, f"Salience {found.salience:.2f}:")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option(
    "--amount", type=float, default=0.2, show_default=True, help="How much to subtract, 0 to 1."
)
@common_options
def deemphasize(memory_id: str, amount: float, vault: str | None, as_json: bool) -> None:
    """Decrease a memory's salience."""
    with open_vault(vault) as memory:
        found = memory.deemphasize(resolve_id(memory, memory_id), amount)
    _print_result(found, as_json, f"Salience {found.salience:.2f}:")


COMMANDS = {
    "save": save,
    "show": show,
    "list": list_,
    "update": update,
    "delete": delete,
    "restore": restore,
    "touch": touch,
    "reinforce": reinforce,
    "deemphasize": deemphasize,
}
