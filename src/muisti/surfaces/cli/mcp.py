"""The verb that serves one agent over standard input and output."""

from __future__ import annotations

from pathlib import Path

import click

from muisti.remember.validate import validate_project
from muisti.surfaces.extras import check_installed
from muisti.surfaces.project import project_at


@click.command("mcp")
@click.option(
    "--vault",
    metavar="PATH",
    help="The vault; default: MUISTI_VAULT, the nearest one upwards, or yours.",
)
@click.option(
    "--project",
    metavar="NAME",
    help="Where saves and searches happen; default: the repository of this folder.",
)
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
def mcp(vault: str | None, project: str | None, read_only: bool) -> None:
    """Serve the vault to an agent (Model Context Protocol) over standard input and output.

    Agents start this themselves; `muisti serve` offers the same at /mcp.
    """
    check_installed("muisti mcp")
    name = project_at(Path.cwd()) if project is None else validate_project(project)
    from muisti.surfaces.mcp.stdio import run  # takes a second: no other verb may wait for it
    from muisti.surfaces.mcp.vault import make_vault

    run(make_vault(vault), project=name, read_only=read_only)


COMMANDS = {"mcp": mcp}
