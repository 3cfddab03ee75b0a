"""How a hook is called: `muisti hook EVENT [--vault PATH] [--agent NAME] [--budget TOKENS]`. Read by hand, for speed."""

from __future__ import annotations

import re

from muisti.surfaces.hooks.events import ALIASES, EVENTS, parse_event

DEFAULT_AGENT = "claude-code"
MIN_BUDGET = 200


class BadOptions(ValueError):
    """The hook is not called as it should be; says how."""


class Options:
    """What stands on the command line."""

    __slots__ = ("agent", "budget", "event", "name", "vault")

    def __init__(self) -> None:
        self.name = ""
        """What the agent calls the event."""
        self.event = ""
        """One of EVENTS."""
        self.vault: str | None = None
        self.agent = DEFAULT_AGENT
        self.budget: int | None = None
        """Tokens for the context of a session; None: the usual ones."""


def parse_options(arguments: list[str]) -> Options:
    """The command line, read. Raises BadOptions."""
    options = Options()
    waiting = list(arguments)
    names = []
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--"):
            names.append(word)
            continue
        name, given, value = word.partition("=")
        if not given and not waiting:
            raise BadOptions(f"{name} needs a value")
        _set(options, name, value if given else waiting.pop(0))
    known = parse_event(names[0]) if len(names) == 1 else None
    if known is None:
        raise BadOptions(f"name one event: {', '.join((*EVENTS, *ALIASES))}")
    options.name, options.event = known
    return options


def _set(options: Options, name: str, value: str) -> None:
    if name == "--vault":
        options.vault = value
    elif name == "--agent":
        options.agent = re.sub(r"[^a-z0-9-]+", "-", value.lower()).strip("-")[:40] or DEFAULT_AGENT
    elif name == "--budget":
        if not value.isascii() or not value.isdigit() or int(value) < MIN_BUDGET:
            raise BadOptions(f"--budget must be a number of tokens of at least {MIN_BUDGET}")
        options.budget = min(int(value), 100_000)
    else:
        raise BadOptions("known options are --vault, --agent and --budget")
