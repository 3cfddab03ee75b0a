"""`/mcp` of `muisti serve`: streamable HTTP.

The MCP server is built at the first request, as importing the SDK takes a second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from muisti.engine import Muisti
from muisti.surfaces.mcp.vault import LazyVault, TenantVault

if TYPE_CHECKING:
    from mcp.server import MCPServer

PATH = "/mcp"


class McpEndpoint:
    """An ASGI application. It is stateless, so that clients survive a restart of the server.

    Access control and limits are the middleware's around it.
    """

    def __init__(self, memory: Muisti | None) -> None:
        """Memory: None for the vault of each request's tenant."""
        self._vault = (
            TenantVault() if memory is None else LazyVault(lambda: memory, owns_memory=False)
        )
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._app: ASGIApp | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        async with self._lock:
            app = self._app or await self._start()
        await app(scope, receive, send)

    async def _start(self) -> ASGIApp:
        server, app = await asyncio.to_thread(_build, self._vault)
        started = asyncio.Event()

        async def run() -> None:
            # In one task: the session manager must be exited by the task that entered it.
            async with server.session_manager.run():
                started.set()
                await self._stop.wait()

        self._running = asyncio.create_task(run())
        await started.wait()
        self._app = app
        return app

    async def close(self) -> None:
        """Stop the MCP server; may be called twice. The caller closes the memory."""
        self._stop.set()
        if self._running is not None:
            await self._running
            self._running = None
        await self._vault.close()


def _build(vault: LazyVault) -> tuple[MCPServer, ASGIApp]:
    from mcp.server.transport_security import TransportSecuritySettings

    from muisti.surfaces.mcp.server import build_server

    server = build_server(vault)
    # AccessMiddleware has checked Host and Origin already.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server, server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=security
    )
