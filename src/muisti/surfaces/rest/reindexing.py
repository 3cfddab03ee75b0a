"""Rebuild the index in the background, with progress as server-sent events."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.model.jsonable import Jsonable
from muisti.surfaces.rest.events import format_event
from muisti.surfaces.rest.problems import HttpProblem, to_problem
from muisti.surfaces.rest.schemas_maintenance import SyncReport

PROGRESS_INTERVAL = 0.1
"""Seconds between two progress events."""


class ReindexJob:
    """At most one rebuild at a time. It finishes even if the client disconnects."""

    def __init__(self) -> None:
        self._running = threading.Lock()

    def start(self, memory: Muisti, *, vectors: bool) -> AsyncIterator[bytes]:
        """Start a thread and return its events. Raises HttpProblem (409) if one runs already."""
        if not self._running.acquire(blocking=False):
            detail = "wait until the running rebuild has finished"
            raise HttpProblem(409, "reindex-running", "The index is being rebuilt", detail)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        reported_at = 0.0

        def put(event: bytes | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, event)

        def publish(name: str, data: Jsonable) -> None:
            put(format_event(name, data))

        def progress(done: int, total: int) -> None:
            nonlocal reported_at
            if done == total or time.monotonic() - reported_at >= PROGRESS_INTERVAL:
                reported_at = time.monotonic()
                publish("progress", {"done": done, "total": total})

        def run() -> None:
            try:
                if vectors:
                    publish("done", {"embedded": memory.reindex_missing(progress=progress)})
                else:
                    report = SyncReport.model_validate(memory.reindex(progress=progress))
                    publish("done", report.model_dump(mode="json", by_alias=True))
            except MuistiError as error:
                publish("problem", to_problem(error).model_dump(exclude_none=True))
            finally:
                self._running.release()
                put(None)

        async def stream() -> AsyncIterator[bytes]:
            while (event := await queue.get()) is not None:
                yield event

        threading.Thread(target=run, name="muisti-reindex", daemon=True).start()
        return stream()
