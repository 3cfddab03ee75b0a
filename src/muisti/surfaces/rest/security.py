"""Who may ask (contract K3): pure ASGI layers around the application, each with one question.

From the outside in: `Cover` puts safe headers on every answer and tells what nobody expected as a problem; `Doors` asks by
which name the server is called, which web page asks, and for the token; `Pace` how many changes a client makes.
What a body may be is in `bodies.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muisti.surfaces.http_headers import protective_headers
from muisti.surfaces.rest.body_limit import drain_body, send_problem
from muisti.surfaces.rest.config import (
    LOOPBACK_NAMES,
    WILDCARDS,
    ServerConfig,
    canonical_origin,
    host_name,
    is_address,
)
from muisti.surfaces.rest.denied_page import accepts_html, render_denied_page
from muisti.surfaces.rest.problems import HttpProblem, Problem, render_problem

log = logging.getLogger("muisti")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
OPEN_PATHS = ("/health",)
"""These need no token: they tell nothing but that the server lives."""
READING_POSTS = ("/api/search", "/api/search/details", "/api/context", "/api/extract/preview")
"""These change nothing, however they are sent."""
MCP_HEADERS = "Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
"""Headers that an agent in a web page sends to /mcp."""
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = protective_headers(CONTENT_POLICY, "no-referrer")


class SecurityHeadersMiddleware:
    """Safe headers on every answer; an error that nobody expected becomes a problem, and is logged."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def covered(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, covered)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if begun:
                raise
            detail = "something that nobody expected; the server's log tells more"
            problem = Problem(
                type="urn:muisti:internal-error",
                title="A mistake of the server",
                status=500,
                detail=detail,
            )
            await render_problem(problem, {"Connection": "close"})(scope, receive, covered)


class AccessMiddleware:
    """By which name, for which page, with which token."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app = app
        self._config = config
        own = () if config.host in WILDCARDS else (config.host.lower(),)
        self._hosts = {*LOOPBACK_NAMES, *own, *(name.lower() for name in config.allowed_hosts)}
        self._key = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            origin = self._checked_origin(scope, headers)
            if origin is not None and scope["method"] == "OPTIONS":
                await _preflight_response(origin)(scope, receive, send)
                return
            letting_in = self._check_token(scope, headers)
        except HttpProblem as refused:
            await self._turn_away(scope, receive, send, refused)
            return
        if letting_in is not None:
            await letting_in(scope, receive, send)
        else:
            await self.app(
                scope, receive, _add_cors_headers(send, origin) if origin is not None else send
            )

    async def _turn_away(
        self, scope: Scope, receive: Receive, send: Send, refused: HttpProblem
    ) -> None:
        """A problem for programs; for a person in a browser a page that says what to do."""
        if _is_api(scope) or not accepts_html(Headers(scope=scope)):
            await send_problem(scope, receive, send, refused.problem, refused.headers)
            return
        headers = {**(refused.headers or {}), **await drain_body(scope, receive)}
        await render_denied_page(refused, self._config, headers)(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        """A name that a stranger's name server made to mean this machine is none of ours (DNS rebinding)."""
        name = host_name(headers.get("host", ""))
        anywhere = self._config.host in WILDCARDS and name is not None and is_address(name)
        if name not in self._hosts and not anywhere:
            detail = "the server is not called by this name; start it with --allow-host NAME if it should be"
            raise HttpProblem(421, "wrong-host", "Not the name of this server", detail)

    def _checked_origin(self, scope: Scope, headers: Headers) -> str | None:
        """The other page that asks and may; None for our own and for programs. Raises Refused."""
        given = headers.getlist("origin")
        origin = canonical_origin(given[0].lower()) if len(given) == 1 else None
        if given and origin is None:
            self._refuse_page()
        if origin is None:
            site = headers.get("sec-fetch-site", "none")
            navigating = (
                headers.get("sec-fetch-mode") == "navigate"
                and scope["method"] == "GET"
                and not _is_api(scope)
            )
            if site not in ("none", "same-origin") and not navigating:
                self._refuse_page()
            return None
        if origin in {
            canonical_origin(f"{scheme}://{headers['host'].lower()}")
            for scheme in ("http", "https")
        }:
            return None
        if origin not in self._config.allowed_origins:
            self._refuse_page()
        return origin

    @staticmethod
    def _refuse_page() -> None:
        detail = "a web page of another origin asks; start the server with --allow-origin if it may"
        raise HttpProblem(403, "wrong-origin", "Not for this page", detail)

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Nothing, or what lets a browser in that came with the token in its address. Raises Refused."""
        token = self._config.token
        if token is None or scope["path"] in OPEN_PATHS:
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(given.strip(), token):
            return None
        if _equal(_read_cookie(headers, self._cookie_name), self._ticket(token)):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if (
            scope["method"] == "GET"
            and not _is_api(scope)
            and _equal(query.pop("token", [""])[0], token)
        ):
            return self._letting_in(scope["path"], query, token)
        detail = "send the token of this server as `Authorization: Bearer …`"
        raise HttpProblem(
            401,
            "wrong-token",
            "The token is missing or wrong",
            detail,
            {"WWW-Authenticate": "Bearer"},
        )

    @property
    def _cookie_name(self) -> str:
        return (
            f"muisti-{self._config.port}"  # browsers share cookies between the ports of a machine
        )

    def _ticket(self, token: str) -> str:
        """Stands for the token in a browser, until the server ends."""
        return hmac.new(self._key, token.encode(), hashlib.sha256).hexdigest()

    def _letting_in(self, path: str, query: dict[str, list[str]], token: str) -> Response:
        """The same page without the token in its address, where a history would keep it."""
        rest = urlencode(query, doseq=True)
        target = "/" + path.lstrip("/\\")
        response = RedirectResponse(f"{target}?{rest}" if rest else target, 303)
        response.set_cookie(
            self._cookie_name, self._ticket(token), httponly=True, samesite="strict", path="/"
        )
        return response


def _is_api(scope: Scope) -> bool:
    return str(scope["path"]).startswith(("/api", "/mcp", "/metrics", "/openapi.json"))


def _equal(given: str, wanted: str) -> bool:
    """Takes as long for a token that is nearly right as for one that is not."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _read_cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def _preflight_response(origin: str) -> Response:
    allowed = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers": f"Authorization, Content-Type, If-Match, {MCP_HEADERS}",
        "Access-Control-Max-Age": "600",
        "Vary": "Origin",
    }
    return Response(status_code=204, headers=allowed)


def _add_cors_headers(send: Send, origin: str) -> Send:
    """Answers that the browser shows to a page of this origin."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "ETag, Location, Retry-After"
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
            headers.add_vary_header("Origin")
        await send(message)

    return told


class RateLimitMiddleware:
    """How many changes a client may make: a bucket of tokens that fills up again."""

    MOST_CLIENTS = 1024

    def __init__(
        self, app: ASGIApp, config: ServerConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        self._rate, self._burst, self._clock = config.write_rate, float(config.write_burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and self._rate > 0 and _changes(scope) and not self._take(scope):
            headers = {"Retry-After": str(max(1, round(1 / self._rate)))}
            detail = (
                f"more than {self._rate:g} changes a second; slow down, or use /api/memories/batch"
            )
            problem = Problem(
                type="urn:muisti:too-many-changes",
                title="Too many changes",
                status=429,
                detail=detail,
            )
            await send_problem(scope, receive, send, problem, headers)
            return
        await self.app(scope, receive, send)

    def _take(self, scope: Scope) -> bool:
        client = str((scope.get("client") or ("", 0))[0])
        now = self._clock()
        left, at = self._buckets.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > self.MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return left >= 1


def _changes(scope: Scope) -> bool:
    return scope["method"] not in SAFE_METHODS and scope["path"] not in READING_POSTS
