"""What the body of a request may be: JSON, not too large, and not too slow. Counted on the bytes that really come."""

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
"""What the forms of a page send; not to /api and /mcp, where a page of another origin could send it unasked."""


DRAIN_BYTES = 65_536
"""Bytes of a refused body that are read all the same: else the client, still sending, would miss the answer."""
DRAIN_SECONDS = 5.0


async def send_problem(
    scope: Scope,
    receive: Receive,
    send: Send,
    problem: Problem,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Answer with a problem before the application has seen the request."""
    await render_problem(problem, {**(headers or {}), **await drain_body(scope, receive)})(
        scope, receive, send
    )


async def drain_body(scope: Scope, receive: Receive) -> Mapping[str, str]:
    """Read what there is of a small body, and nothing of a large one; the headers with which the connection can go on."""
    return {} if await _drain(Headers(scope=scope), receive) else CLOSE


async def _drain(headers: Headers, receive: Receive) -> bool:
    length = headers.get("content-length", "0")
    if (
        "transfer-encoding" in headers
        or not length.isascii()
        or not length.isdigit()
        or int(length[:20]) > DRAIN_BYTES
    ):
        return False
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        return False
    return True


class BodyLimitMiddleware:
    """Lets a body through, piece by piece, as long as it keeps to the limits."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app = app
        self._limit, self._seconds = config.body_limit, config.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        has_body = "transfer-encoding" in headers or length.strip("0") != ""
        try:
            if has_body:
                _check_type(headers, str(scope["path"]))
            if not length.isascii() or not length.isdigit() or int(length[:20]) > self._limit:
                raise self._too_large()
        except HttpProblem as refused:
            await send_problem(scope, receive, send, refused.problem, refused.headers)
            return
        await self.app(scope, self._counted(receive) if has_body else receive, send)

    def _too_large(self) -> HttpProblem:
        detail = f"a request may have {self._limit} bytes; send it in parts"
        return HttpProblem(413, "too-large", "The body is too large", detail, CLOSE)

    def _counted(self, receive: Receive) -> Receive:
        taken = 0
        whole = False
        end = asyncio.get_running_loop().time() + self._seconds

        async def counted() -> Message:
            nonlocal taken, whole
            if whole:
                return await receive()  # only that the client has gone can follow
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                detail = f"the body has to be there within {self._seconds:g} seconds"
                raise HttpProblem(
                    408, "too-slow", "The body took too long", detail, CLOSE
                ) from None
            taken += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if taken > self._limit:
                raise self._too_large()
            return message

        return counted


def _check_type(headers: Headers, path: str) -> None:
    message = email.message.Message()
    message["content-type"] = headers.get("content-type", "")
    kind = message.get_content_type() if "content-type" in headers else ""
    if kind == "application/json" or (kind == FORM and not path.startswith(("/api/", "/mcp"))):
        return
    detail = "send the body as JSON, with `Content-Type: application/json`"
    raise HttpProblem(
        415, "not-json", "The body must be JSON", detail, {"Accept": "application/json"}
    )
