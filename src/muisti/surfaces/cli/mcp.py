"""`muisti mcp`: serve one agent over standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from muisti.remember.validate import validate_project
from muisti.surfaces.cli.shared import VAULT_HELP
from muisti.surfaces.extras import check_installed
from muisti.surfaces.project import detect_project


@click.command("mcp")
@click.option("--vault", "--store", "vault", metavar="PATH", help=VAULT_HELP)
@click.option(
    "--project",
    metavar="NAME",
    help="Project of saves and searches. Default: the repository of the current folder.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="User of saves and searches. Default: the setting `user`; if empty, memories of users are "
    "not visible.",
)
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
def mcp(vault: str | None, project: str | None, user: str | None, read_only: bool) -> None:
    """Serve the vault over MCP on standard input and output.

    Agents start this command themselves. `muisti serve` offers the same tools at /mcp.
    """
    check_installed("muisti mcp")
    name = detect_project(Path.cwd()) if project is None else validate_project(project)
    from muisti.surfaces.mcp.stdio import run  # takes a second to import
    from muisti.surfaces.mcp.vault import make_vault

    run(make_vault(vault), project=name, user=user, read_only=read_only)


COMMANDS = {"mcp": mcp}
