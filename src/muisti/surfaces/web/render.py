"""Rendering: templates, their filters, and pages for errors."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from zlib import crc32

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from muisti import errors
from muisti.model import KINDS, Memory
from muisti.model.validity import is_outdated
from muisti.surfaces.web.csrf import HEADERS, get_token, set_token_cookie
from muisti.surfaces.web.highlight import highlight, strip_markdown
from muisti.surfaces.web.markdown import render_markdown
from muisti.surfaces.web.static import asset_url
from muisti.surfaces.web.times import format_day, format_relative, format_time
from muisti.surfaces.web.titles import (
    complete_title,
    find_title_end,
    skip_title,
    skip_title_in_markdown,
)

log = logging.getLogger("muisti")
_HUES = {kind: number for number, kind in enumerate(KINDS)}
_SIMPLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
FLASHES = {
    "created": "Memory saved.",
    "saved": "Changes saved.",
    "merged": "Already known: the existing memory was reinforced instead.",
    "deleted": "Moved to the trash.",
    "erased": "Deleted permanently.",
    "restored": "Restored.",
    "linked": "Link added.",
    "unlinked": "Link removed.",
    "superseded": "Marked as outdated.",
    "reinforced": "Reinforced.",
    "deemphasized": "De-emphasized.",
    "unmerged": "Merge undone.",
    "confirmed": "Confirmed.",
    "edited": "Saved and confirmed.",
    "replaced": "Replaced; the old text is marked as outdated.",
    "link-confirmed": "Link confirmed.",
    "link-rejected": "Link rejected. Both memories stay.",
    "core": "Core memory updated.",
    "synced": "Files rescanned.",
}
"""Messages after a change. The address has only the key, so a link cannot inject a message."""


def memory_url(memory: Memory | str) -> str:
    """Return the address of a memory, or of a message or document, whose IDs are longer."""
    memory_id = memory if isinstance(memory, str) else memory.id
    if _SIMPLE_ID.match(memory_id):
        return f"/memory/{memory_id}"
    return f"/entry?{urlencode({'id': memory_id})}"


def hue_class(kind: str) -> str:
    """Return the CSS class with the colour of a kind; no two built-in kinds share one."""
    built_in = _HUES.get(kind)
    return f"hue-{crc32(kind.encode()) % len(_HUES) if built_in is None else built_in}"


def time_tag(at: datetime | None, *, exact: bool = False) -> Markup:
    """Return a `<time>` element: relative, or exact; hovering shows the exact time."""
    if at is None:
        return Markup("never")
    text = format_time(at) if exact else format_relative(at, datetime.now(at.tzinfo))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        at.isoformat(), format_time(at), text
    )


def is_fragment(request: Request) -> bool:
    """Return whether htmx asks for a part of a page."""
    return (
        request.headers.get("hx-request") == "true"
        and "hx-history-restore-request" not in request.headers
    )


def render(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page or a fragment, with the CSRF cookie."""
    token = get_token(request)
    context = getattr(request.state, "page_context", None)
    html = _ENVIRONMENT.get_template(template).render(
        csrf=token,
        flash=FLASHES.get(request.query_params.get("flash", ""), ""),
        path=request.url.path,
        count_review=context.review_counter.count if context is not None else lambda: 0,
        is_stranger=lambda: context is not None and not context.memory.is_trusted,
        auto_refresh=context is not None and context.get_revision is not None,
        **values,
    )
    response = HTMLResponse(html, status)
    set_token_cookie(response, request, token)
    return response


def redirect(path: str, flash: str = "") -> RedirectResponse:
    """Redirect to another page, which shows the flash message."""
    if flash:
        path += f"{'&' if '?' in path else '?'}flash={quote(flash)}"
    return RedirectResponse(path, 303)


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route that renders errors as pages and sets the security headers."""

    def get_route_handler(self) -> Handler:
        """Return the route's handler with error handling around it."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await handler(request)
            except errors.MuistiError as error:
                response = _render_muisti_error(request, error)
            except HTTPException as error:
                title = _TITLES.get(error.status_code, _DEFAULT_TITLE)
                response = _render_error(request, error.status_code, title, str(error.detail))
            except RequestValidationError:
                invalid = errors.InvalidRequest
                detail = "a part of the address is missing or is not a number"
                response = _render_error(request, invalid.status, invalid.title, detail)
            except Exception:
                log.exception("rendering the page %s failed", request.url.path)
                detail = "an unexpected error occurred; see the server log"
                response = _render_error(request, 500, _DEFAULT_TITLE, detail)
            response.headers.update(HEADERS)
            response.headers.setdefault("Cache-Control", "no-store")
            response.headers["Vary"] = "HX-Request, Cookie"
            return response

        return handle


_DEFAULT_TITLE = "Request failed"
_TITLES = {403: "Request refused", 404: errors.NotFound.title, 413: "Form too large"}
"""Titles of the page's own errors; a MuistiError has its own title."""


def _render_muisti_error(request: Request, error: errors.MuistiError) -> HTMLResponse:
    """Return the error page, with the status, title and next step that all surfaces share."""
    if not isinstance(error, errors.VaultNotFound) or is_fragment(request):
        return _render_error(request, error.status, error.title, str(error), error.next_step)
    query = f"?{request.url.query}" if request.url.query else ""
    path = "/" + request.url.path.lstrip("/\\")  # two slashes would lead to another host
    return render(
        request,
        "vault_not_found.html",
        error.status,
        title=error.title,
        message=to_sentence(error),
        retry_url=f"{path}{query}" if request.method == "GET" else "/",
    )


def _render_error(
    request: Request, status: int, title: str, detail: str, next_step: str = ""
) -> HTMLResponse:
    template = "parts/error.html" if is_fragment(request) else "error.html"
    return render(
        request, template, status, title=title, message=to_sentence(detail), next_step=next_step
    )


def to_sentence(message: errors.MuistiError | str) -> str:
    """Return a message with a capital letter and a full stop."""
    text = str(message)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def format_count(count: int, singular: str, plural: str = "") -> str:
    """Return `1 memory` or `1,234 memories`; the default plural adds an s."""
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"


def format_times(count: int) -> str:
    """Return `once` or `12 times`."""
    return "once" if count == 1 else f"{count:,} times"


def format_bytes(size: float) -> str:
    """Return a size like `12 kB`."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    markdown=render_markdown,
    strip_markdown=strip_markdown,
    full_title=complete_title,
    skip_title=skip_title,
    skip_title_in_markdown=skip_title_in_markdown,
    url=memory_url,
    hue_class=hue_class,
    time_tag=time_tag,
    time=format_time,
    day=format_day,
    count=format_count,
    times=format_times,
    bytes=format_bytes,
    decimal=lambda number: f"{number:.2f}",
    begins_with_title=lambda memory: (
        find_title_end(complete_title(memory), memory.content) is not None
    ),
    is_outdated=lambda memory: is_outdated(memory, datetime.now(UTC)),
)
_ENVIRONMENT.globals.update(asset_url=asset_url, highlight=highlight, zip=zip)
_ENVIRONMENT.globals["m"] = _ENVIRONMENT.get_template("macros.html").module
