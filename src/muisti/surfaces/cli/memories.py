"""Verbs for single memories."""

from __future__ import annotations

import sys
from typing import Any

import click

from muisti.errors import InvalidMemory, InvalidRequest, MemoryNotFound
from muisti.model import Memory
from muisti.model.fields import Field, ValueType
from muisti.model.memory import FIELDS
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import (
    Moment,
    common,
    filters,
    note,
    opened,
    option_names,
    print_json,
    warn_of_problems,
    whole_id,
)
from muisti.text.redact import redact_text


def _told(memory: Memory, as_json: bool, what: str) -> None:
    if as_json:
        print_json(memory)
        return
    click.echo(f"{what} {memory.kind} {render.short(memory.id)}  {render.visible(memory.title)}")
    click.echo(f"  {memory.file_path}")
    if memory.index_pending:
        note("The index was busy: the file is safe, and becomes searchable with the next command.")


def _option(field: Field) -> Any:
    """The option of `save` and `update` that gives a field."""
    flags = option_names(field)
    how: dict[str, Any] = {}
    match field.value_type:
        case ValueType.FLAG:
            flags = (f"--{field.name}/--not-{field.name}",)
            how["default"] = None
        case ValueType.LIST:
            how["multiple"] = True
        case ValueType.SHARE:
            how["type"] = float
        case ValueType.TIME:
            how["type"] = Moment()
        case _ if field.name.endswith("_id"):
            how["metavar"] = "ID"
    return click.option(*flags, help=field.help, **how)


_OPTIONS = tuple(_option(field) for field in FIELDS if field.help)


def _fields(function: Any) -> Any:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None and value != ()}


def _content(words: tuple[str, ...]) -> str:
    """The text: the arguments, or standard input for `-` and for a pipe."""
    if "-" in words and len(words) > 1:
        raise click.UsageError("Either a text or - for standard input, not both.")
    if words == ("-",) or (not words and not sys.stdin.isatty()):
        try:
            return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            raise InvalidMemory(
                "content", f"byte {error.start}", "standard input must be UTF-8 text"
            ) from error
    if not words:
        raise click.UsageError(
            'Say what to remember: muisti save "…", or - to read standard input.'
        )
    return " ".join(words)


@click.command()
@click.argument("text", nargs=-1)
@_fields
@common
def save(text: tuple[str, ...], vault: str | None, as_json: bool, **fields: Any) -> None:
    """Remember TEXT; with - read it from standard input."""
    content = _content(text)
    with opened(vault, create=True) as memory:
        begun = render.now()
        saved = memory.save(content, **_given(fields))
        safe = redact_text(content, memory.settings)
    known = saved.created_at < begun
    merged = known and saved.content.split() != safe.split()
    what = (
        "Said already, and merged into:"
        if merged
        else "Known already, and reinforced:"
        if known
        else "Remembered"
    )
    _told(saved, as_json, what)
    if safe != content:
        note("What is private or secret in it was left out.")
    if merged:
        note(f"If that is something else: muisti unmerge {saved.id[-8:]}")
    elif known and len(_given(fields)) > 0:
        note(f"It stays as it was; to change it: muisti update {saved.id[-8:]} …")
    for one in () if known else saved.links:
        note(render.proposal(one))


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--include-deleted", is_flag=True, help="Look in the trash too.")
@click.option("--raw", is_flag=True, help="Print the content alone, as it is.")
@common
def show(
    memory_id: str, include_deleted: bool, raw: bool, vault: str | None, as_json: bool
) -> None:
    """Show one memory; the last characters of its id are enough."""
    with opened(vault) as memory:
        found = memory.get(whole_id(memory, memory_id), include_deleted=include_deleted)
    if found is None:
        raise MemoryNotFound(memory_id)
    if as_json:
        print_json(found)
    elif raw:
        click.echo(found.content)
    else:
        render.memory(found)


@click.command(name="list")
@filters
@click.option("--limit", "-n", type=int, default=20, show_default=True)
@click.option("--offset", type=int, default=0)
@click.option(
    "--order-by",
    default="created_at",
    show_default=True,
    help="created_at, salience or last_accessed",
)
@click.option("--order", default="desc", show_default=True, help="asc or desc")
@common
def list_(narrowed: dict[str, Any], vault: str | None, as_json: bool, **page: Any) -> None:
    """List memories, newest first."""
    with opened(vault) as memory:
        found = memory.list(**page, **narrowed)
        warn_of_problems(memory)
    if as_json:
        print_json(found)
    elif found:
        render.memories(found, render.now())
        if len(found) == page["limit"]:
            note(f"The first {len(found)}; --limit or --offset shows others.")
    else:
        narrow = page["offset"] or any(value for key, value in narrowed.items())
        note(
            "None that fit."
            if narrow or page["limit"] == 0
            else 'No memories here yet. Make one: muisti save "…"'
        )


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--content", help="The new text; - reads standard input.")
@_fields
@common
def update(
    memory_id: str, content: str | None, vault: str | None, as_json: bool, **fields: Any
) -> None:
    """Change a memory; what is not named stays."""
    changes = _given(fields)
    if content is not None:
        changes["content"] = _content((content,))
    if not changes:
        raise InvalidRequest(
            "update", "nothing", "name what to change, for example --title or --content"
        )
    with opened(vault) as memory:
        _told(memory.update(whole_id(memory, memory_id), **changes), as_json, "Updated")


@click.command()
@click.argument("memory_ids", metavar="ID", nargs=-1, required=True)
@click.option("--hard", is_flag=True, help="Not to the trash: leave no byte of it.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@common
def delete(
    memory_ids: tuple[str, ...], hard: bool, yes: bool, vault: str | None, as_json: bool
) -> None:
    """Move memories to the trash."""
    with opened(vault) as memory:
        ids = [whole_id(memory, part) for part in memory_ids]
        if hard and not yes and not sys.stdin.isatty():
            raise InvalidRequest(
                "--hard", "no terminal to ask on", "add --yes to remove for good without a question"
            )
        if hard and not yes:
            click.confirm(f"Remove {len(ids)} for good? This cannot be undone", abort=True)
        deleted = {memory_id: memory.delete(memory_id, hard=hard) for memory_id in ids}
    missing = [memory_id for memory_id, done in deleted.items() if not done]
    if missing:
        raise MemoryNotFound(*missing)
    if as_json:
        print_json({"deleted": ids, "hard": hard})
    else:
        end = "for good." if hard else "to the trash; `muisti restore ID` brings it back."
        click.echo(
            "\n".join(
                f"{'Removed' if hard else 'Moved'} {render.short(memory_id)} {end}"
                for memory_id in ids
            )
        )


@click.command()
@click.argument("memory_id", metavar="ID")
@common
def restore(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Bring a memory back from the trash or the archive."""
    with opened(vault) as memory:
        _told(memory.restore(whole_id(memory, memory_id)), as_json, "Restored")


@click.command()
@click.argument("memory_id", metavar="ID")
@common
def touch(memory_id: str, vault: str | None, as_json: bool) -> None:
    """Note that a memory was looked at."""
    with opened(vault) as memory:
        _told(memory.touch(whole_id(memory, memory_id)), as_json, "Touched")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--amount", type=float, default=0.1, show_default=True)
@common
def reinforce(memory_id: str, amount: float, vault: str | None, as_json: bool) -> None:
    """Make a memory stronger."""
    with opened(vault) as memory:
        found = memory.reinforce(whole_id(memory, memory_id), amount)
    _told(found, as_json, f"Salience {found.salience:.2f}:")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--amount", type=float, default=0.2, show_default=True)
@common
def deemphasize(memory_id: str, amount: float, vault: str | None, as_json: bool) -> None:
    """Make a memory weaker."""
    with opened(vault) as memory:
        found = memory.deemphasize(whole_id(memory, memory_id), amount)
    _told(found, as_json, f"Salience {found.salience:.2f}:")


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
