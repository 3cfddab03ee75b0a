"""The APIs of models that Codex, Gemini CLI and OpenCode use, on loopback: each request gets the
same short reply, as server-sent events. No model, no key.

with serving() as api:
    …run a program with api.url…
    api.asked[0]      # the text of the first request
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

SAID = "Noted, the heron is grey."
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


def respond() -> list[dict[str, Any]]:
    """Return the events of OpenAI's Responses API (Codex)."""
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": SAID, "annotations": []}],
    }
    done = {"id": "resp_1", "status": "completed", "output": [message], "usage": USAGE}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": done},
    ]


def generate() -> list[dict[str, Any]]:
    """Return the events of the Gemini API."""
    content = {"role": "model", "parts": [{"text": SAID}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage}]


def complete() -> list[dict[str, Any]]:
    """Return the events of the chat completions API (OpenCode)."""
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    delta = {"role": "assistant", "content": SAID}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
    ]


class ModelApis(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        """The bodies of the requests for a reply."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that ends hangs up in the middle."""


class Handler(BaseHTTPRequestHandler):
    server: ModelApis
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.answer(404, "application/json", b"{}")

    def do_CONNECT(self) -> None:
        """A program that takes this for its proxy wants to speak with somebody else."""
        self.send_error(403)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.split("?", maxsplit=1)[0]
        replies = {"/v1/responses": respond, "/v1/chat/completions": complete}
        reply = generate if "GenerateContent" in path else replies.get(path)
        if path.endswith(":generateContent"):
            self.server.asked.append(body.decode())
            self.answer(200, "application/json", json.dumps(generate()[0]).encode())
            return
        if reply is None:
            self.do_GET()
            return
        self.server.asked.append(body.decode())
        events = [f"event: {e['type']}\n" if "type" in e else "" for e in reply()]
        lines = [
            f"{name}data: {json.dumps(event)}\n\n"
            for name, event in zip(events, reply(), strict=True)
        ]
        end = "data: [DONE]\n\n" if reply is complete else ""
        self.answer(200, "text/event-stream", ("".join(lines) + end).encode())

    def answer(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving() -> Iterator[ModelApis]:
    """Serve the APIs until the block ends."""
    server = ModelApis()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
