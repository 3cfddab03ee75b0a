"""A page for a person in a browser who is not let in: what is wrong, and what to do. Programs are told as a problem.

It has neither style nor script, for those are behind the same door, and nothing in it is secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response

from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.problems import HttpProblem

_TOKEN = (
    "Open <code>/?token=…</code> at this address, with the token of this server instead of the dots. You have to do that once: "
    "until the server ends, this browser is known. The token is what the server was started with, by <code>--token-file</code>, "
    "<code>--token</code> or <code>MUISTI_TOKEN</code>; <code>muisti serve --open</code> opens the page with it."
)
_HOST = (
    'On the machine where the server runs, open <a href="{url}">{url}</a>. If it is to be called by the name that you used, '
    "start it with <code>--allow-host NAME</code>."
)
_ORIGIN = 'A page of another site sent you here, or sent a form. Open the page of the memory itself: <a href="/">to the search</a>.'
_CURES = {"wrong-token": _TOKEN, "wrong-host": _HOST, "wrong-origin": _ORIGIN}


def accepts_html(headers: Headers) -> bool:
    """Whether it is a person who opens an address or sends a form, and no program or script."""
    return (
        "text/html" in headers.get("accept", "").lower()
        and headers.get("sec-fetch-mode", "navigate") == "navigate"
    )


def render_denied_page(
    refused: HttpProblem, config: ServerConfig, headers: Mapping[str, str]
) -> Response:
    """The page, with the same status and headers as the problem."""
    problem = refused.problem
    cure = _CURES[problem.type.removeprefix("urn:muisti:")].format(url=escape(config.base_url))
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(problem.title)}</title></head>'
        f"<body><main><h1>{escape(problem.title)}</h1><p>{cure}</p></main></body></html>"
    )
    return HTMLResponse(text, problem.status, dict(headers))
