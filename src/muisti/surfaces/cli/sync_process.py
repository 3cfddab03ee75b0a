"""The process that looks at all files of a large vault, after a command has answered.

Only one runs at a time for each vault. Each command that answered first touches its lock file; if
that happens while the process runs, it looks at the files once more.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from muisti.surfaces import detached

LOCK = "sync.lock"
PATIENCE = 0.3
"""Seconds that the next command waits for a process that is still looking (contract E11)."""
STEP = 0.02


def start(root: Path, *, foreign: bool) -> None:
    """Start it and return at once. Without it, the next command tries again."""
    arguments = [str(root), "foreign"] if foreign else [str(root)]
    with suppress(OSError):
        with detached.hold_lock(root / ".muisti" / LOCK):
            os.utime(root / ".muisti" / LOCK)
        detached.start_process("muisti.surfaces.cli.sync_process", *arguments, folder=root)


def wait(root: Path) -> None:
    """Wait a moment for a process that is looking at the files after an earlier command."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with detached.hold_lock(root / ".muisti" / LOCK) as is_free:
                if is_free:
                    return
        except OSError:
            return
        time.sleep(STEP)


def sync_all(root: Path, *, foreign: bool = False) -> None:
    """Pick up all external changes, unless another process does. Raises MuistiError, OSError."""
    from muisti import bootstrap

    lock = root / ".muisti" / LOCK
    with detached.hold_lock(lock) as is_only_one:  # fails if it is read-only
        if not is_only_one:
            return
        settings = {"sync_on_open": False}
        with bootstrap.open(root, role="cli", settings=settings, foreign=foreign) as memory:
            asked = None
            while asked != (asked := lock.stat().st_mtime_ns):
                memory.sync()


def main() -> None:
    """Pick up all external changes, with a low priority. Nobody is there to report an error to."""
    from muisti.errors import MuistiError

    detached.lower_priority()
    with suppress(MuistiError, OSError):
        sync_all(Path(sys.argv[1]), foreign=sys.argv[2:] == ["foreign"])


if __name__ == "__main__":
    main()
