"""No script in a memory or a name ever runs in a real Chromium, on any page (contract K3).

The texts are HOSTILE, CommonMark's examples and the Big List of Naughty Strings, if available. The
browser ignores the page's Content-Security-Policy, so that escaping alone has to stop scripts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from muisti import Muisti
from muisti.errors import MuistiError
from tests.web.browsing import Seen, Visit, chromium, needs_chromium, visit
from tests.web.test_csrf_and_escaping import DATA, HOSTILE
from tests.web.test_pages import PAGES

pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: `pip install playwright`"
)
pytestmark = [needs_chromium, pytest.mark.exhaustive]
__all__ = ["chromium", "visit"]
SPY = """
for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = (...all) => void ran(`${name} ${all}`);
addEventListener("securitypolicyviolation", (event) => ran(`forbidden: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
addEventListener("error", (event) => { if (event.target !== window) ran(`did not load: ${event.target.outerHTML}`.slice(0, 200)); }, true);
"""
"""Reports every script that runs and every resource that fails to load."""
FOUND = """() => {
  const bad = [];
  for (const one of document.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      const leads = ["href", "src", "action", "formaction", "data", "hx-get", "hx-post", "xlink:href"].includes(name);
      if (name.startsWith("on") || name.startsWith("hx-on") || name === "srcdoc" || (name === "style" && !one.closest("#graph, .plots, .uplot")))
        bad.push(`${one.tagName} ${name}=${value}`);
      if (leads && !/^(https?:|mailto:|\\/(?!\\/)|#)/i.test(value)) bad.push(`${one.tagName} ${name}=${value}`);
    }
    if (["SCRIPT", "IMG", "LINK"].includes(one.tagName) && !(one.getAttribute("src") ?? one.getAttribute("href")).startsWith("/static/"))
      bad.push(one.outerHTML);
    if (["IFRAME", "OBJECT", "EMBED", "BASE", "STYLE", "TEMPLATE", "VIDEO", "AUDIO", "MATH", "FRAME"].includes(one.tagName)) bad.push(one.outerHTML);
  }
  return bad;
}"""
"""Returns elements and attributes that no template emits."""
NAMES = [
    "<img src=x onerror=alert(1)>",
    "'\"><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}<script>alert(1)<",
    '" onfocus=alert(1) autofocus x="',
]
"""Used as names of projects, conversations, sessions, files and keys."""


def watched(visit: Visit, **options: Any) -> Seen:
    seen = visit(**options)
    seen.context.expose_binding("ran", lambda _, what: seen.wrong.append(str(what)))
    seen.context.add_init_script(SPY)
    seen.context.on("page", lambda page: seen.wrong.append(f"a window {page.url}"))
    seen.context.on(
        "request",
        lambda request: (
            seen.wrong.append(f"asked {request.url}") if not _is_here(seen, request.url) else None
        ),
    )
    seen.page.on(
        "framenavigated",
        lambda frame: (
            seen.wrong.append(f"went to {frame.url}") if not _is_here(seen, frame.url) else None
        ),
    )
    return seen


def _is_here(seen: Seen, url: str) -> bool:
    return url.startswith(f"{seen.address}/") or url == "about:blank"


def look(seen: Seen, path: str) -> None:
    """Open a page and check that all its text is escaped."""
    page = seen.settle(path)
    assert page.evaluate(FOUND) == [], path
    assert seen.wrong == [], path


def tried(keep: Callable[[], object]) -> bool:
    """Return whether the vault accepts it."""
    try:
        keep()
    except (MuistiError, OSError, ValueError):
        return False
    return True


def texts() -> list[str]:
    """Return all hostile texts that are available."""
    found = list(HOSTILE)
    for name in ("blns.json", "commonmark.json"):
        if (DATA / name).exists():
            found += [
                one if isinstance(one, str) else one["markdown"]
                for one in json.loads((DATA / name).read_text())
            ]
    return found


def save_all(memory: Muisti, some: Sequence[dict[str, Any]]) -> int:
    """Save all valid drafts and return how many. A batch is saved as a whole, so try halves."""
    if not some or (len(some) == 1 and not tried(lambda: memory.save_batch(some))):
        return 0
    if len(some) == 1 or tried(lambda: memory.save_batch(some)):
        return len(some)
    middle = len(some) // 2
    return save_all(memory, some[:middle]) + save_all(memory, some[middle:])


def line(text: str) -> str:
    return " ".join(text.replace("\x00", "").split())[:150]


def test_K3_the_watch_sees_what_runs(visit: Visit) -> None:
    """Without this, the other tests might pass whatever a page did."""
    seen = watched(visit, bypass_csp=True)
    page = seen.settle("/")
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=/static/x/none onerror=alert(1)><a href=javascript:1>x</a>')"
    )
    page.wait_for_timeout(100)
    assert any("alert 1" in one for one in seen.wrong), seen.wrong
    assert len(page.evaluate(FOUND)) == 2
    strict = watched(visit)
    strict.settle("/").evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<p style=color:red>x</p><img src=//evil.example/x>')"
    )
    strict.page.wait_for_timeout(100)
    assert len([one for one in strict.wrong if one.startswith("forbidden")]) == 2, strict.wrong
    assert not any("alert" in one for one in strict.wrong)


def test_K3_no_script_runs_of_any_text(visit: Visit) -> None:
    seen = watched(visit, bypass_csp=True)
    memory = seen.memory
    drafts = [
        {
            "content": f"{text}\n\nNumber {number}",
            "title": line(text) or None,
            "keywords": [line(text)] if line(text) else [],
        }
        for number, text in enumerate(texts())
    ]
    kept = sum(save_all(memory, drafts[at : at + 50]) for at in range(0, len(drafts), 50))
    assert kept > 0.9 * len(drafts)
    said = [("user", text, None) for text in texts()]
    for number in (0, 1):  # a page shows at most a thousand
        _write_conversation(memory, f"telegram_{number}", said[number::2])
    memory.sync()
    assert sum(one.messages for one in memory.list_conversations()) > 0.9 * len(said)
    asked = [
        "/?n=100",
        "/?q=alert&n=100",
        "/?q=script&n=100",
        "/?q=javascript",
        "/graph",
        "/stats",
    ]
    for path in [
        *asked,
        "/conversation?name=telegram_0&n=1000",
        "/conversation?name=telegram_1&n=1000",
        "/conversation?name=telegram_1&q=alert",
    ]:
        look(seen, path)
    for offset in range(0, kept, 50):
        look(seen, f"/timeline?offset={offset}")


def test_K3_no_script_runs_of_any_name_on_any_page(visit: Visit, tmp_path: Path) -> None:
    seen = watched(visit, bypass_csp=True)
    ids = _named(seen.memory, tmp_path)
    chats = seen.memory.list_conversations()
    assert any("onerror" in one.name for one in chats)
    assert seen.memory.problems()
    found = [
        one.memory.id
        for source in ("message", "document")
        for one in seen.memory.search("alert", source=source, limit=4)
    ]
    assert len(found) > 4
    paths = [
        *PAGES,
        "/timeline?on=2026-03-10",
        f"/graph?around={ids[0]}",
        f"/new?replaces={ids[0]}",
    ]
    paths += [f"/memory/{ids[0]}{rest}" for rest in ("/erase", "/changes", "/history", "/related")]
    paths += [f"/memory/{one}{rest}" for one in ids for rest in ("", "/edit")]
    paths += [f"/conversation?name={quote(one.name)}" for one in chats]
    paths += [
        f"/{where}{quote(NAMES[0])}"
        for where in (
            "?q=",
            "?kind=",
            "?project=",
            "timeline?on=",
            "conversation?name=",
            "graph?around=",
        )
    ]
    for path in [*paths, *(f"/entry?id={quote(one)}" for one in found)]:
        look(seen, path)


def _named(memory: Muisti, tmp_path: Path) -> list[str]:
    """Give everything in the vault a hostile name, and return the IDs of a few memories."""
    (memory.root / "notes").mkdir(exist_ok=True)
    for name in NAMES:
        _save_named(memory, name)
        for section in ("user", "agent"):
            tried(partial(memory.core_update, section, name, name))
        memory.append_message("telegram_1", "user", name)
        tried(partial(memory.append_message, "telegram_1", name, name, type=name))
        tried(partial(memory.start_session, session_id=name))
        file_name = name.replace("/", "")
        _write_conversation(
            memory, f"telegram_{file_name}", [("user", name, None), ("assistant", name, name)]
        )
        (memory.root / "notes" / f"{file_name}.md").write_text(f"alert by hand {name}")
        (memory.root / "notes" / f"broken {file_name}.md").write_text(
            f"---\nid: [{name}\n---\n{name}"
        )
    shelf = tmp_path / "shelf" / NAMES[0]
    shelf.mkdir(parents=True)
    (shelf / f"{NAMES[3]}.md").write_text(
        "\n\n".join(f"# {name}\n\nalert {name}" for name in NAMES)
    )
    memory.index_path(shelf, NAMES[0])
    memory.sync()
    ids = [one.id for one in memory.list(project="*", limit=None)]
    for one, other in pairwise(ids):
        memory.link(one, other)
    memory.update(ids[0], content=f"{NAMES[0]} and {NAMES[1]}")
    memory.delete(ids[-1])
    memory.save(f"The auth module {NAMES[0]} is in src/auth/index.ts")
    memory.save(f"The authentication module {NAMES[0]} is located in src/auth/index.ts")
    memory.search("alert")
    return [ids[-1], *(one.id for one in memory.list(project="*", limit=4))]


def _save_named(memory: Muisti, name: str) -> None:
    """Save memories with this name in every field that accepts it."""
    lists, lines = ("keywords", "files"), ("title", "source", "project", "session_id", "summary")
    options: dict[str, Any] = dict.fromkeys(lines, name) | {key: [name] for key in lists}
    taken = {
        key: value
        for key, value in options.items()
        if tried(partial(memory.save, f"alert {key} {name}", **{key: value}))
    }
    assert {"title", "keywords"} <= set(taken)
    memory.save(f"alert, with all of {sorted(taken)}: {name}", **taken)


def _write_conversation(
    memory: Muisti, chat: str, said: Sequence[tuple[str, str, str | None]]
) -> None:
    """Write the file as another program would, without validation."""
    folder = memory.root / "conversations" / chat
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "id": f"m{number}",
            "ts": f"2026-03-10T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            "role": role,
            "content": text,
            "type": kind,
        }
        for number, (role, text, kind) in enumerate(said)
    ]
    (folder / "2026-03-10.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
