"""Protection against forged requests: only the page's own forms change anything (contract K3).

Every change is a POST whose `csrf` field repeats a cookie. The value is signed with a secret of
this process, so that another program on the same host, which may set cookies, cannot forge one.
The browser must also report this site as the origin of the request.
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
_OTHER_FIELDS_BYTES = 65_536
"""Allowed for the fields of a form other than the text."""


class Form(dict[str, str]):
    """The submitted fields of a form. A missing field reads as empty."""

    def text(self, name: str) -> str:
        """Return a field with LF line ends; browsers send CRLF."""
        return self.get(name, "").replace("\r\n", "\n")

    def line(self, name: str) -> str:
        """Return a field without surrounding white space."""
        return self.text(name).strip()

    def is_checked(self, name: str) -> bool:
        """Return whether a checkbox is checked."""
        return self.get(name, "") == "yes"


def get_token(request: Request) -> str:
    """Return the browser's token, or a new one if it has no valid token."""
    token = request.cookies.get(COOKIE, "")
    return token if _is_valid(token) else _sign(secrets.token_urlsafe(24))


def set_token_cookie(response: Response, request: Request, token: str) -> None:
    """Set the token as a cookie, unless the browser has it already."""
    if request.cookies.get(COOKIE) != token:
        response.set_cookie(
            COOKIE,
            token,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )


async def parse_form(request: Request) -> Form:
    """Return the fields of a form of this page. Raises HTTPException for any other request."""
    _check_origin(request)
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/x-www-form-urlencoded":
        raise HTTPException(415, "this address accepts only forms of the page; programs use /api")
    settings = request.state.page_context.memory.settings
    limit = 3 * settings.max_content_bytes + _OTHER_FIELDS_BYTES  # encoded, a byte may take three
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise HTTPException(413, f"the form is longer than {limit} bytes; nothing was changed")
    try:
        fields = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=100, errors="strict"
        )
    except ValueError as error:
        detail = "the form is not valid UTF-8 or has too many fields; nothing was changed"
        raise HTTPException(400, detail) from error
    form = Form(fields)
    given, cookie = form.get("csrf", ""), request.cookies.get(COOKIE, "")
    if not _is_valid(cookie) or not hmac.compare_digest(given.encode(), cookie.encode()):
        detail = (
            "this form has expired; nothing was changed. Go back, reload the page and resend it"
        )
        raise HTTPException(403, detail)
    return form


PostedForm = Annotated[Form, Depends(parse_form)]
CSRF_CHECK = [Depends(parse_form)]
"""For a route that needs the check but no field of the form."""


def _check_origin(request: Request) -> None:
    """Raise HTTPException if the browser reports another site as the origin, or hides it."""
    origin = request.headers.get("origin")
    if origin is None:
        allowed = request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    else:
        parts = urlsplit(origin)
        allowed = parts.scheme in ("http", "https") and parts.netloc == request.headers.get("host")
    if not allowed:
        raise HTTPException(403, "this request comes from another site; nothing was changed")


def _sign(value: str) -> str:
    return f"{value}.{hmac.new(_SECRET, value.encode(), hashlib.sha256).hexdigest()}"


def _is_valid(token: str) -> bool:
    value, _, _ = token.rpartition(".")
    return bool(value) and hmac.compare_digest(_sign(value).encode(), token.encode())
