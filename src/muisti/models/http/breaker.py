"""A circuit breaker: after several failures in a row, calls are refused for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.models.http.purpose import Purpose

SLOW = 1.0
"""Seconds. A call that fails only after this opens the breaker at once: the next would hang too."""


class Breaker:
    """Closed: calls pass. Open: none, for `pause` seconds. Then half-open: one call decides."""

    def __init__(
        self,
        purpose: Purpose,
        *,
        failures: int = 3,
        pause: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._purpose = purpose
        self._allowed = failures
        self._pause = pause
        self._clock = clock
        self._lock = Lock()
        self._failed = 0
        self._opened_at: float | None = None
        self._probing = False
        self._why = ""

    @property
    def is_open(self) -> bool:
        """Whether a call would be refused now."""
        with self._lock:
            return self._get_wait() is not None

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Guard a call: raise `unavailable` of the purpose while open, and count failures."""
        with self._lock:
            wait = self._get_wait()
            if wait is not None:
                failures = "once" if self._failed == 1 else f"{self._failed} times in a row"
                again = f"failed {failures}; next attempt in {wait:.0f} s"
                raise self._purpose.unavailable(f"{self._why} ({again})")
            probe = self._probing = self._opened_at is not None
            started = self._clock()
        try:
            yield
        except BaseException as error:
            with self._lock:
                # An interrupted call says nothing about the server, and neither does one that
                # began before the breaker opened.
                is_failure = isinstance(error, self._purpose.problem)
                if is_failure and (probe or self._opened_at is None):
                    self._failed += 1
                    self._why = str(error)
                    is_slow = self._clock() - started >= SLOW
                    if probe or is_slow or self._failed >= self._allowed:
                        self._opened_at = self._clock()
                if probe:
                    self._probing = False
            raise
        with self._lock:
            if self._opened_at is None or probe:
                self._failed = 0
                self._opened_at = None
            if probe:
                self._probing = False

    def _get_wait(self) -> float | None:
        """Return the seconds until a call may pass, or None if it may now."""
        if self._opened_at is None:
            return None
        left = self._opened_at + self._pause - self._clock()
        return max(0.0, left) if left > 0 or self._probing else None
