"""The server for one agent that started it, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from mcp.server import MCPServer

from muisti.surfaces.mcp.server import build_server
from muisti.surfaces.mcp.vault import LazyVault


def run(vault: LazyVault, *, project: str, read_only: bool) -> None:
    """Serve until standard input is closed, or somebody ends the process. What was saved is on the disk by then."""
    asyncio.run(_serve(build_server(vault, project=project, read_only=read_only), vault))


async def _serve(server: MCPServer, vault: LazyVault) -> None:
    serving = asyncio.ensure_future(server.run_stdio_async())
    told = asyncio.Event()
    if sys.platform != "win32":
        for sign in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(sign, told.set)
    waiting = asyncio.ensure_future(told.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    await vault.close()
    if not serving.done():
        os._exit(
            0
        )  # a thread of the SDK reads standard input, and would wait for a line that never comes
    waiting.cancel()
    serving.result()
