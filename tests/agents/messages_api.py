"""A Messages API on loopback that says what a test wrote down: real HTTP, real server-sent events,
no model, no key.

with serving() as api:
    api.script = [calls("mcp__muisti__memory_search", query="dog"), says("Your dog is Musti.")]
    …run a program with ANTHROPIC_BASE_URL=api.url…
    api.asked[0].texts()      # what the program sent first
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

Block = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """One reply of the model."""

    blocks: tuple[Block, ...]
    stop_reason: str = "end_turn"


def says(text: str) -> Turn:
    return Turn(({"type": "text", "text": text},))


def calls(tool: str, **arguments: Any) -> Turn:
    """The model wants a tool to be run. The id tells which call it is."""
    return Turn(({"type": "tool_use", "id": "", "name": tool, "input": arguments},), "tool_use")


@dataclass(frozen=True)
class Asked:
    """One request for a reply."""

    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["messages"]
        return found

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def system(self) -> str:
        return "\n".join(_texts(self.body.get("system", "")))

    def texts(self) -> str:
        """All that is said in the messages, results of tools included."""
        return "\n".join(text for message in self.messages for text in _texts(message["content"]))

    def results(self) -> list[tuple[str, bool]]:
        """What the tools answered, in their order, and whether as an error."""
        blocks = [
            block
            for message in self.messages
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [
            ("\n".join(_texts(block.get("content", ""))), bool(block.get("is_error")))
            for block in blocks
            if block["type"] == "tool_result"
        ]


def _texts(content: str | list[Block]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for block in content:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_result":
            yield from _texts(block.get("content", ""))


Script = Turn | Callable[[Asked], Turn]


@dataclass
class Record:
    """Everything that was asked, in order."""

    asked: list[Asked] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    """Requests that are none for a reply: `METHOD /path`, `CONNECT host:port`."""


class MessagesApi(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Script] = []
        """What is said next, one turn a request that brings tools, or made of that request; after
        the last: `Done.`
        """
        self.aside = "A title"
        """The reply to requests without tools, as programs send them for a title or a summary of
        their own.
        """
        self.record = Record()
        self.threads: dict[str, dict[str, Any]] = {}
        """By the id of a reply: the request that it answers, with the reply behind its messages."""
        self.guard = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def asked(self) -> list[Asked]:
        """The requests of the conversation itself: those that bring tools."""
        return [one for one in self.record.asked if one.tools]

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that ends hangs up in the middle; that is no fault of ours."""

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        """The message that answers a request. One that goes on with a thread sends only what is
        new.
        """
        with self.guard:
            thread = body.get("thread") or {}
            if thread.get("type") == "continue":
                before = self.threads[thread["previous_message_id"]]
                body = {**before, **body, "messages": [*before["messages"], *body["messages"]]}
            asked = Asked(body)
            self.record.asked.append(asked)
            message = _message(self._turn(asked), body, len(self.record.asked))
            said = {"role": "assistant", "content": message["content"]}
            self.threads[message["id"]] = {**body, "messages": [*body["messages"], said]}
            return message

    def _turn(self, asked: Asked) -> Turn:
        if not asked.tools:
            return says(self.aside)
        turn = self.script.pop(0) if self.script else says("Done.")
        return turn if isinstance(turn, Turn) else turn(asked)


class Handler(BaseHTTPRequestHandler):
    server: MessagesApi
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._note()
        self._answer(
            404,
            {
                "type": "error",
                "error": {"type": "not_found_error", "message": "there is nothing here"},
            },
        )

    def do_CONNECT(self) -> None:
        """A program that takes this for its proxy wants to speak with somebody else: noted, and
        refused.
        """
        self._note()
        self.send_error(403)

    def do_HEAD(self) -> None:
        self._note()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.split("?", maxsplit=1)[0]
        if path == "/v1/messages/count_tokens":
            self._note()
            self._answer(200, {"input_tokens": len(json.dumps(body)) // 4})
        elif path == "/v1/messages":
            message = self.server.reply(body)
            if body.get("stream"):
                self._stream(message)
            else:
                self._answer(200, message)
        else:
            self.do_GET()

    def _note(self) -> None:
        with self.server.guard:
            self.server.record.other.append(f"{self.command} {self.path}")

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in _events(message):
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def _message(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    blocks = [
        {**block, "id": f"toolu_{number:04}_{n}"} if "id" in block else block
        for n, block in enumerate(turn.blocks)
    ]
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": blocks,
        "stop_reason": turn.stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message in the pieces in which the API streams it."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def _block_events(index: int, block: Block) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start, delta = (
            {**block, "input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
        )
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


@contextmanager
def serving() -> Iterator[MessagesApi]:
    server = MessagesApi()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
