"""The verb for agents: `hook`."""

from __future__ import annotations

import click

from muisti.surfaces.hooks.events import ALIASES, EVENTS
from muisti.surfaces.hooks.options import DEFAULT_AGENT, MIN_BUDGET


@click.command(
    epilog=f"Events: {', '.join(EVENTS)}. Those of Gemini CLI are known too: {', '.join(ALIASES)}."
)
@click.argument("event")
@click.option(
    "--vault",
    metavar="PATH",
    help="The vault; default: MUISTI_VAULT, the nearest one upwards of the agent, or yours.",
)
@click.option(
    "--agent",
    default=DEFAULT_AGENT,
    show_default=True,
    help="Which agent calls: its chats are named after it.",
)
@click.option(
    "--budget",
    type=click.IntRange(MIN_BUDGET),
    help="Tokens for the context of a session; default: 1500.",
)
def hook(event: str, vault: str | None, agent: str, budget: int | None) -> None:
    """Called by agents, with their JSON on standard input: recall with each prompt, capture after it.

    Never fails, and prints nothing but its answer, which needs no --json; `muisti doctor` shows how the last runs went.
    MUISTI_HOOKS=off switches hooks off; `recall` or `capture` leaves one of the two on.
    """
    from muisti.surfaces.hooks.run import main

    given = [("--vault", vault), ("--agent", agent), ("--budget", budget)]
    main([event, *(f"{name}={value}" for name, value in given if value is not None)])


COMMANDS: dict[str, click.Command] = {"hook": hook}
