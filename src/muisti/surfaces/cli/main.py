"""The command `muisti`: its list of commands and its entry point."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` takes longer to import than Python to start

if TYPE_CHECKING:
    from muisti.surfaces.cli.group import cli

__all__ = ["GROUPS", "MODULES", "cli", "main"]
GROUPS = {
    "Everyday": {
        "save": "memories",
        "search": "search",
        "show": "memories",
        "list": "memories",
        "update": "memories",
        "delete": "memories",
        "forget": "forget",
        "restore": "memories",
        "trash": "lifecycle",
        "review": "review",
        "confirm": "review",
        "init": "init",
        "stats": "maintenance",
        "demo": "demo",
    },
    "Search": {
        "index": "documents",
        "explain": "search",
        "related": "search",
        "keywords": "search",
        "context": "search",
        "compact": "search",
        "timeline": "search",
        "details": "search",
    },
    "Links": {
        "supersede": "links",
        "superseding": "links",
        "link": "links",
        "unlink": "links",
        "links": "links",
        "graph": "links",
        "history": "lifecycle",
        "unmerge": "lifecycle",
    },
    "Conversations": {
        "conversation": "conversations",
        "extract": "extract",
        "session": "sessions",
        "core": "core",
    },
    "Maintenance": {
        "sync": "maintenance",
        "verify": "maintenance",
        "reindex": "maintenance",
        "export": "maintenance",
        "import": "maintenance",
        "push": "moving",
        "pull": "moving",
        "upkeep": "lifecycle",
        "decay": "lifecycle",
        "cleanup": "lifecycle",
        "evict": "lifecycle",
        "archive": "lifecycle",
        "touch": "memories",
        "reinforce": "memories",
        "deemphasize": "memories",
        "warm": "warm",
        "model": "model",
        "settings": "maintenance",
        "completion": "maintenance",
    },
    "Agents": {
        "trust": "trust",
        "install": "setup",
        "uninstall": "setup",
        "doctor": "doctor",
        "serve": "serve",
        "mcp": "mcp",
        "hook": "hook",
    },
}
"""The groups of `muisti --help`: each command and the module that defines it."""
GC_THRESHOLD = 100_000
"""New objects before the garbage collector runs. Importing makes many, which all stay."""
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}


def main() -> None:
    """Run the command. Hooks and searches run often: if possible, they do not even load click."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from muisti.surfaces.hooks.run import main as run_hook

        run_hook(sys.argv[2:])
    is_search = sys.argv[1:2] == ["search"]
    if is_search:
        import gc

        from muisti.surfaces.warm.client import run_search

        if run_search(sys.argv[2:]):
            return
        gc.set_threshold(GC_THRESHOLD)
    from muisti.surfaces.cli.group import run

    run()
    if is_search:
        import os

        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # the vault is closed; taking the modules apart takes as long as a search


def __getattr__(name: str) -> object:
    """Load the click group on first access."""
    if name == "cli":
        from muisti.surfaces.cli.group import cli

        return cli
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    main()
