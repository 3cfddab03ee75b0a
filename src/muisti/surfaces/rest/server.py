"""Runs the application: one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from muisti.engine import Muisti
from muisti.errors import MuistiError
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig

SHUTDOWN_SECONDS = 5
"""Seconds that requests have to end when the server is told to stop."""
KEEP_ALIVE_SECONDS = 15
BACKLOG = 256
SWITCH_INTERVAL = 0.001
"""Seconds after which a thread that computes lets others go on: whoever holds the vault waits for its turn at every file."""


def make_protocol(seconds: float) -> type[H11Protocol]:
    """HTTP that lets go of a client which does not get its headers out in time (slow loris)."""

    class Impatient(H11Protocol):
        """One connection."""

        waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._done()
            super().connection_lost(exc)

        def _wait(self) -> None:
            """The time runs while a request is begun and not there; it does not begin anew with every byte."""
            if self.conn.their_state is not h11.IDLE:
                self._done()
            elif self.waiting is None:
                self.waiting = self.loop.call_later(seconds, self._give_up)

        def _done(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
                self.waiting = None

        def _give_up(self) -> None:
            self.waiting = None
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.close()

    return Impatient


class Server(uvicorn.Server):
    """Ends when it is told to, and then lets whoever started it go on: the vault is still to be closed."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl+C, or a kind kill. The second one does not wait for requests that run."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Those who listen for events, and agents that do, would never end by themselves."""
        self._app.state.events.close()
        if self._app.state.mcp is not None:
            await self._app.state.mcp.close()
        await super().shutdown(sockets)


def make_server(memory: Muisti, config: ServerConfig) -> tuple[Server, socket.socket, ServerConfig]:
    """A server, the socket it listens at, and how it serves, with the port that it got. Raises MuistiError."""
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
    memory: Muisti, config: ServerConfig, on_ready: Callable[[ServerConfig], None] | None = None
) -> None:
    """Serve until told to stop."""
    server, listening, config = make_server(memory, config)
    sys.setswitchinterval(SWITCH_INTERVAL)
    memory.warm_up()
    if on_ready is not None:
        on_ready(config)
    server.run(sockets=[listening])


def _listen(config: ServerConfig) -> socket.socket:
    """TCP by name: else asyncio does not know that it is, and every answer waits for the client's delayed ACK (40 ms)."""
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
            f"cannot serve at {config.host}:{config.port} ({error.strerror}); try another --port"
        ) from error
