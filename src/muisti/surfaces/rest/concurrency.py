"""Who works at the same time: a few searches, two writers, in the order in which they came.

One process has one interpreter and a vault has one lock. Forty threads that want both at once mostly wait for one another:
every call of the system gives the interpreter away, and whoever holds the lock has to queue for it again.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.routing import APIRoute

P = ParamSpec("P")
R = TypeVar("R")
READERS = max(2, os.cpu_count() or 1)
WRITERS = 2
"""One that holds the vault, one that gets ready."""
ASKING = ("/api/search", "/api/context", "/api/extract/preview")
"""What only looks something up, though it is sent as a POST."""
_reading: RunVar[CapacityLimiter] = RunVar("muisti-reading")
_writing: RunVar[CapacityLimiter] = RunVar("muisti-writing")


class ThreadedRoute(APIRoute):
    """A route whose work is done on a thread, when it is its turn."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not inspect.iscoroutinefunction(endpoint):
            reads = set(options.get("methods") or ["GET"]) <= {"GET", "HEAD"} or path.startswith(
                ASKING
            )
            endpoint = limit_concurrency(endpoint, reads=reads)
        super().__init__(path, endpoint, **options)


def limit_concurrency(work: Callable[P, R], *, reads: bool) -> Callable[P, Any]:
    """The same work, as a coroutine that waits for its turn."""

    @functools.wraps(work)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        limiter = _limiter(_reading, READERS) if reads else _limiter(_writing, WRITERS)
        return await to_thread.run_sync(functools.partial(work, *args, **kwargs), limiter=limiter)

    return run


def _limiter(lane: RunVar[CapacityLimiter], width: int) -> CapacityLimiter:
    """The lane of this event loop."""
    try:
        return lane.get()
    except LookupError:
        limiter = CapacityLimiter(width)
        lane.set(limiter)
        return limiter
