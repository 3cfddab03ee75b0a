"""A small server with a language model that says what it is told to, in OpenAI's, Anthropic's and
Ollama's language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

Script = Callable[["Handler"], None]


class ChatServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = '{"memories": []}'
        """What the model says when all goes well."""
        self.script: list[Script] = []
        """What the next requests get, one each; after the last, all goes well again."""
        self.requests: list[dict[str, Any]] = []
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
    server: ChatServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.headers.append(
                {name.lower(): value for name, value in self.headers.items()}
            )
            self.server.paths.append(self.path)
            step = self.server.script.pop(0) if self.server.script else good
        step(self)

    def answer(self, text: str, status: int = 200, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)


def enveloped(path: str, said: object) -> dict[str, object]:
    """A model's words as the server behind this path sends them."""
    if path.endswith("/messages"):
        return {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": said}],
            "stop_reason": "end_turn",
        }
    message = {"role": "assistant", "content": said}
    if path.endswith("/chat/completions"):
        return {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
    return {"model": "m", "message": message, "done": True}


def good(handler: Handler) -> None:
    handler.answer(json.dumps(enveloped(handler.path, handler.server.reply)))


def said(text: object) -> Script:
    return lambda handler: handler.answer(json.dumps(enveloped(handler.path, text)))


def saying(text: str, status: int = 200, **headers: str) -> Script:
    return lambda handler: handler.answer(text, status, **headers)


def silent(handler: Handler) -> None:
    handler.server.released.wait(20)


def broken_off(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.close_connection = True


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    handler.close_connection = True
    while not handler.server.released.is_set():
        handler.wfile.write(b" " * 65536)


@contextmanager
def serving() -> Iterator[ChatServer]:
    server = ChatServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
