"""From values to HTML: the templates, what they may call, and pages for what goes wrong."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine
from datetime import datetime
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
from muisti.model import Memory
from muisti.surfaces.web.guard import HEADERS, hand_out, token_of
from muisti.surfaces.web.highlight import marked, plainly
from muisti.surfaces.web.markdown import rendered
from muisti.surfaces.web.moments import shown_day, shown_time, spoken
from muisti.surfaces.web.static import asset

log = logging.getLogger("muisti")
_SIMPLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")
SAID = {
    "saved": "Saved.",
    "remembered": "Remembered.",
    "merged": "A memory said this already. It was strengthened instead of saving the same twice.",
    "deleted": "Moved to the trash.",
    "erased": "Erased. No byte of it is left.",
    "restored": "Brought back.",
    "linked": "Linked.",
    "unlinked": "The link was taken back.",
    "superseded": "It is noted that another memory took its place.",
    "reinforced": "Strengthened.",
    "weakened": "Weakened.",
    "unmerged": "Taken apart again.",
    "core": "Core memory is up to date.",
    "synced": "Looked for changes made by hand.",
}
"""What a page says after a change. Only the key stands in the address, so that nobody can put words in its mouth."""
_STATUS: tuple[tuple[type[errors.MuistiError], int], ...] = (
    (errors.InvalidMemory, 422),
    (errors.InvalidRequest, 422),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.VaultNotFound, 503),
    (errors.VaultFull, 507),
    (errors.VaultReadOnly, 503),
    (errors.VaultBusy, 503),
    (errors.IndexBusy, 503),
    (errors.EmbedderProblem, 503),
)


def status_of(error: errors.MuistiError) -> int:
    """The HTTP status that tells what kind of error it is."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def href(memory: Memory | str) -> str:
    """The address of a memory; messages and documents, whose ids are longer, have another page."""
    memory_id = memory if isinstance(memory, str) else memory.id
    return f"/memory/{memory_id}" if _SIMPLE_ID.match(memory_id) else f"/entry?{urlencode({'id': memory_id})}"


def hue(name: str) -> str:
    """The class that gives a kind its colour."""
    return f"hue-{crc32(name.encode()) % 12}"


def when(at: datetime | None, *, exact: bool = False) -> Markup:
    """A time in words, and exactly for programs and on hover."""
    if at is None:
        return Markup("never")
    words = shown_time(at) if exact else spoken(at, datetime.now(at.tzinfo))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), shown_time(at), words)


def is_fragment(request: Request) -> bool:
    """Whether a part of a page was asked for, to be put into it."""
    return request.headers.get("hx-request") == "true" and "hx-history-restore-request" not in request.headers


def show(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """A page, or the part of one that the template is."""
    token = token_of(request)
    said = SAID.get(request.query_params.get("said", ""), "")
    desk = getattr(request.state, "desk", None)
    live = desk is not None and desk.changes is not None
    html = _ENVIRONMENT.get_template(template).render(
        {"csrf": token, "said": said, "here": request.url.path, "live": live, **values}
    )
    response = HTMLResponse(html, status)
    hand_out(response, request, token)
    return response


def go(path: str, said: str = "") -> RedirectResponse:
    """On to another page, which says what was done."""
    return RedirectResponse(f"{path}{'&' if '?' in path else '?'}said={quote(said)}" if said else path, 303)


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose errors are sentences on a page, and whose answers carry the headers that protect them."""

    def get_route_handler(self) -> Handler:
        """The route's own work, and what comes of its errors."""
        work = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await work(request)
            except errors.VaultNotFound as error:
                response = _gone(request, str(error))
            except errors.MuistiError as error:
                response = _sorry(request, status_of(error), str(error))
            except HTTPException as error:
                response = _sorry(request, error.status_code, str(error.detail))
            except RequestValidationError:
                response = _sorry(request, 422, "the address has a part that is missing or is no number; go back and try again")
            except Exception:
                log.exception("the page %s could not be made", request.url.path)
                response = _sorry(request, 500, "something went wrong that should not; the log of the server tells more")
            response.headers.update(HEADERS)
            response.headers.setdefault("Cache-Control", "no-store")
            response.headers["Vary"] = "HX-Request, Cookie"
            return response

        return handle


_HEADLINES = {
    403: "Not from here",
    404: "Not found",
    409: "Changed meanwhile",
    413: "Too long",
    422: "Not accepted",
    503: "Not now",
    507: "The disk is full",
}


def _sorry(request: Request, status: int, sentence: str) -> HTMLResponse:
    sentence = sentence[:1].upper() + sentence[1:]
    template = "parts/sorry.html" if is_fragment(request) else "sorry.html"
    return show(request, template, status, headline=_HEADLINES.get(status, "That did not work"), sentence=sentence)


def _gone(request: Request, sentence: str) -> HTMLResponse:
    if is_fragment(request):
        return _sorry(request, 503, f"{sentence}: mount its disk, or bring the folder back; nothing is lost here")
    query = f"?{request.url.query}" if request.url.query else ""
    path = "/" + request.url.path.lstrip("/\\")  # two slashes would lead to another machine
    again = f"{path}{query}" if request.method == "GET" else "/"
    return show(request, "gone.html", 503, sentence=sentence[:1].upper() + sentence[1:], again=again)


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(markdown=rendered, when=when, day=shown_day, href=href, hue=hue, share=lambda x: f"{x:.2f}")
    made.filters.update(bytes=_bytes, plainly=plainly, times=_times, moment=shown_time)
    made.globals.update(asset=asset, marked=marked, zip=zip)
    made.globals["m"] = made.get_template("macros.html").module  # every template uses these
    return made


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


_ENVIRONMENT = _environment()
