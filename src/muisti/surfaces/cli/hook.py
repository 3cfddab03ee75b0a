"""`muisti hook`, which agents call."""

from __future__ import annotations

import click

from muisti.surfaces.hooks.events import ALIASES, DEFAULT_AGENT, EVENTS
from muisti.surfaces.hooks.options import MIN_BUDGET


@click.command(
    epilog=f"Events: {', '.join(EVENTS)}. Also the names of other agents: {', '.join(ALIASES)}."
)
@click.argument("event")
@click.option(
    "--vault",
    metavar="PATH",
    help="Vault to use: a folder, or postgresql://user@host/database. Default: MUISTI_STORE, "
    "MUISTI_VAULT, the agent's nearest parent vault, or your own.",
)
@click.option(
    "--agent",
    help="Name of the agent; its conversations are named after it. Default: detected from the "
    f"input, or {DEFAULT_AGENT}.",
)
@click.option(
    "--budget",
    type=click.IntRange(MIN_BUDGET),
    help="Maximum tokens of a session's context. Default: 1500.",
)
def hook(event: str, vault: str | None, agent: str | None, budget: int | None) -> None:
    """Run an agent hook (called by agents).

    Reads the agent's JSON from standard input. Recalls memories for each prompt and records the
    exchange after it. Never fails: `muisti doctor` shows the last runs. MUISTI_HOOKS=off disables
    hooks; `recall` or `capture` keeps only one of the two.
    """
    from muisti.surfaces.hooks.run import main

    given = [("--vault", vault), ("--agent", agent), ("--budget", budget)]
    main([event, *(f"{name}={value}" for name, value in given if value is not None)])


COMMANDS: dict[str, click.Command] = {"hook": hook}
