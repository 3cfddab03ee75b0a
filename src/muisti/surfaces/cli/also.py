"""The option `--also`: reads look into further vaults."""

from __future__ import annotations

import click

also_option = click.option(
    "--also",
    multiple=True,
    metavar="PATH",
    help="Look into this vault too; may be repeated. The setting vaults does so always.",
)
