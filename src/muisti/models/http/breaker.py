"""A circuit breaker: what failed several times in a row is left alone for a while, then tried by one caller."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from muisti.models.http.purpose import Purpose


class Breaker:
    """Closed: all calls pass. Open: none, until `pause` seconds have passed. Then half-open: one call decides."""

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
        """Whether a call would be refused right now."""
        with self._lock:
            return self._wait() is not None

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Run a call within. While open, raises that it is unavailable at once; a problem within is a failure."""
        probe = self._enter()
        try:
            yield
        except self._purpose.problem as problem:
            self._failure(probe, str(problem))
            raise
        except BaseException:
            self._release(probe)  # an interrupted call says nothing of the server
            raise
        self._success(probe)

    def _enter(self) -> bool:
        """Whether this call is the one that decides."""
        with self._lock:
            wait = self._wait()
            if wait is not None:
                again = f"it failed {self._failed} times in a row; tried again in {wait:.0f} s"
                raise self._purpose.unavailable(f"{self._why} ({again})")
            self._probing = self._opened_at is not None
            return self._probing

    def _wait(self) -> float | None:
        """Seconds until a call may pass; None when it may now."""
        if self._opened_at is None:
            return None
        left = self._opened_at + self._pause - self._clock()
        return max(0.0, left) if left > 0 or self._probing else None

    def _failure(self, probe: bool, why: str) -> None:
        with self._lock:
            if self._opened_at is not None and not probe:
                return  # it began before the breaker opened: its failure is no news
            self._failed += 1
            self._why = why
            if probe or self._failed >= self._allowed:
                self._opened_at = self._clock()
            if probe:
                self._probing = False

    def _success(self, probe: bool) -> None:
        with self._lock:
            if self._opened_at is None or probe:
                self._failed = 0
                self._opened_at = None
            if probe:
                self._probing = False

    def _release(self, probe: bool) -> None:
        if probe:
            with self._lock:
                self._probing = False
