"""How many requests run at the same time: a few readers and two writers, first come, first served.

A process has one interpreter lock and a vault has one write lock. With forty threads that want
both, most of the time goes into waiting: every system call releases the interpreter, and the
thread that holds the vault has to queue for it again.

Each tenant has a vault of its own, and as many writers as a single vault has. All tenants together
have more: the imports of one leave room for the others.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.routing import APIRoute

from muisti.surfaces.access import CALLER, READING_POSTS

P = ParamSpec("P")
R = TypeVar("R")
READERS = max(2, os.cpu_count() or 1)
WRITERS = 2
"""One that holds the vault's lock, one that prepares."""
TENANT_WRITERS = 4
"""Those of all tenants together."""
_reading: RunVar[CapacityLimiter] = RunVar("muisti-reading")
_writing: RunVar[CapacityLimiter] = RunVar("muisti-writing")
_turns: RunVar[WeakValueDictionary[int, CapacityLimiter]] = RunVar("muisti-turns")


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
        call = functools.partial(function, *args, **kwargs)
        if reads:
            return await to_thread.run_sync(call, limiter=_get_limiter(_reading, READERS))
        caller = CALLER.get()
        if caller is None:
            return await to_thread.run_sync(call, limiter=_get_limiter(_writing, WRITERS))
        async with _get_turn(caller.access.tenant):
            limiter = _get_limiter(_writing, TENANT_WRITERS)
            return await to_thread.run_sync(call, limiter=limiter)

    return run


def _get_turn(tenant: int) -> CapacityLimiter:
    """Return the limiter of a tenant's writers. It is kept while one of them uses it."""
    try:
        turns = _turns.get()
    except LookupError:
        turns = WeakValueDictionary()
        _turns.set(turns)
    turn = turns.get(tenant)
    if turn is None:
        turn = turns[tenant] = CapacityLimiter(WRITERS)
    return turn


def _get_limiter(variable: RunVar[CapacityLimiter], size: int) -> CapacityLimiter:
    """Return the limiter of this event loop."""
    try:
        return variable.get()
    except LookupError:
        limiter = CapacityLimiter(size)
        variable.set(limiter)
        return limiter
