"""The command `muisti`: which verbs there are, and the way to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.surfaces.cli.group import cli

__all__ = ["VERBS", "cli", "main"]
VERBS = {
    "memories": (
        "save",
        "show",
        "list",
        "update",
        "delete",
        "restore",
        "touch",
        "reinforce",
        "deemphasize",
    ),
    "search": (
        "search",
        "context",
        "keywords",
        "compact",
        "timeline",
        "details",
        "related",
        "explain",
    ),
    "links": ("link", "unlink", "links", "supersede", "superseding", "graph"),
    "lifecycle": ("history", "unmerge", "trash", "archive", "upkeep", "decay", "cleanup", "evict"),
    "conversations": ("chat", "index"),
    "core": ("core",),
    "extract": ("extract",),
    "sessions": ("session",),
    "model": ("model",),
    "serve": ("serve",),
    "mcp": ("mcp",),
    "maintenance": (
        "init",
        "stats",
        "sync",
        "reindex",
        "verify",
        "export",
        "import",
        "settings",
        "completion",
    ),
    "demo": ("demo",),
    "setup": ("install", "uninstall"),
    "doctor": ("doctor",),
    "hook": ("hook",),
}
"""The verbs, by the module that has them, in the order of a newcomer's needs."""


def main() -> None:
    """Run the command; an error of ours is one line, and exit code 1."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(
        sys.argv
    ):  # with every prompt: not even click is loaded for it
        from muisti.surfaces.hooks.run import main as hook

        hook(sys.argv[2:])
    from muisti.surfaces.cli.group import run

    run()


def __getattr__(name: str) -> object:
    """The group of all verbs, for programs that describe it, is loaded when it is asked for."""
    if name == "cli":
        from muisti.surfaces.cli.group import cli

        return cli
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    main()
