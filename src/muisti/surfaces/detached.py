"""Detached processes: what a hook or a command leaves to be done after it has exited."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def start_process(module: str, *arguments: str, folder: Path) -> None:
    """Run a module in a process that outlives this one, and return at once. Raises OSError."""
    import subprocess

    # -P: nothing in the working folder is imported.
    subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,
        close_fds=True,
    )


def lower_priority() -> None:
    """Give way to other processes, and go on when the terminal is closed."""
    with suppress(AttributeError, ValueError, OSError):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.nice(5)


@contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Yield whether this process is the only one with this lock. Never waits. Raises OSError.

    The operating system releases the lock when the process dies.
    """
    from muisti.filesystem import open_to_lock
    from muisti.storage.files.lock import try_lock

    fd = open_to_lock(path)
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)
