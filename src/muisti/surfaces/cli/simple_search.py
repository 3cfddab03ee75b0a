"""`muisti search` with the most frequent options, parsed without click.

click and the definitions of all options take as long to import as the search itself takes. Whatever
is not certain here, errors included, is left to click.
"""

from __future__ import annotations

import os
from typing import Any

from muisti.surfaces.cli.exits import run_to_exit

COMPLETE_VARIABLE = "_MUISTI_COMPLETE"
"""Set by the script of `muisti completion`, which is the user's shell that asks."""
MODES = ("hybrid", "vector", "keyword")
_WITH_VALUE = {
    "--vault": "vault",
    "--store": "vault",
    "--mode": "mode",
    "--limit": "limit",
    "-n": "limit",
}
NO_FILTERS = {"project": None, "user": None, "session_id": None}
"""The filters that a command prints something about."""


def parse_simple(arguments: list[str]) -> dict[str, Any] | None:
    """Return the arguments of `run_search`; None if click has to parse the command line."""
    if COMPLETE_VARIABLE in os.environ:
        return None
    words: list[str] = []
    found: dict[str, Any] = {"vault": None, "mode": "hybrid", "limit": None, "as_json": False}
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-"):
            words.append(word)
            continue
        name, separator, value = word.partition("=")
        if word == "--json":
            found["as_json"] = True
        elif name in _WITH_VALUE and (not separator or name.startswith("--")):
            given = value if separator else next(rest, None)
            if given is None:
                return None
            found[_WITH_VALUE[name]] = given
        else:
            return None
    limit = found["limit"]
    if limit is not None:
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10):
            return None
        found["limit"] = int(limit)
    if not words or found["mode"] not in MODES:
        return None
    return {"text": " ".join(words), "filters": dict(NO_FILTERS), "asked_at": None, **found}


def run_simple(arguments: list[str]) -> bool:
    """Run a search, if its command line is simple. Return whether it ran."""
    parsed = parse_simple(arguments)
    if parsed is None:
        return False

    def search() -> None:
        from muisti.surfaces.cli.searching import run_search

        run_search(**parsed)

    run_to_exit(search)
    return True
