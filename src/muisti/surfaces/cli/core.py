"""Verbs for core memory."""

from __future__ import annotations

from pathlib import Path

import click

from muisti.model import CoreMemory
from muisti.surfaces.cli import render
from muisti.surfaces.cli.shared import common, note, opened, print_json


def _told(found: CoreMemory, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif found.user or found.agent:
        render.core(found)
    else:
        note("Core memory is empty. Fill it: muisti core set user name Anna")


@click.group()
def core() -> None:
    """What an agent always knows: short entries about the user and the agent, at the head of every context."""


@core.command()
@common
def get(vault: str | None, as_json: bool) -> None:
    """Show all of it."""
    with opened(vault) as memory:
        _told(memory.core_get(), as_json)


@core.command(name="set")
@click.argument("section")
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
@common
def set_(section: str, key: str, value: tuple[str, ...], vault: str | None, as_json: bool) -> None:
    """Set KEY of SECTION (user or agent) to VALUE."""
    with opened(vault, create=True) as memory:
        _told(memory.core_update(section, key, " ".join(value)), as_json)


@core.command()
@click.argument("section")
@click.argument("key")
@common
def unset(section: str, key: str, vault: str | None, as_json: bool) -> None:
    """Remove KEY from SECTION."""
    with opened(vault) as memory:
        _told(memory.core_delete(section, key), as_json)


@core.command()
@click.argument("source", type=click.Path(path_type=Path))
@common
def init(source: Path, vault: str | None, as_json: bool) -> None:
    """Fill the section `user` from a USER.md, if it is empty."""
    with opened(vault, create=True) as memory:
        _told(memory.core_init(source), as_json)


COMMANDS = {"core": core}
