"""The vault's lock: one writer at a time, across processes and threads, in the order of arrival."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from muisti.errors import VaultBusy
from muisti.filesystem import Tree, create_file, open_file, open_to_lock
from muisti.logs import get_log

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

SHORTEST, LONGEST, LONGEST_FIRST = 0.0005, 0.025, 0.002
"""Seconds between two looks, growing; the first in the queue looks more often."""
CALM = 0.2
"""Seconds for which a process may wait before those that come later must queue behind it."""
BURST = 8
"""How often in a row a process may have the lock while others wait: a change costs time, too."""
BEAT = 0.2
"""Seconds after which a waiting process touches its ticket."""
STOPPED = 1.0
"""Seconds without a touch after which a waiting process is passed over."""
NOTICE = 5.0
"""Seconds with the lock in the same hands after which a waiting process logs in whose."""


class FileLock:
    """An exclusive lock on a file, re-entrant within a thread.

    The operating system releases it when the process dies. Threads get it in the order of their
    arrival. So do processes, with two exceptions that save changes of the process: those that come
    later may go first until a process has waited for CALM seconds, and a process may have it BURST
    times in a row. So none of them starves.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._queue = path.with_name(f"{path.name}.waiting")
        self._timeout = timeout
        self._thread = FairLock()
        self._depth = 0
        self._in_a_row = 0

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock. Raises VaultBusy after the timeout, naming the process that holds it."""
        patience = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + patience
        if not self._thread.acquire(patience):
            raise VaultBusy(
                f"another thread has been writing to the vault for over {patience:g} s; try again"
            )
        try:
            if self._depth == 0:
                self._fd = self._acquire(patience, deadline)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    os.close(self._fd)
        finally:
            self._thread.release()

    def _acquire(self, patience: float, deadline: float) -> int:
        ticket = Ticket(self._queue)
        queue = ticket.others()
        is_calm = not queue or ticket.is_younger_than(CALM, queue[0])
        self._in_a_row += 1
        mine = f"process {os.getpid()}"
        if is_calm or (self._in_a_row < BURST and self._read_holder() == mine) or patience == 0:
            fd = self._try()
            if fd is not None:
                if is_calm:
                    self._in_a_row = 0
                return fd
        self._in_a_row = 0
        writers: list[str] = []
        notice, pause, was_first = float("inf"), SHORTEST, False
        try:
            while True:
                is_first = ticket.is_first()
                fd = self._try() if is_first else None
                if fd is not None:
                    return fd
                now = time.monotonic()
                if now >= min(deadline, notice) or is_first or not writers:
                    holder = self._read_holder()
                    if holder not in writers[-1:]:
                        writers.append(holder)
                        notice = now + NOTICE
                if now >= deadline:
                    raise VaultBusy(_describe(writers, patience))
                if now >= notice:
                    notice = float("inf")
                    get_log().warning("waiting for %s, which is writing to the vault", writers[-1])
                longest = LONGEST_FIRST if is_first else LONGEST
                pause = SHORTEST if is_first and not was_first else min(pause * 1.5, longest)
                was_first = is_first
                import random  # slow to import, and most locks are free

                time.sleep(min(pause * random.uniform(0.5, 1.5), max(0.0, deadline - now)))
        finally:
            ticket.remove()

    def _try(self) -> int | None:
        """Return the descriptor of the locked file, or None if another process holds it."""
        while True:
            fd = open_to_lock(self._path)
            if not try_lock(fd):
                os.close(fd)
                return None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), os.stat(self._path)):
                    # The process ID is only a hint for others that wait: failing is harmless.
                    with suppress(OSError, AttributeError):
                        os.pwrite(fd, f"{os.getpid():<20}".encode(), 0)
                    return fd
            os.close(fd)  # the file was deleted meanwhile: lock the one that is there now

    def _read_holder(self) -> str:
        holder = ""
        with suppress(OSError, AttributeError):  # Windows has no pread
            fd = open_file(self._path, os.O_RDWR)
            try:
                holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
            finally:
                os.close(fd)
        return f"process {holder}" if holder else "another process"


def _describe(writers: list[str], patience: float) -> str:
    others = len(set(writers))
    if others == 1:
        return f"{writers[0]} has been writing to the vault for over {patience:g} s; try again"
    return (
        f"{others} processes have been writing to the vault for over {patience:g} s, "
        f"the last is {writers[-1]}; try again"
    )


class Ticket:
    """A place in the queue of waiting processes: a file, named after the time of arrival.

    The queue only keeps the order; the lock itself is what excludes others. So a ticket that cannot
    be written, on a full disk for example, only means to wait without a place. A process holds a
    lock on its ticket while it lives, and touches it while it runs: others remove the ticket of
    one that was killed at once, and of one that is stopped after a second. A process that finds its
    own ticket removed writes it again and has its old place.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._arrived = time.monotonic_ns()
        self._fd: int | None = None
        self._touched = 0.0
        self._seen: dict[str, tuple[int, float]] = {}
        """Of earlier tickets: when each was touched, and since when this is known."""

    @cached_property
    def _path(self) -> Path:
        name = f"{self._arrived:020d}-{os.getpid()}-{os.urandom(4).hex()}"
        return self._folder / name

    def others(self) -> list[str]:
        """Return the names of all tickets, in order."""
        with suppress(OSError):
            os.lstat(self._folder)  # mostly, nobody has waited yet
            return Tree(self._folder.parent).list_names(self._folder.name)
        return []

    def is_younger_than(self, seconds: float, name: str) -> bool:
        """Return whether a ticket was written less than this many seconds before this one."""
        before, _, _ = name.partition("-")
        return before.isdecimal() and self._arrived - int(before) < seconds * 1e9

    def is_first(self) -> bool:
        """Take a place in the queue, and return whether nobody who still waits was earlier."""
        names = self.others()
        now = time.monotonic()
        if self._path.name not in names:
            self._create()
        elif now - self._touched > BEAT:
            self._touched = now
            with suppress(OSError):
                os.utime(self._path)
        earlier = [name for name in names if name < self._path.name]
        for name in earlier:
            self._watch(name, now)
        for name in earlier:
            if not self._is_abandoned(name, now):
                return False
            with suppress(OSError):
                (self._folder / name).unlink()
        return True

    def _create(self) -> None:
        self.remove()
        self._touched = time.monotonic()
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._fd = create_file(self._path)
            try_lock(self._fd)

    def _watch(self, name: str, now: float) -> None:
        with suppress(OSError):
            touched = (self._folder / name).stat().st_mtime_ns
            if self._seen.get(name, (0, now))[0] != touched:
                self._seen[name] = touched, now

    def _is_abandoned(self, name: str, now: float) -> bool:
        """Return whether the process of a ticket has died, or has not run for a while."""
        try:
            fd = open_file(self._folder / name, os.O_RDWR)
        except OSError as error:
            return isinstance(error, FileNotFoundError)
        try:
            return try_lock(fd) or now - self._seen.get(name, (0, now))[1] > STOPPED
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Leave the queue."""
        if self._fd is not None:
            os.close(self._fd)  # before the file: Windows cannot remove an open one
            self._fd = None
            with suppress(OSError):
                self._path.unlink()


class FairLock:
    """A re-entrant lock for threads that are served in the order of their arrival."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    def acquire(self, timeout: float) -> bool:
        """Wait for this many seconds. Return whether this thread holds the lock now."""
        me = threading.get_ident()
        with self._guard:
            if self._owner in (None, me):
                self._owner = me
                self._depth += 1
                return True
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((me, turn))
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:  # the user interrupted: nobody may hand the lock over to us
            if not self._leave(me, turn):
                self.release()
            raise
        return not self._leave(me, turn)

    def _leave(self, me: int, turn: threading.Lock) -> bool:
        """Stop waiting. Return False if the lock was handed over just before."""
        with self._guard:
            if (me, turn) not in self._waiting:
                return False
            self._waiting.remove((me, turn))
            return True

    def release(self) -> None:
        """Leave once; the last time, hand the lock to the thread that has waited longest."""
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            self._owner = None
            if self._waiting:
                self._owner, turn = self._waiting.popleft()
                self._depth = 1
                turn.release()


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
