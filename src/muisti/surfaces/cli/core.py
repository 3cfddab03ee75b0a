"""Commands for core memory."""

from __future__ import annotations

from pathlib import Path

import click

from muisti.model import CoreMemory
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import common_options, note, open_vault, print_json

_user_option = click.option("--user", help="Core memory of this user. Default: of the vault.")


def _print_core(found: CoreMemory, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif found.user or found.agent:
        render.print_core(found)
    else:
        note("Core memory is empty. Add an entry: muisti core set user name Anna")


@click.group()
def core() -> None:
    """Show and edit core memory.

    Core memory holds permanent facts about the user and standing instructions for the agent. It
    starts every context.
    """


@core.command()
@_user_option
@common_options
def get(user: str | None, vault: str | None, as_json: bool) -> None:
    """Show core memory."""
    with open_vault(vault) as memory:
        _print_core(memory.core_get(user=user), as_json)


@core.command(name="set")
@click.argument("section")
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
@_user_option
@common_options
def set_(
    section: str,
    key: str,
    value: tuple[str, ...],
    user: str | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """Set KEY in SECTION (user or agent) to VALUE."""
    with open_vault(vault, create=True) as memory:
        _print_core(memory.core_update(section, key, " ".join(value), user=user), as_json)


@core.command()
@click.argument("section")
@click.argument("key")
@_user_option
@common_options
def unset(section: str, key: str, user: str | None, vault: str | None, as_json: bool) -> None:
    """Remove KEY from SECTION."""
    with open_vault(vault) as memory:
        _print_core(memory.core_delete(section, key, user=user), as_json)


@core.command()
@click.argument("source", type=click.Path(path_type=Path))
@_user_option
@common_options
def init(source: Path, user: str | None, vault: str | None, as_json: bool) -> None:
    """Fill an empty user section from a USER.md file."""
    with open_vault(vault, create=True) as memory:
        _print_core(memory.core_init(source, user=user), as_json)


COMMANDS = {"core": core}
