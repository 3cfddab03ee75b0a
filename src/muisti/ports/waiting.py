"""How long the current operation may wait for a server.

A search should not wait as long for an embedder as a background thread does. The limit applies to
the current thread or task, so that ports need no argument for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float | None] = ContextVar("muisti_wait_until", default=None)


@contextmanager
def limit_wait(seconds: float) -> Iterator[None]:
    """Limit how long requests to servers may take in total. An earlier, shorter limit stays."""
    until = time.monotonic() + seconds
    outer = _until.get()
    token = _until.set(until if outer is None else min(until, outer))
    try:
        yield
    finally:
        _until.reset(token)


def get_wait_left() -> float | None:
    """Return the seconds that are left, at least 0, or None without a limit."""
    until = _until.get()
    return None if until is None else max(0.0, until - time.monotonic())
