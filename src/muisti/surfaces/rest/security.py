"""Access control (contract K3): ASGI middleware around the application.

From the outside in: `SecurityHeadersMiddleware` adds protective headers to every response and
renders unexpected errors as problems; `AccessMiddleware` checks Host, Origin and the token;
`RateLimitMiddleware` limits writes. The limits on bodies are in `body_limit.py`.
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

from muisti.surfaces.access import CALLER, READING_POSTS, SAFE_METHODS
from muisti.surfaces.http_headers import protective_headers
from muisti.surfaces.rest.body_limit import drain_body, send_problem
from muisti.surfaces.rest.config import (
    LOOPBACK_NAMES,
    WILDCARDS,
    ServerConfig,
    canonical_origin,
    is_address,
    parse_host,
)
from muisti.surfaces.rest.denied_page import accepts_html, render_denied_page
from muisti.surfaces.rest.problems import HttpProblem, Problem, render_problem

log = logging.getLogger("muisti")
OPEN_PATHS = ("/health",)
"""Need no token: they only show that the server is running."""
MCP_HEADERS = "Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
"""Sent to /mcp by an agent in a web page."""
PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": f"Authorization, Content-Type, If-Match, {MCP_HEADERS}",
    "Access-Control-Max-Age": "600",
    "Vary": "Origin",
}
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS = protective_headers(CONTENT_POLICY, "no-referrer")


class SecurityHeadersMiddleware:
    """Adds protective headers; logs unexpected errors and renders them as problems."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_started = False

        async def send_protected(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, send_protected)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if has_started:
                raise
            problem = Problem(
                type="urn:muisti:internal-error",
                title="Internal server error",
                status=500,
                detail="an unexpected error occurred; see the server's log",
            )
            response = render_problem(problem, {"Connection": "close"})
            await response(scope, receive, send_protected)


class AccessMiddleware:
    """Checks Host, Origin and the token."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app = app
        self._config = config
        own = () if config.host in WILDCARDS else (config.host.lower(),)
        self._hosts = {*LOOPBACK_NAMES, *own, *(name.lower() for name in config.allowed_hosts)}
        self._key = secrets.token_bytes(32)
        # Browsers share cookies between the ports of a machine.
        self._cookie_name = f"muisti-{config.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            origin = self._check_origin(scope, headers)
            if origin is not None and scope["method"] == "OPTIONS":
                allowed = {"Access-Control-Allow-Origin": origin, **PREFLIGHT_HEADERS}
                await Response(status_code=204, headers=allowed)(scope, receive, send)
                return
            signed_in = self._check_token(scope, headers)
        except HttpProblem as error:
            if is_api(scope) or not accepts_html(headers):
                await send_problem(scope, receive, send, error.problem, error.headers)
                return
            denied = {**(error.headers or {}), **await drain_body(scope, receive)}
            await render_denied_page(error, self._config, denied)(scope, receive, send)
            return
        if signed_in is not None:
            await signed_in(scope, receive, send)
        else:
            await self.app(scope, receive, send if origin is None else _add_cors(send, origin))

    def _check_host(self, headers: Headers) -> None:
        """Raise HttpProblem for a name that is not ours: it may be DNS rebinding."""
        name = parse_host(headers.get("host", ""))
        is_any_address = self._config.host in WILDCARDS and name is not None and is_address(name)
        if name not in self._hosts and not is_any_address:
            detail = "this is not a name of this server; start it with --allow-host NAME to use it"
            raise HttpProblem(421, "wrong-host", "Unknown host name", detail)

    def _check_origin(self, scope: Scope, headers: Headers) -> str | None:
        """Return the allowed other site that sends this; None for our own page and for programs.

        Raises HttpProblem for every other site.
        """
        detail = "requests from other sites need the server option --allow-origin URL"
        denied = HttpProblem(403, "wrong-origin", "Origin not allowed", detail)
        given = headers.getlist("origin")
        if not given:
            is_navigation = (
                headers.get("sec-fetch-mode") == "navigate"
                and scope["method"] == "GET"
                and not is_api(scope)
            )
            site = headers.get("sec-fetch-site", "none")
            if site not in ("none", "same-origin") and not is_navigation:
                raise denied
            return None
        origin = canonical_origin(given[0].lower()) if len(given) == 1 else None
        if origin is None:
            raise denied
        host = headers["host"].lower()
        if origin in (canonical_origin(f"http://{host}"), canonical_origin(f"https://{host}")):
            return None
        if origin not in self._config.allowed_origins:
            raise denied
        return origin

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Return None, or the response that signs in a browser that sent the token in its URL.

        Raises HttpProblem if the token is missing or wrong.
        """
        token = self._config.token
        if token is None or scope["path"] in OPEN_PATHS:
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(given.strip(), token):
            return None
        # Stands for the token in a browser, until the server stops.
        cookie = hmac.new(self._key, token.encode(), hashlib.sha256).hexdigest()
        given_cookie = get_cookie(headers, self._cookie_name)
        if given_cookie is not None and _equal(given_cookie, cookie):
            return None
        in_url, target = take_token(scope)
        if in_url is not None and _equal(in_url, token):
            return sign_in(target, self._cookie_name, cookie)
        detail = "send the server's token as `Authorization: Bearer …`"
        title = "Token missing or wrong"
        raise HttpProblem(401, "wrong-token", title, detail, {"WWW-Authenticate": "Bearer"})


def take_token(scope: Scope) -> tuple[str | None, str]:
    """Return the token in a page's URL, or None, and the URL without it, which a history keeps."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    given = query.pop("token", [None])[0]
    target = "/" + scope["path"].lstrip("/\\")
    rest = urlencode(query, doseq=True)
    is_page = scope["method"] == "GET" and not is_api(scope)
    return (given if is_page else None), f"{target}?{rest}" if rest else target


def sign_in(target: str, name: str, cookie: str) -> Response:
    """Return the response that gives a browser a cookie instead of the token in its URL."""
    response = RedirectResponse(target, 303)
    response.set_cookie(name, cookie, httponly=True, samesite="strict", path="/")
    return response


def get_cookie(headers: Headers, name: str) -> str | None:
    """Return the value of a cookie, or None."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def is_api(scope: Scope) -> bool:
    """Return whether a program sends this, not a browser."""
    return str(scope["path"]).startswith(("/api", "/mcp", "/metrics", "/openapi.json"))


def _equal(given: str, expected: str) -> bool:
    """Compare secrets in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def _add_cors(send: Send, origin: str) -> Send:
    """Return a `send` that lets pages of this origin read the response."""

    async def send_with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "ETag, Location, Retry-After"
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
            headers.add_vary_header("Origin")
        await send(message)

    return send_with_cors


class RateLimitMiddleware:
    """Limits the writes of each client with a token bucket.

    A client of a tenant is known by its token, as all may come through one proxy; others are known
    by their address.
    """

    MAX_CLIENTS = 1024

    def __init__(
        self, app: ASGIApp, config: ServerConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        self._rate, self._burst, self._clock = config.write_rate, float(config.write_burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        is_write = (
            scope["type"] == "http"
            and scope["method"] not in SAFE_METHODS
            and scope["path"] not in READING_POSTS
        )
        if is_write and self._rate > 0 and not self._take_token(scope):
            problem = Problem(
                type="urn:muisti:too-many-changes",
                title="Too many writes",
                status=429,
                detail=f"the limit is {self._rate:g} writes per second; "
                "slow down, or use /api/memories/batch",
            )
            retry = {"Retry-After": str(max(1, round(1 / self._rate)))}
            await send_problem(scope, receive, send, problem, retry)
            return
        await self.app(scope, receive, send)

    def _take_token(self, scope: Scope) -> bool:
        """Take one token from the client's bucket; False if it is empty."""
        caller = CALLER.get()
        address = str((scope.get("client") or ("", 0))[0])
        client = address if caller is None else f"token {caller.access.token}"
        now = self._clock()
        left, refilled_at = self._buckets.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - refilled_at) * self._rate)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > self.MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return left >= 1
