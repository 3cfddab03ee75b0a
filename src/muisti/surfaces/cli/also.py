"""The option `--also`: reads look into further vaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from muisti.engine.search import Search

Opened = TypeVar("Opened", bound="Search")

also_option = click.option(
    "--also",
    multiple=True,
    metavar="PATH",
    help="Look into this vault too; may be repeated. The setting vaults does so always.",
)


@contextmanager
def look_into(memory: Opened, also: Sequence[str]) -> Iterator[Opened]:
    """Let reads of an open vault look into others too, until the end of the block."""
    if not also:
        yield memory
        return
    from muisti.bootstrap import add_vaults, resolve_other

    before = memory.others
    add_vaults(memory, [resolve_other(Path.cwd(), one) for one in also])
    try:
        yield memory
    finally:
        if memory.others is not None:
            memory.others.close()
        memory.others = before
