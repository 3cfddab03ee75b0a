"""A thread that runs one function at a time beside the calling one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

R = TypeVar("R")


class SideThread:
    """Starts its thread with the first call, and ends it with `close`. Thread-safe.

    In a forked child, which has no threads, the first call starts a new one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._state: tuple[int, ThreadPoolExecutor, threading.Lock] | None = None
        self._closed = False

    def start(self, function: Callable[[], R]) -> Future[R] | None:
        """Run a function. Return None if the thread is busy or closed: nothing was started.

        Return once the function runs and has released the interpreter, as a model does, or after
        a few milliseconds. So the function does not wait for what the caller does next.
        """
        if self._closed:
            return None
        state = self._state
        if state is None or state[0] != os.getpid():
            from concurrent.futures import ThreadPoolExecutor

            executor = ThreadPoolExecutor(1, thread_name_prefix=self._name)
            state = self._state = (os.getpid(), executor, threading.Lock())
        _, executor, busy = state
        if not busy.acquire(blocking=False):
            return None
        has_begun = threading.Lock()
        has_begun.acquire()

        def run() -> R:
            try:
                has_begun.release()
                return function()
            finally:
                busy.release()

        try:
            future = executor.submit(run)
        except RuntimeError:  # it was closed meanwhile, no thread can start, or Python ends
            self._state = None
            return None
        has_begun.acquire()
        return future

    def close(self) -> None:
        """Wait for the function that runs, and end the thread. Closing twice is allowed."""
        self._closed = True
        state, self._state = self._state, None
        if state is not None and state[0] == os.getpid():
            state[1].shutdown()
