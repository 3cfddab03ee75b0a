"""The server for the agent that started it, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from mcp.server import MCPServer

from muisti.surfaces.mcp.server import build_server
from muisti.surfaces.mcp.vault import LazyVault


def run(vault: LazyVault, *, project: str, user: str | None, read_only: bool) -> None:
    """Serve until standard input closes or a signal arrives. Saved memories are on disk by then."""
    server = build_server(vault, project=project, user=user, read_only=read_only)
    asyncio.run(_serve(server, vault))


async def _serve(server: MCPServer, vault: LazyVault) -> None:
    serving = asyncio.ensure_future(server.run_stdio_async())
    stop = asyncio.Event()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    waiting = asyncio.ensure_future(stop.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    await vault.close()
    if not serving.done():
        # A thread of the SDK reads standard input and would wait for a line that never comes.
        os._exit(0)
    waiting.cancel()
    serving.result()
