"""The text of `muisti` without arguments."""

from __future__ import annotations

import click

from muisti.settings import SETTINGS_FILE, find_vault


def print_welcome(ctx: click.Context) -> None:
    """Print where the vault is, or how to create one, then the help."""
    root = find_vault()
    if (root / SETTINGS_FILE).is_file():
        click.echo(f"Your vault: {root}\n")
    else:
        click.echo(
            "Welcome to muisti: memory for AI agents, in Markdown files you own.\n\n"
            f"You have no vault yet. The first `muisti save` creates one in {root}.\n"
            "`muisti init` creates one in the current folder instead, for one project.\n"
            "`muisti demo` shows how it works on a temporary vault.\n"
        )
    click.echo(ctx.get_help())
