"""`muisti warm`: the process that keeps a vault open to answer quickly."""

from __future__ import annotations

import click

from muisti.settings import find_vault
from muisti.surfaces.cli.shared import common_options, print_json
from muisti.surfaces.warm import client
from muisti.surfaces.warm.protocol import describe_status

TIMEOUT = 5.0


@click.group(
    epilog="It starts after a search or a hook, and exits when idle. To disable it: `warm = false` "
    "in muisti.toml, or MUISTI_WARM=0."
)
def warm() -> None:
    """Show or stop the warm process.

    The warm process keeps the vault open and its model loaded, so that searches and hooks start
    faster.
    """


@warm.command()
@common_options
def status(vault: str | None, as_json: bool) -> None:
    """Show whether a warm process runs for the vault."""
    found = _ask(vault, "status")
    if as_json:
        print_json({"running": found is not None, **(found or {})})
    elif found is None:
        click.echo("not running")
    else:
        click.echo(describe_status(found))


@warm.command()
@common_options
def stop(vault: str | None, as_json: bool) -> None:
    """Stop the vault's warm process."""
    was_running = _ask(vault, "leave") is not None
    if as_json:
        print_json({"stopped": was_running})
    else:
        click.echo("Stopped." if was_running else "not running")


def _ask(vault: str | None, what: str) -> client.Reply | None:
    """Return the reply, without what every reply has; None if there is none."""
    try:
        reply = client.ask(str(find_vault(vault)), {"do": what}, TIMEOUT)
    except client.NoAnswer:
        return None
    return {name: value for name, value in reply.items() if name not in ("muisti", "vault")}


COMMANDS: dict[str, click.Command] = {"warm": warm}
