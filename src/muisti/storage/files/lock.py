"""The vault's lock: one writer at a time, across processes and threads."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from muisti.errors import VaultBusy
from muisti.filesystem import open_to_lock

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt


class FileLock:
    """An exclusive lock on a file, re-entrant within a thread.

    The operating system releases it when the process dies.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._thread = threading.RLock()
        self._depth = 0

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock. Raises VaultBusy after the timeout, naming the process that holds it."""
        patience = self._timeout if timeout is None else timeout
        if not self._thread.acquire(timeout=patience):
            raise VaultBusy(
                f"another thread has been writing to the vault for over {patience:g} s; try again"
            )
        try:
            if self._depth == 0:
                self._fd = self._acquire(patience)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    os.close(self._fd)
        finally:
            self._thread.release()

    def _acquire(self, patience: float) -> int:
        deadline = time.monotonic() + patience
        pause = 0.0005
        while True:
            fd = open_to_lock(self._path)
            if try_lock(fd):
                is_current = False
                with suppress(FileNotFoundError):
                    is_current = os.path.samestat(os.fstat(fd), os.stat(self._path))
                if is_current:
                    # The process ID is only a hint for others that wait: failing here is harmless.
                    with suppress(OSError, AttributeError):
                        os.pwrite(fd, f"{os.getpid():<20}".encode(), 0)
                    return fd
                os.close(fd)  # the file was deleted meanwhile: lock the one that is there now
                continue
            holder = ""
            if hasattr(os, "pread"):
                holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
            os.close(fd)
            if time.monotonic() >= deadline:
                writer = f"process {holder}" if holder else "another process"
                raise VaultBusy(
                    f"{writer} has been writing to the vault for over {patience:g} s; try again"
                )
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 1.5, 0.01)


def try_lock(fd: int) -> bool:
    """Lock an open file exclusively, without waiting. Return whether that succeeded."""
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
