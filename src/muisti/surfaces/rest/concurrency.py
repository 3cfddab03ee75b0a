"""How many requests run at the same time: a few readers and two writers, first come, first served.

A process has one interpreter lock and a vault has one write lock. With forty threads that want
both, most of the time goes into waiting: every system call releases the interpreter, and the
thread that holds the vault has to queue for it again.
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

from muisti.surfaces.access import READING_POSTS

P = ParamSpec("P")
R = TypeVar("R")
READERS = max(2, os.cpu_count() or 1)
WRITERS = 2
"""One that holds the vault's lock, one that prepares."""
_reading: RunVar[CapacityLimiter] = RunVar("muisti-reading")
_writing: RunVar[CapacityLimiter] = RunVar("muisti-writing")


class ThreadedRoute(APIRoute):
    """A route that runs on a worker thread, within the limits for readers and writers."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not options.get("summary"):
            options["summary"] = endpoint.__name__.replace("_", " ").capitalize()
        if not inspect.iscoroutinefunction(endpoint):
            methods = set(options.get("methods") or ["GET"])
            reads = methods <= {"GET", "HEAD"} or path in READING_POSTS
            endpoint = limit_concurrency(endpoint, reads=reads)
        super().__init__(path, endpoint, **options)


def limit_concurrency(function: Callable[P, R], *, reads: bool) -> Callable[P, Any]:
    """Return a coroutine function that runs this one on a thread, as a reader or a writer."""

    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        limiter = _get_limiter(_reading, READERS) if reads else _get_limiter(_writing, WRITERS)
        call = functools.partial(function, *args, **kwargs)
        return await to_thread.run_sync(call, limiter=limiter)

    return run


def _get_limiter(variable: RunVar[CapacityLimiter], size: int) -> CapacityLimiter:
    """Return the limiter of this event loop."""
    try:
        return variable.get()
    except LookupError:
        limiter = CapacityLimiter(size)
        variable.set(limiter)
        return limiter
