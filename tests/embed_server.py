"""A small embedding server that speaks Ollama's and OpenAI's language, and misbehaves when told to.

Its vectors are those of the hashing embedder, so that what comes out of a client can be compared.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

from muisti.models.embedders.hashing import HashingEmbedder

DIMENSIONS = 64
Script = Callable[["Handler", list[str]], None]


class EmbedServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hasher = HashingEmbedder(DIMENSIONS)
        self.script: list[Script] = []
        """What the next requests get, one each; after the last, all goes well again."""
        self.requests: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.lock = Lock()
        self.released = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: EmbedServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.headers.append(dict(self.headers))
            self.server.paths.append(self.path)
            step = self.server.script.pop(0) if self.server.script else good
        step(self, body["input"])

    def answer(self, text: str, status: int = 200, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def rows(self, texts: list[str]) -> list[list[float]]:
        return [
            [float(value) for value in row] for row in self.server.hasher.embed_documents(texts)
        ]

    def vectors(self, rows: list[object]) -> None:
        if self.path.endswith("/embeddings"):
            data = [
                {"object": "embedding", "index": at, "embedding": row}
                for at, row in enumerate(rows)
            ]
            self.answer(json.dumps({"object": "list", "data": data[::-1]}))
        else:
            self.answer(json.dumps({"model": "x", "embeddings": rows}))


def good(handler: Handler, texts: list[str]) -> None:
    handler.vectors(list(handler.rows(texts)))


def slow(handler: Handler, texts: list[str]) -> None:
    handler.server.released.wait(20)


def dripping(handler: Handler, texts: list[str]) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    while not handler.server.released.is_set():
        handler.wfile.write(b" ")
        time.sleep(0.02)


def broken_off(handler: Handler, texts: list[str]) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"embeddings": [[0.1,')
    handler.close_connection = True


def endless(handler: Handler, texts: list[str]) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    handler.close_connection = True
    while not handler.server.released.is_set():
        handler.wfile.write(b"[" * 65536)


def saying(text: str, status: int = 200, **headers: str) -> Script:
    return lambda handler, texts: handler.answer(text, status, **headers)


def changed(change: Callable[[list[list[float]]], object]) -> Script:
    """The right vectors, after something was done to them."""
    return lambda handler, texts: handler.vectors(change(handler.rows(texts)))  # type: ignore[arg-type]


@contextmanager
def serving() -> Iterator[EmbedServer]:
    server = EmbedServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
