"""A thread that runs one function at a time beside the calling one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
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
        has_begun = threading.Lock()
        has_begun.acquire()

        def run() -> R:
            has_begun.release()
            return function()

        future = self._submit(run)
        if future is not None:
            has_begun.acquire()
        return future

    def share(self, function: Callable[[int], None], numbers: Sequence[int]) -> None:
        """Call a function for each number, in the calling thread and, if it is idle, in this one.

        Return when all calls have ended. They may run at the same time and in any order.
        """
        left = iter(numbers)
        ended: list[int] = []

        def run() -> None:
            for number in left:  # each thread takes the next one
                function(number)
                ended.append(number)

        future = self._submit(run) if len(numbers) > 1 else None
        try:
            run()
        finally:
            if future is not None and len(ended) < len(numbers):
                future.result()

    def _submit(self, function: Callable[[], R]) -> Future[R] | None:
        """Run a function soon. Return None if the thread is busy or closed."""
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

        def run() -> R:
            try:
                return function()
            finally:
                busy.release()

        try:
            return executor.submit(run)
        except RuntimeError:  # it was closed meanwhile, no thread can start, or Python ends
            self._state = None
            return None

    def close(self) -> None:
        """Wait for the function that runs, and end the thread. Closing twice is allowed."""
        self._closed = True
        state, self._state = self._state, None
        if state is not None and state[0] == os.getpid():
            state[1].shutdown()
