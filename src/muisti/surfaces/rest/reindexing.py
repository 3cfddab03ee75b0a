"""Rebuilding the index takes long: it tells how far it is, as server-sent events."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.model.jsonable import Jsonable
from muisti.surfaces.rest.events import wire
from muisti.surfaces.rest.problems import Refused, problem_of
from muisti.surfaces.rest.schemas_maintenance import Synced

EVERY = 0.1
"""Seconds between two reports of progress."""
Tell = Callable[[str, Jsonable], None]


class Reindexing:
    """At most one at a time. It goes on to its end even if the client that asked for it goes."""

    def __init__(self) -> None:
        self._busy = threading.Lock()

    def begin(self, memory: Muisti, *, vectors: bool) -> AsyncIterator[bytes]:
        """Start in a thread of its own, and tell how far it is. Raises Refused if one runs already."""
        if not self._busy.acquire(blocking=False):
            raise Refused(
                409, "reindex-running", "The index is being rebuilt", "wait until it is done"
            )
        told: asyncio.Queue[bytes | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(event: bytes | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(told.put_nowait, event)

        def run() -> None:
            try:
                _reindex(memory, lambda name, data: put(wire(name, data)), vectors=vectors)
            finally:
                self._busy.release()
                put(None)

        threading.Thread(target=run, name="muisti-reindex", daemon=True).start()
        return _until_done(told)


async def _until_done(told: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
    while (event := await told.get()) is not None:
        yield event


def _reindex(memory: Muisti, tell: Tell, *, vectors: bool) -> None:
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last >= EVERY:
            last = time.monotonic()
            tell("progress", {"done": done, "total": total})

    try:
        if vectors:
            tell("done", {"embedded": memory.reindex_missing(progress=progress)})
        else:
            report = Synced.model_validate(memory.reindex(progress=progress))
            tell("done", report.model_dump(mode="json", by_alias=True))
    except MuistiError as error:
        tell("problem", problem_of(error).model_dump(exclude_none=True))
