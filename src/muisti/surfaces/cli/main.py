"""The command `muisti`: its list of commands and its entry point."""

from __future__ import annotations

import os
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
        "explain": "lookups",
        "related": "lookups",
        "keywords": "lookups",
        "context": "lookups",
        "compact": "lookups",
        "timeline": "lookups",
        "details": "lookups",
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
        "dedupe": "lifecycle",
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
        "export": "transfer",
        "import": "transfer",
        "push": "moving",
        "pull": "moving",
        "git": "git",
        "worker": "worker",
        "tenants": "tenants",
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
        "sync-agent": "sync_agent",
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
    open_closed_streams()
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from muisti.surfaces.hooks.run import main as run_hook

        run_hook(sys.argv[2:])
    if sys.argv[1:3] == ["git", "merge-file"] and not {"-h", "--help"} & set(sys.argv):
        from muisti.surfaces.git.driver import main as merge_file

        sys.exit(merge_file(sys.argv[3:]))
    is_search = sys.argv[1:2] == ["search"]
    if is_search:
        import gc

        from muisti.surfaces.warm.client import run_search

        is_alone = not any(word.startswith("--also") for word in sys.argv)
        if is_alone and run_search(sys.argv[2:]):
            return
        gc.set_threshold(GC_THRESHOLD)
        from muisti.surfaces.cli.simple_search import run_simple

        if run_simple(sys.argv[2:]):
            os._exit(0)  # as below
    from muisti.surfaces.cli.group import run

    run()
    if is_search:
        os._exit(0)  # the vault is closed; taking the modules apart takes as long as a search


def open_closed_streams() -> None:
    """Open the null device for every standard stream that the caller has closed.

    Otherwise the next file that is opened would get its descriptor: a library that prints would
    write into a file of the vault.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # It gets the lowest descriptor that is free: the one that was closed.
            stream = open(os.devnull, "w" if number else "r", encoding="utf-8")  # noqa: SIM115
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def __getattr__(name: str) -> object:
    """Load the click group on first access."""
    if name == "cli":
        from muisti.surfaces.cli.group import cli

        return cli
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    main()
