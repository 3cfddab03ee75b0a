"""What `muisti` says when it is called with nothing."""

from __future__ import annotations

import click

from muisti.settings import SETTINGS_FILE, find_vault


def welcome(ctx: click.Context) -> None:
    """Where the vault is, or how to get one, and what to type next."""
    root = find_vault()
    if (root / SETTINGS_FILE).is_file():
        click.echo(f"Your vault: {root}\n")
    else:
        click.echo(
            "muisti remembers things as Markdown files that you own, and finds them again.\n\n"
            f"There is no vault yet. The first `muisti save` makes one at {root};\n"
            "`muisti init` makes one in the folder where you are, for a project of its own.\n"
            "`muisti demo` shows how it works on a vault that is thrown away afterwards.\n"
        )
    click.echo(ctx.get_help())
