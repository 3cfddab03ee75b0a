"""`/mcp` of `muisti serve`: streamable HTTP, made at the first request, as importing the SDK takes a second."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from muisti.engine import Muisti
from muisti.surfaces.mcp.vault import LazyVault

if TYPE_CHECKING:
    from mcp.server import MCPServer

PATH = "/mcp"


class McpEndpoint:
    """An ASGI application. Each request stands for itself, so that clients need not notice when the server starts anew.

    Who may ask, and how much, is the business of the layers around it.
    """

    def __init__(self, memory: Muisti) -> None:
        self._vault = LazyVault(lambda: memory, closes=False)
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._app: ASGIApp | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        async with self._lock:
            app = self._app or await self._started()
        await app(scope, receive, send)

    async def _started(self) -> ASGIApp:
        server, app = await asyncio.to_thread(_build, self._vault)
        started = asyncio.Event()
        self._running = asyncio.create_task(self._run(server, started))
        await started.wait()
        self._app = app
        return app

    async def _run(self, server: MCPServer, started: asyncio.Event) -> None:
        """The task that holds open what requests run in: it has to be left where it was entered."""
        async with server.session_manager.run():
            started.set()
            await self._stop.wait()

    async def close(self) -> None:
        """End what runs. Closing twice is fine; whoever opened the memory closes it."""
        self._stop.set()
        if self._running is not None:
            await self._running
            self._running = None
        await self._vault.close()


def _build(vault: LazyVault) -> tuple[MCPServer, ASGIApp]:
    from mcp.server.transport_security import TransportSecuritySettings

    from muisti.surfaces.mcp.server import build_server

    server = build_server(vault)
    unguarded = TransportSecuritySettings(
        enable_dns_rebinding_protection=False
    )  # the doors have asked already
    return server, server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=unguarded
    )
