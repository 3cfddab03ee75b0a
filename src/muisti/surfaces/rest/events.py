"""Server-sent events: what changes in the vault, to every subscribed client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from muisti.model.jsonable import Jsonable
from muisti.surfaces.rest.problems import HttpProblem

QUEUE_SIZE = 100
"""Events queued for a slow client; the oldest are dropped."""
KEEPALIVE_SECONDS = 15.0
EVENT_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
"""One event in OpenAPI; its data is JSON."""


def format_event(name: str, data: Jsonable) -> bytes:
    """Return an event as it is sent."""
    return format_sse_event(data_str=json.dumps(data, ensure_ascii=False), event=name)


class EventBroadcaster:
    """Publishes from any thread to subscribers in the server's event loop."""

    def __init__(self, limit: int) -> None:
        """Limit: how many clients may subscribe at the same time."""
        self._limit = limit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._subscribers: set[asyncio.Queue[bytes | None]] = set()
        self._closed = False
        self.published = 0
        """How many events there were. The web page compares it to learn of changes."""

    def publish(self, name: str, data: Jsonable) -> None:
        """Send an event to every subscriber."""
        self.published += 1
        self._put_everywhere(format_event(name, data))

    def close(self) -> None:
        """End every subscription."""
        self._closed = True
        self._put_everywhere(None)

    def _put_everywhere(self, event: bytes | None) -> None:
        def put() -> None:
            for queue in self._subscribers:
                if queue.full():
                    queue.get_nowait()
                queue.put_nowait(event)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(put)

    def subscribe(self, is_admitted: Callable[[], bool] | None = None) -> AsyncIterator[bytes]:
        """Return all events from now on. Raises HttpProblem (503) if too many clients subscribe.

        Is admitted: asked every KEEPALIVE_SECONDS, in a thread; the events end if it returns False.
        """
        if len(self._subscribers) >= self._limit or self._closed:
            detail = f"the limit is {self._limit}; try again later"
            raise HttpProblem(503, "too-many-listeners", "Too many event subscribers", detail)
        self._loop = asyncio.get_running_loop()

        async def stream() -> AsyncIterator[bytes]:
            queue: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE_SIZE)
            self._subscribers.add(queue)
            loop = asyncio.get_running_loop()
            next_check = loop.time() + KEEPALIVE_SECONDS
            try:
                yield b"retry: 2000\n: listening\n\n"
                while True:
                    try:
                        event = await asyncio.wait_for(queue.get(), KEEPALIVE_SECONDS)
                    except TimeoutError:
                        event = KEEPALIVE_COMMENT
                    if event is None:
                        return
                    if is_admitted is not None and loop.time() >= next_check:
                        next_check = loop.time() + KEEPALIVE_SECONDS
                        if not await asyncio.to_thread(is_admitted):
                            return
                    yield event
            finally:
                self._subscribers.discard(queue)

        return stream()
