"""A circuit breaker: after several failures in a row, calls are refused for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from muisti.models.http.purpose import Purpose


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
        probe = self._enter()
        try:
            yield
        except self._purpose.problem as problem:
            self._fail(probe, str(problem))
            raise
        except BaseException:
            self._release(probe)  # an interrupted call says nothing about the server
            raise
        self._succeed(probe)

    def _enter(self) -> bool:
        """Return whether this call decides, or raise `unavailable`."""
        with self._lock:
            wait = self._get_wait()
            if wait is not None:
                failures = "once" if self._failed == 1 else f"{self._failed} times in a row"
                again = f"failed {failures}; next attempt in {wait:.0f} s"
                raise self._purpose.unavailable(f"{self._why} ({again})")
            self._probing = self._opened_at is not None
            return self._probing

    def _get_wait(self) -> float | None:
        """Return the seconds until a call may pass, or None if it may now."""
        if self._opened_at is None:
            return None
        left = self._opened_at + self._pause - self._clock()
        return max(0.0, left) if left > 0 or self._probing else None

    def _fail(self, probe: bool, why: str) -> None:
        with self._lock:
            if self._opened_at is not None and not probe:
                return  # it began before the breaker opened
            self._failed += 1
            self._why = why
            if probe or self._failed >= self._allowed:
                self._opened_at = self._clock()
            if probe:
                self._probing = False

    def _succeed(self, probe: bool) -> None:
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
