"""The command line of a hook: `muisti hook EVENT [--vault PATH] [--agent NAME] [--budget TOKENS]`.

Parsed without click: importing it would take longer than the hook itself.
"""

from __future__ import annotations

import re

from muisti.surfaces.hooks.events import (
    ALIASES,
    DEFAULT_AGENT,
    EVENTS,
    has_secret,
    parse_event,
)

MIN_BUDGET = 200
MAX_BUDGET = 100_000


class BadOptions(ValueError):
    """The command line is invalid. Says what is expected."""


class Options:
    """The parsed command line."""

    __slots__ = ("agent", "budget", "event", "is_agent_given", "name", "vault")

    def __init__(self) -> None:
        self.name = ""
        """The agent's name for the event."""
        self.event = ""
        """One of EVENTS."""
        self.vault: str | None = None
        self.agent = DEFAULT_AGENT
        self.is_agent_given = False
        """Whether `--agent` was given; else the message tells which agent sent it."""
        self.budget: int | None = None
        """Tokens for the context of a session; None for the default."""


def parse_options(arguments: list[str]) -> Options:
    """Parse the command line. Raises BadOptions."""
    options = Options()
    rest = list(arguments)
    names = []
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            names.append(word)
            continue
        name, equals, value = word.partition("=")
        if not equals:
            if not rest:
                raise BadOptions(f"{name} needs a value")
            value = rest.pop(0)
        if name == "--vault":
            options.vault = value
        elif name == "--agent":
            if has_secret(value):  # it becomes part of file names
                raise BadOptions("--agent contains private text or a secret; choose another name")
            agent = re.sub(r"[^a-z0-9-]+", "-", value.lower()).strip("-")
            options.agent = agent[:40] or DEFAULT_AGENT
            options.is_agent_given = True
        elif name == "--budget":
            if not value.isascii() or not value.isdigit() or int(value) < MIN_BUDGET:
                raise BadOptions(f"--budget must be a number of at least {MIN_BUDGET} tokens")
            options.budget = min(int(value), MAX_BUDGET)
        else:
            raise BadOptions("unknown option; known options: --vault, --agent, --budget")
    event = parse_event(names[0]) if len(names) == 1 else None
    if event is None:
        raise BadOptions(f"expected one event: {', '.join((*EVENTS, *ALIASES))}")
    options.name, options.event = event
    return options
