"""Limits on request bodies: JSON only, not too large, not too slow.

The bytes that arrive are counted; Content-Length is only a hint.
"""

from __future__ import annotations

import asyncio
import email.message
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.problems import HttpProblem, Problem, render_problem

CLOSE = {"Connection": "close"}
FORM = "application/x-www-form-urlencoded"
"""Sent by HTML forms. Not accepted at /api and /mcp, where another site could send it unasked."""
DRAIN_BYTES = 65_536
"""A refused body up to this size is read anyway: a client still sending would miss the response."""
DRAIN_SECONDS = 5.0


async def send_problem(
    scope: Scope,
    receive: Receive,
    send: Send,
    problem: Problem,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Respond with a problem before the application has seen the request."""
    connection = await drain_body(scope, receive)
    response = render_problem(problem, {**(headers or {}), **connection})
    await response(scope, receive, send)


async def drain_body(scope: Scope, receive: Receive) -> Mapping[str, str]:
    """Read and drop a small body. Return `Connection: close` for one that is large or slow."""
    headers = Headers(scope=scope)
    length = _content_length(headers)
    if "transfer-encoding" in headers or length is None or length > DRAIN_BYTES:
        return CLOSE
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        return CLOSE
    return {}


class BodyLimitMiddleware:
    """Refuses bodies that are not JSON, too large or too slow."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app = app
        self._limit, self._seconds = config.body_limit, config.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        length = _content_length(headers)
        has_body = "transfer-encoding" in headers or length != 0
        try:
            if has_body:
                message = email.message.Message()
                message["content-type"] = headers.get("content-type", "")
                kind = message.get_content_type() if "content-type" in headers else ""
                is_form = kind == FORM and not scope["path"].startswith(("/api/", "/mcp"))
                if kind != "application/json" and not is_form:
                    detail = "send the body as JSON, with `Content-Type: application/json`"
                    title = "Request body must be JSON"
                    accepted = {"Accept": "application/json"}
                    raise HttpProblem(415, "not-json", title, detail, accepted)
            if length is None or length > self._limit:
                raise self._too_large()
        except HttpProblem as error:
            await send_problem(scope, receive, send, error.problem, error.headers)
            return
        await self.app(scope, self._limit_body(receive) if has_body else receive, send)

    def _too_large(self) -> HttpProblem:
        detail = f"the limit is {self._limit} bytes; split the request"
        return HttpProblem(413, "too-large", "Request body too large", detail, CLOSE)

    def _limit_body(self, receive: Receive) -> Receive:
        """Return a `receive` that raises HttpProblem once the body is too large or too slow."""
        received = 0
        is_complete = False
        deadline = asyncio.get_running_loop().time() + self._seconds

        async def receive_limited() -> Message:
            nonlocal received, is_complete
            if is_complete:
                return await receive()  # can only say that the client has disconnected
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                detail = f"the whole body must arrive within {self._seconds:g} seconds"
                title = "Request body too slow"
                raise HttpProblem(408, "too-slow", title, detail, CLOSE) from None
            received += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if received > self._limit:
                raise self._too_large()
            return message

        return receive_limited


def _content_length(headers: Headers) -> int | None:
    """Return the declared length, 0 without one, or None if the header is not a number."""
    length = headers.get("content-length", "0")
    return int(length[:20]) if length.isascii() and length.isdigit() else None
