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
from muisti.surfaces.web.csrf import HEADERS, hand_out, token_of
from muisti.surfaces.web.highlight import marked, plainly
from muisti.surfaces.web.markdown import rendered
from muisti.surfaces.web.static import asset
from muisti.surfaces.web.times import shown_day, shown_time, spoken

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


def href(memory: Memory | str) -> str:
    """The address of a memory; messages and documents, whose ids are longer, have another page."""
    memory_id = memory if isinstance(memory, str) else memory.id
    return (
        f"/memory/{memory_id}"
        if _SIMPLE_ID.match(memory_id)
        else f"/entry?{urlencode({'id': memory_id})}"
    )


def hue(name: str) -> str:
    """The class that gives a kind its colour."""
    return f"hue-{crc32(name.encode()) % 12}"


def when(at: datetime | None, *, exact: bool = False) -> Markup:
    """A time in words, and exactly for programs and on hover."""
    if at is None:
        return Markup("never")
    words = shown_time(at) if exact else spoken(at, datetime.now(at.tzinfo))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        at.isoformat(), shown_time(at), words
    )


def is_fragment(request: Request) -> bool:
    """Whether a part of a page was asked for, to be put into it."""
    return (
        request.headers.get("hx-request") == "true"
        and "hx-history-restore-request" not in request.headers
    )


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
    return RedirectResponse(
        f"{path}{'&' if '?' in path else '?'}said={quote(said)}" if said else path, 303
    )


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose errors are sentences on a page, and whose answers carry the headers that protect them."""

    def get_route_handler(self) -> Handler:
        """The route's own work, and what comes of its errors."""
        work = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await work(request)
            except errors.MuistiError as error:
                response = _failed(request, error)
            except HTTPException as error:
                headline = _HEADLINES.get(error.status_code, "That did not work")
                response = _sorry(request, error.status_code, headline, str(error.detail))
            except RequestValidationError:
                detail = (
                    "the address has a part that is missing or is no number; go back and try again"
                )
                response = _sorry(
                    request, errors.InvalidRequest.status, errors.InvalidRequest.title, detail
                )
            except Exception:
                log.exception("the page %s could not be made", request.url.path)
                detail = "something went wrong that should not; the log of the server tells more"
                response = _sorry(request, 500, "That did not work", detail)
            response.headers.update(HEADERS)
            response.headers.setdefault("Cache-Control", "no-store")
            response.headers["Vary"] = "HX-Request, Cookie"
            return response

        return handle


_HEADLINES = {403: "Not from here", 404: errors.NotFound.title, 413: "Too long"}
"""Of what the page itself refuses; errors of the memory have titles of their own."""


def _failed(request: Request, error: errors.MuistiError) -> HTMLResponse:
    """Return the page of an error: its status, title and next step are those of every other surface."""
    if not isinstance(error, errors.VaultNotFound) or is_fragment(request):
        return _sorry(request, error.status, error.title, str(error), error.next_step)
    query = f"?{request.url.query}" if request.url.query else ""
    path = "/" + request.url.path.lstrip("/\\")  # two slashes would lead to another machine
    again = f"{path}{query}" if request.method == "GET" else "/"
    return show(
        request,
        "gone.html",
        error.status,
        headline=error.title,
        sentence=sentence(error),
        again=again,
    )


def _sorry(
    request: Request, status: int, headline: str, detail: str, step: str = ""
) -> HTMLResponse:
    template = "parts/sorry.html" if is_fragment(request) else "sorry.html"
    return show(request, template, status, headline=headline, sentence=sentence(detail), step=step)


def sentence(said: errors.MuistiError | str) -> str:
    """Return a message as a sentence: messages begin with a small letter and end without a full stop."""
    text = str(said)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        markdown=rendered, when=when, day=shown_day, href=href, hue=hue, share=lambda x: f"{x:.2f}"
    )
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
