"""What happens is told to every client that listens (server-sent events)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from muisti.model.jsonable import Jsonable
from muisti.surfaces.rest.problems import Refused

WAITING = 100
"""Events that wait for a slow client; the oldest are dropped."""
PING = 15.0
EVENT: Mapping[str, object] = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
"""One event, in OpenAPI's words; its data is JSON."""


def wire(name: str, data: Jsonable) -> bytes:
    """An event as it is sent."""
    return format_sse_event(data_str=json.dumps(data, ensure_ascii=False), event=name)


class Events:
    """Tells from any thread, is listened to in the server's loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self._closed = False
        self.told = 0
        """How much has happened so far: whoever does not listen can ask whether something did."""

    def tell(self, name: str, data: Jsonable) -> None:
        """Something happened."""
        self.told += 1
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._put, wire(name, data))

    def close(self) -> None:
        """Nothing more will happen: let everybody go."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, None)

    def _put(self, event: bytes | None) -> None:
        for listener in self._listeners:
            if listener.full():
                listener.get_nowait()
            listener.put_nowait(event)

    def listen(self) -> AsyncIterator[bytes]:
        """All events from now on. Raises Refused if too many listen."""
        if len(self._listeners) >= self._most or self._closed:
            raise Refused(
                503,
                "too-many-listeners",
                "Too many listen already",
                f"{self._most} clients listen already",
            )
        self._loop = asyncio.get_running_loop()
        return self._heard()

    async def _heard(self) -> AsyncIterator[bytes]:
        listener: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._listeners.add(listener)
        try:
            yield b"retry: 2000\n: listening\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(listener.get(), PING)
                except TimeoutError:
                    event = KEEPALIVE_COMMENT
                if event is None:
                    return
                yield event
        finally:
            self._listeners.discard(listener)
