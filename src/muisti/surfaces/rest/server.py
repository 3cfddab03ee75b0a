"""Run the application with uvicorn, in one process."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig

if TYPE_CHECKING:
    from muisti.bootstrap_tenants import TenantVaults

SHUTDOWN_SECONDS = 5
"""Seconds that running requests have to finish when the server stops."""
KEEP_ALIVE_SECONDS = 15
BACKLOG = 256
ARENAS = 2
"""Heaps of glibc's allocator."""
_M_ARENA_MAX = -8
SWITCH_INTERVAL = 0.001
"""Seconds after which a busy thread yields. The thread that holds the vault's lock has to get the
interpreter back after every file operation."""


def make_protocol(seconds: float) -> type[H11Protocol]:
    """Return a protocol that disconnects clients whose headers are too slow (slow loris)."""

    class HeaderTimeoutProtocol(H11Protocol):
        """One connection."""

        timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._update_timer()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._update_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            self._cancel_timer()
            super().connection_lost(exc)

        def _update_timer(self) -> None:
            """Run the timer until the headers are complete; a further byte does not restart it."""
            if self.conn.their_state is not h11.IDLE:
                self._cancel_timer()
            elif self.timer is None:
                self.timer = self.loop.call_later(seconds, self._close_if_idle)

        def _cancel_timer(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def _close_if_idle(self) -> None:
            self.timer = None
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.close()

    return HeaderTimeoutProtocol


class Server(uvicorn.Server):
    """Stops on a signal and returns to the caller, which still has to close the vault."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on Ctrl+C or SIGTERM. A second signal does not wait for running requests."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close event streams first, which would never end by themselves."""
        self._app.state.events.close()
        if self._app.state.tenants is not None:
            self._app.state.tenants.stop()
        if self._app.state.mcp is not None:
            await self._app.state.mcp.close()
        await super().shutdown(sockets)


def make_server(
    memory: Muisti | TenantVaults, config: ServerConfig
) -> tuple[Server, socket.socket, ServerConfig]:
    """Return a server, its listening socket, and the configuration with the actual port.

    Raises MuistiError if it cannot listen there.
    """
    listening = _listen(config)
    config = replace(config, port=listening.getsockname()[1])
    app = create_app(memory, config)
    options: dict[str, Any] = {
        "http": make_protocol(config.header_seconds),
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
        "limit_concurrency": config.connections,
    }
    return Server(uvicorn.Config(app, **options), app), listening, config


def serve(
    memory: Muisti | TenantVaults,
    config: ServerConfig,
    on_ready: Callable[[ServerConfig], None] | None = None,
) -> None:
    """Serve until a signal stops the server. On_ready is called with the actual configuration."""
    server, listening, config = make_server(memory, config)
    sys.setswitchinterval(SWITCH_INTERVAL)
    _limit_arenas()
    memory.warm_up()
    if on_ready is not None:
        on_ready(config)
    server.run(sockets=[listening])


def _limit_arenas() -> None:
    """Let all threads share a few heaps. With one each, a server keeps 25 MB more that are free."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # musl has no such option, and needs none
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def _listen(config: ServerConfig) -> socket.socket:
    """Return a listening socket.

    IPPROTO_TCP is named explicitly: without it asyncio does not set TCP_NODELAY, and every response
    waits for the client's delayed ACK (40 ms).
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            config.host or "0.0.0.0", config.port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
        except OSError:
            listening.close()
            raise
        return listening
    except OSError as error:
        raise MuistiError(
            f"cannot listen on {config.host}:{config.port} ({error.strerror}); try another --port"
        ) from error
