"""Only the page's own forms change anything, and all text is escaped (contract K3)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from muisti import Muisti
from muisti.surfaces.web import create_router
from muisti.surfaces.web.csrf import COOKIE, parse_form
from muisti.surfaces.web.markdown import render_markdown
from muisti.surfaces.web.static import asset_url
from tests.web.conftest import ADDRESS, Browser, Filled, Parsed
from tests.web.test_pages import PAGES

DATA = Path("/work/shared/data")
OURS = {
    "htmx.min.js",
    "app.js",
    "cytoscape.min.js",
    "graph.js",
    "uPlot.iife.min.js",
    "stats.js",
    "review.js",
}
TAGS = set(
    """html head meta title link script body a img header nav ul ol li svg use span p kbd main h1 h2 h3 h4 h5 h6 form label div
    input select option noscript button details summary table thead tbody tr th td section mark code article textarea fieldset
    legend dl dt dd meter time strong em pre blockquote hr br figure figcaption datalist caption progress s dialog aside""".split()
)
"""The tags that the templates and Markdown emit. Other tags would come from a memory."""


# -- Headers and forms


@pytest.mark.parametrize("path", [*PAGES, "/memory/unknown", "/graph/data", "/static/x/app.css"])
def test_K3_every_answer_is_protected(empty: Browser, path: str) -> None:
    headers = empty.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-store", "no-cache")


def test_K3_the_cookie_is_for_this_page_alone(empty: Browser) -> None:
    cookie = empty.client.get("/").headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert "set-cookie" not in empty.client.get("/").headers


def test_K3_every_change_is_guarded(empty: Browser) -> None:
    router = create_router(empty.memory)
    changing = [route for route in _routes(router) if (route.methods or set()) - {"GET", "HEAD"}]
    assert len(changing) >= 13
    for route in changing:
        assert any(one.call is parse_form for one in route.dependant.dependencies), route.path


def _routes(router: object) -> list[APIRoute]:
    """Return all routes, also of nested routers, which newer versions of FastAPI keep apart."""
    found: list[APIRoute] = []
    for route in getattr(router, "routes", []):
        inner = getattr(route, "original_router", None) or getattr(route, "router", None)
        if isinstance(route, APIRoute):
            found.append(route)
        elif inner is not None:
            found += _routes(inner)
    return found


FORGED = [
    ({"Origin": "http://evil.example"}, True),
    ({"Origin": "null"}, True),
    ({"Origin": "http://127.0.0.1:9999"}, True),
    ({"Origin": "http://127.0.0.1:8765.evil.example"}, True),
    ({"Origin": "file://127.0.0.1:8765"}, True),
    ({"Sec-Fetch-Site": "cross-site"}, True),
    ({"Sec-Fetch-Site": "same-site"}, True),
    ({"Origin": ADDRESS}, False),
]


@pytest.mark.parametrize(("headers", "with_token"), FORGED)
def test_K3_forged_requests_are_refused(
    filled: Filled, headers: dict[str, str], with_token: bool
) -> None:
    token = filled.token()
    answer = filled.client.post(
        f"/memory/{filled.decision.id}/delete",
        data={"csrf": token} if with_token else {"csrf": ""},
        headers=headers,
        follow_redirects=False,
    )
    assert answer.status_code == 403
    assert "nothing was changed" in answer.text
    assert filled.memory.get(filled.decision.id) is not None


@pytest.mark.parametrize("cookie", ["", "mine", "mine.0000", "é.x", "." * 50])
def test_K3_a_forged_token_is_refused(filled: Filled, cookie: str) -> None:
    client = TestClient(filled.client.app, base_url=ADDRESS)
    headers = {"Origin": ADDRESS, "Cookie": f"{COOKIE}={cookie}".encode()}
    answer = client.post(
        "/core", data={"csrf": cookie, "section": "user", "key": "a", "value": "b"}, headers=headers
    )
    assert answer.status_code == 403
    assert filled.memory.core_get().user == {"name": "Maija"}


def test_K3_only_forms_of_a_bounded_length_are_read(filled: Filled) -> None:
    token = filled.token()
    headers = {"Origin": ADDRESS, "Content-Type": "application/json"}
    assert (
        filled.client.post("/new", content=json.dumps({"csrf": token}), headers=headers).status_code
        == 415
    )
    form = {"Origin": ADDRESS, "Content-Type": "application/x-www-form-urlencoded"}
    endless = (b"csrf=" if n == 0 else b"x" * 65_536 for n in range(100))
    assert filled.client.post("/new", content=endless, headers=form).status_code == 413
    assert filled.client.post("/new", content=b"csrf=%ff%fe", headers=form).status_code == 400
    assert (
        filled.client.post(
            "/new", content="&".join(f"a{n}=1" for n in range(500)), headers=form
        ).status_code
        == 400
    )


def test_K3_a_link_cannot_inject_a_message(empty: Browser) -> None:
    assert "Your vault is infected" not in empty.client.get("/?flash=Your+vault+is+infected").text
    assert 'class="flash"' not in empty.client.get("/?flash=nonsense").text


# -- Static files


def test_K3_static_files_are_kept_by_browsers_and_none_but_ours_are_served(empty: Browser) -> None:
    fresh = empty.client.get(asset_url("app.css"))
    assert fresh.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert fresh.headers["content-type"].startswith("text/css")
    for name in (
        "../pages.py",
        "..%2fpages.py",
        "%2e%2e/pages.py",
        "/etc/passwd",
        "vendor/../../pages.py",
        "",
    ):
        assert empty.client.get(f"/static/x/{name}").status_code == 404


def test_J5_everything_is_here_and_nothing_is_inline(filled: Filled) -> None:
    for path in (*PAGES, f"/memory/{filled.decision.id}", f"/memory/{filled.decision.id}/edit"):
        page = filled.get(path)
        _is_harmless(page, path)
        for tag, attributes in page.tags:
            for name in ("src", "href"):
                if tag in ("script", "img", "link", "use") and name in attributes:
                    assert filled.client.get(attributes[name]).status_code == 200, attributes


def test_J5_what_others_wrote_is_what_was_fetched() -> None:
    script = Path(__file__).parents[2] / "scripts" / "vendor.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


# -- Escaping


def _is_harmless(page: Parsed, where: str) -> None:
    for tag, attributes in page.tags:
        assert tag in TAGS, (where, tag)
        assert not [
            name
            for name in attributes
            if name.startswith("on") or name in ("style", "srcdoc", "formaction")
        ], (
            where,
            tag,
            attributes,
        )
        assert not [name for name in attributes if name.startswith("hx-on")], (
            where,
            tag,
            attributes,
        )
        if tag == "script":
            assert attributes["src"].startswith("/static/"), (where, attributes)
            assert attributes["src"].rpartition("/")[2] in OURS, (where, attributes)
        if tag == "img":
            assert attributes["src"].startswith("/static/"), (where, attributes)
        for name in ("href", "src", "action", "hx-get", "hx-post"):
            if name in attributes:
                assert re.match(
                    r"(?:https?://|mailto:|/(?!/)|#)", attributes[name], re.IGNORECASE
                ), (where, tag, attributes)


def _examples(name: str) -> list[str]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: copy it from the place where the shared data are")
    found = json.loads(path.read_text())
    return [one if isinstance(one, str) else one["markdown"] for one in found]


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:x) ![b](javascript:alert(1)) <javascript:alert(1)>",
    "[a](&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A&#x61)",
    "![x](https://evil.example/pixel.gif)",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<div hx-on:click='alert(1)' hx-get='//evil'>x</div>",
    "```<script>\nx\n```",
    "{{ 7 * 7 }} {% raw %}",
    "<!-- <script> -->",
    "javascript:alert(1)",
    "[r]: javascript:alert(1)\n\n[r]",
    # raw HTML: blocks, inline, comments, declarations, instructions, CDATA, unclosed
    "<div\n id=a\n onclick=alert(1)\n>\n\ntext\n\n</div>",
    "a <b onmouseover='alert(1)' / > b <c/><d e='f\n'>",
    "<style>*{background:url(//evil.example)}</style><link rel=stylesheet href=//evil.example>",
    "<?php alert(1) ?> <!DOCTYPE x [<!ENTITY y 'z'>]> <![CDATA[<script>alert(1)</script>]]>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe><object data=javascript:alert(1)><embed src=javascript:alert(1)>",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<form action=javascript:alert(1)><button formaction=javascript:alert(1) autofocus onfocus=alert(1)>x</button>",
    "<math><mi xlink:href=javascript:alert(1)>x</mi></math><svg><a xlink:href=javascript:alert(1)><text>x</text></a></svg>",
    "<details open ontoggle=alert(1)><summary>x</summary></details><video><source onerror=alert(1)></video>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><img src=x onerror=alert(1)>--> <!-- --!><script>alert(1)</script>",
    # links, images and addresses that try to break out of their quotes
    "[x](<javascript:alert(1)>) [x](java\tscript:alert(1)) [x]( javascript:alert(1) 'title')",
    '[x](http://a.example/"onmouseover="alert(1)) [x](http://a.example \'a"onclick=alert(1) b\')',
    "[x](//evil.example) [x](/\\evil.example) [x](\\\\evil.example) [x](#a) [x](?a) [x]()",
    '![x"onerror=alert(1)](http://evil.example/x.png "t") [![x](javascript:alert(1))](javascript:alert(1))',
    '<http://a.example/"onclick=alert(1)> <DATA:text/html,alert(1)> <mailto:a@b.example?subject="onclick=alert(1)>',
    "[r]: <data:text/html;base64,PHNjcmlwdD4=> 'a\"b'\n\n[r] ![r][r] [R][]",
    # code, tables, headings and lists with HTML in them
    '``` "onclick=alert(1)\n</code></pre><script>alert(1)</script>\n```',
    "`</code><script>alert(1)</script>` ~~~<script>~~~",
    '| <script>alert(1)</script> | [x](javascript:alert(1)) |\n|---|:-:|\n| "onclick=alert(1) | `<b>` |',
    "# <script>alert(1)</script>\n\n<h1 onclick=alert(1)>\n===\n\n- <img src=x onerror=alert(1)>\n\n> <svg onload=alert(1)>",
    # confusable characters
    "\u202e<script>alert(1)</script>\u2066 \ufeff<scr\u00adipt>alert(1)</scr\u00adipt>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62; &#x3c;img src=x onerror=alert(1)&#x3e;",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e %3Cscript%3Ealert(1)%3C/script%3E \\x3cscript\\x3e",
]


def _saved(memory: Muisti, texts: list[str]) -> list[str]:
    """Save each text as content and, if valid, as the title and a keyword; return the IDs."""
    drafts = [_draft(number, text) for number, text in enumerate(texts)]
    ids = []
    for at in range(0, len(drafts), 50):
        try:
            ids += [one.id for one in memory.save_batch(drafts[at : at + 50])]
        except ValueError:  # one of them cannot be a title
            ids += [_saved_somehow(memory, one) for one in drafts[at : at + 50]]
    return [one for one in ids if one]


def _draft(number: int, text: str) -> dict[str, Any]:
    title = " ".join(text.split())[:200]
    named = {"title": title, "keywords": [title]} if title else {}
    return {"content": f"{text}\n\nNumber {number}", **named}


def _saved_somehow(memory: Muisti, draft: dict[str, Any]) -> str:
    for options in (draft, {"content": draft["content"]}):
        with suppress(ValueError):
            return memory.save_batch([options])[0].id
    return ""


def _check(filled: Filled, texts: list[str], every: int) -> None:
    """Check all texts in every list, and some on the pages of one memory."""
    ids = _saved(filled.memory, texts)
    assert len(ids) > 0.8 * len(texts)
    for page in ("/?n=100", "/timeline", "/stats", "/status", "/graph", "/trash", "/merged"):
        _is_harmless(filled.get(page), page)
    for offset in range(0, len(ids), 50):
        _is_harmless(filled.get(f"/timeline?offset={offset}"), f"/timeline {offset}")
    for memory_id in ids[::every]:
        for rest in ("", "/edit", "/history", "/related", "/erase"):
            _is_harmless(filled.get(f"/memory/{memory_id}{rest}"), f"{memory_id}{rest}")


def test_K3_hostile_texts_stay_texts_on_every_page(filled: Filled) -> None:
    memory = filled.memory
    ids = _saved(memory, HOSTILE)
    for one, two in pairwise(ids):
        memory.link(one, two, "RELATED_TO")
    memory.update(ids[0], content=f"{HOSTILE[1]} changed")
    for memory_id in ids[-3:]:
        memory.delete(memory_id)
    for number, text in enumerate(HOSTILE):
        memory.append_message("telegram_1", "user", text)
        memory.core_update("user", f"key{number}<b>", text)
        memory.end_session(memory.start_session(session_id=f"s{number}").id, text)
        _is_harmless(filled.get(f"/session?id=s{number}"), text)
    for query in ("script", "alert", "javascript"):
        _is_harmless(filled.get(f"/?q={query}&n=100"), query)
        _is_harmless(filled.get(f"/?q={query}", part=True), query)
        _is_harmless(filled.get(f"/conversation?name=telegram_1&q={query}"), query)
        _is_harmless(filled.get(f"/memory/{ids[1]}/pick?q={query}", part=True), query)
    for path in (
        "/core",
        "/sessions",
        "/conversations",
        "/conversation?name=telegram_1",
        "/trash",
        "/graph",
        "/timeline",
        "/status",
    ):
        _is_harmless(filled.get(path), path)
    for memory_id in ids[:-3]:
        for rest in ("", "/edit", "/history", "/related", "/erase"):
            _is_harmless(filled.get(f"/memory/{memory_id}{rest}"), rest)
    for found in memory.search("alert", source="message", limit=50):
        answer = filled.client.get("/entry", params={"id": found.memory.id})
        _is_harmless(Parsed(answer.text), "/entry")


@pytest.mark.parametrize("text", HOSTILE)
def test_K3_hostile_questions_names_and_fields(filled: Filled, text: str) -> None:
    for path, parameter in (
        ("/", "q"),
        ("/", "project"),
        ("/", "kind"),
        ("/", "source"),
        ("/timeline", "kind"),
        ("/conversation", "name"),
        ("/entry", "id"),
        ("/sessions", "project"),
        ("/sessions", "user"),
        ("/sessions", "state"),
        ("/session", "id"),
        ("/graph", "around"),
        ("/new", "replaces"),
    ):
        answer = filled.client.get(path, params={parameter: text})
        assert answer.status_code in (200, 404, 422)
        _is_harmless(Parsed(answer.text), f"{path} {parameter}")
    for fields in (
        {
            "content": text,
            "kind": text,
            "title": text,
            "project": text,
            "importance": text,
            "keywords": text,
        },
    ):
        _is_harmless(Parsed(filled.send("/new", fields).text), "form")
    answer = filled.send("/core", {"section": text, "key": text, "value": text})
    _is_harmless(Parsed(answer.text), "core")


@pytest.mark.exhaustive
def test_K3_naughty_strings_on_every_page(filled: Filled) -> None:
    _check(filled, _examples("blns.json"), every=12)


@pytest.mark.exhaustive
def test_K3_commonmark_on_every_page(filled: Filled) -> None:
    _check(filled, _examples("commonmark.json"), every=20)


def test_K3_no_markdown_makes_anything_but_its_own_tags() -> None:
    for text in [*_examples("commonmark.json"), *_examples("blns.json"), *HOSTILE]:
        page = Parsed(render_markdown(text))
        _is_harmless(page, text)
        for link in page.all("a"):
            assert link["rel"] == "noopener noreferrer nofollow"
            assert "href" not in link or unescape(link["href"]).lower().startswith(
                ("http://", "https://", "mailto:")
            ), text


def test_K3_a_naughty_question_is_answered(filled: Filled) -> None:
    for text in _examples("blns.json")[::5]:
        answer = filled.client.get("/", params={"q": text}, headers={"HX-Request": "true"})
        assert answer.status_code == 200, text
        _is_harmless(Parsed(answer.text), text)


def test_J5_a_very_long_text_is_shown_as_it_is() -> None:
    assert render_markdown("*" * 300_000).startswith('<pre class="plain">')
