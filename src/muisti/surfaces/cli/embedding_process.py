"""The process that embeds what a command left, after the command has exited.

Only one runs at a time for each vault, and nothing waits for its lock. It may be killed at any
moment: the index knows what is missing, and the next search starts another one.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from muisti.surfaces import detached

LOCK = "embedding.lock"


def start(root: Path, *, foreign: bool) -> None:
    """Start it and return at once. Without it, the next search tries again."""
    arguments = [str(root), "foreign"] if foreign else [str(root)]
    with suppress(OSError):
        detached.start_process("muisti.surfaces.cli.embedding_process", *arguments, folder=root)


def embed_all(root: Path, *, foreign: bool = False) -> None:
    """Embed all that is missing, unless another process does. Raises MuistiError, OSError."""
    from muisti import bootstrap

    with detached.hold_lock(root / ".muisti" / LOCK) as is_only_one:  # fails if it is read-only
        if not is_only_one:
            return
        settings = {"sync_on_open": False}
        with bootstrap.open(root, role="cli", settings=settings, foreign=foreign) as memory:
            while memory.reindex_missing():
                pass


def main() -> None:
    """Embed all that is missing, with a low priority. There is nobody to report an error to."""
    from muisti.errors import MuistiError

    detached.lower_priority()
    with suppress(MuistiError, OSError):
        embed_all(Path(sys.argv[1]), foreign=sys.argv[2:] == ["foreign"])


if __name__ == "__main__":
    main()
