"""The HTML page for a browser that is denied access; programs get a problem document.

It has no style or script, which need the same access, and contains no secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response

from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.problems import HttpProblem

_TOKEN = (
    "Open <code>/?token=…</code> at this address, with the server's token in place of the dots. "
    "The browser is then signed in until the server stops. The token was set with "
    "<code>--token-file</code>, <code>--token</code> or <code>MUISTI_TOKEN</code> when the server "
    "was started; <code>muisti serve --open</code> opens the page with it."
)
_HOST = (
    'On the machine that runs the server, open <a href="{url}">{url}</a>. To use the name that you '
    "entered, start the server with <code>--allow-host NAME</code>."
)
_ORIGIN = (
    "You came from another site, or it submitted a form. "
    'Open the page directly: <a href="/">search</a>.'
)
_TENANT = (
    "Open <code>/?token=…</code> at this address, with your token in place of the dots. The "
    "browser is then signed in until the server stops."
)
_ADVICE = {
    "token-refused": _TENANT,
    "wrong-token": _TOKEN,
    "wrong-host": _HOST,
    "wrong-origin": _ORIGIN,
}


def accepts_html(headers: Headers) -> bool:
    """Whether a browser opens a page or submits a form, rather than a script sending a request."""
    return (
        "text/html" in headers.get("accept", "").lower()
        and headers.get("sec-fetch-mode", "navigate") == "navigate"
    )


def render_denied_page(
    error: HttpProblem, config: ServerConfig, headers: Mapping[str, str]
) -> Response:
    """Return the page, with the same status and headers as the problem document."""
    problem = error.problem
    title = escape(problem.title)
    name = problem.type.removeprefix("urn:muisti:")
    advice = _ADVICE.get(name, "")
    advice = advice.format(url=escape(config.base_url)) or escape(problem.detail)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"><title>{title}</title></head>'
        f"<body><main><h1>{title}</h1><p>{advice}</p></main></body></html>"
    )
    return HTMLResponse(text, problem.status, dict(headers))
