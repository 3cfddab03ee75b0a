"""Who may change something: only a form that this page made, sent by this page (contract K3).

Every change is a POST whose `csrf` field repeats a cookie. The value is signed with a secret of this process, so that
another program on the same address, which may set cookies for it, cannot make one up; and the browser must say that the
request comes from here.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, HTTPException, Request, Response

from muisti.surfaces.http_headers import protective_headers

COOKIE = "muisti_csrf"
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# With `no-referrer` browsers send `Origin: null` with forms.
HEADERS = protective_headers(POLICY, "same-origin")
_SECRET = secrets.token_bytes(32)
_ROOM = 65_536
"""Bytes of a form beside the text in it."""


class Form(dict[str, str]):
    """What somebody filled in. A field that is missing is empty."""

    def text(self, name: str) -> str:
        """One field with the line ends that files have; browsers send others."""
        return self.get(name, "").replace("\r\n", "\n")

    def line(self, name: str) -> str:
        """One field without space around it."""
        return self.text(name).strip()

    def ticked(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.get(name, "") == "yes"


def token_of(request: Request) -> str:
    """The token of this browser, or a new one."""
    here = request.cookies.get(COOKIE, "")
    return here if _is_ours(here) else _signed(secrets.token_urlsafe(24))


def hand_out(response: Response, request: Request, token: str) -> None:
    """Give the browser its token, unless it has it."""
    if request.cookies.get(COOKIE) != token:
        response.set_cookie(
            COOKIE,
            token,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )


async def posted(request: Request) -> Form:
    """The fields of a form that this page made. Raises HTTPException otherwise."""
    _check_origin(request)
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/x-www-form-urlencoded"
    ):
        raise HTTPException(415, "this address takes forms of the page; programs use /api")
    most = 3 * request.state.desk.memory.settings.max_content_bytes + _ROOM
    body = await _body(request, most)
    try:
        form = Form(
            parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100, errors="strict")
        )
    except ValueError as error:
        raise HTTPException(
            400, "the form cannot be read: it is not UTF-8, or has too many fields"
        ) from error
    given, cookie = form.get("csrf", ""), request.cookies.get(COOKIE, "")
    if not _is_ours(cookie) or not hmac.compare_digest(given.encode(), cookie.encode()):
        raise HTTPException(
            403,
            "this form is out of date, and nothing was changed; go back, reload the page and send it again",
        )
    return form


Posted = Annotated[Form, Depends(posted)]
GUARDED = [Depends(posted)]
"""For a route that needs nothing of the form but to know that it is ours."""


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413, f"the form is longer than {most} bytes; nothing was changed")
    return bytes(body)


def _check_origin(request: Request) -> None:
    """A browser names where a form came from; a request that hides it does not come from this page."""
    origin = request.headers.get("origin")
    if origin is None:
        allowed = request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    else:
        parts = urlsplit(origin)
        allowed = parts.scheme in ("http", "https") and parts.netloc == request.headers.get("host")
    if not allowed:
        raise HTTPException(403, "this request comes from another site, and nothing was changed")


def _signed(value: str) -> str:
    return f"{value}.{hmac.new(_SECRET, value.encode(), hashlib.sha256).hexdigest()}"


def _is_ours(token: str) -> bool:
    value, _, _ = token.rpartition(".")
    return bool(value) and hmac.compare_digest(_signed(value).encode(), token.encode())
