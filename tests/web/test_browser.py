"""What a person does on the page, in a real Chromium. Skipped, with a message, where there is none.

The browser and axe-core are those of tests/node/browser, which `make test` installs (`scripts/node.py`), or the browser
that `MUISTI_CHROMIUM` names; its libraries may lie in `lib/` beside it. `MUISTI_SHOTS`: a folder for pictures of what was seen.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from muisti import Muisti
from muisti.bootstrap import open_vault
from muisti.surfaces.web import pages
from tests.web.test_guard import HOSTILE
from tests.web.test_pages import PAGES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: `pip install playwright`")
INSTALLED = Path(__file__).parents[2] / ".venv" / "node" / "browser"
CHROMIUM = os.environ.get("MUISTI_CHROMIUM") or str(INSTALLED / "chromium" / "chromium")
pytestmark = pytest.mark.skipif(not Path(CHROMIUM).is_file(), reason="no Chromium here: python scripts/node.py browser")
ARGUMENTS = [
    "--no-sandbox",
    "--headless=shell",
    "--disable-gpu",
    "--no-zygote",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--disable-component-update",
]
AXE = INSTALLED / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    folder = Path(CHROMIUM).parent
    extra = {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_PATH": str(folder)} if (folder / "lib").is_dir() else {}
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, env={**os.environ, **extra})
        yield browser
        browser.close()


@dataclass
class Seen:
    """A page in a browser, over a vault."""

    page: Any
    memory: Muisti
    vault: Path
    address: str
    context: Any
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        self.page.goto(f"{self.address}{path}")
        return self.page

    def shot(self, name: str) -> None:
        if folder := os.environ.get("MUISTI_SHOTS"):
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


Visit = Callable[..., Seen]


@pytest.fixture
def visit(chromium: Any, vault: Path) -> Iterator[Visit]:
    closing: list[Callable[[], None]] = []

    def begin(**context_options: Any) -> Seen:
        memory = open_vault(vault, arguments={"embedder": "none"})
        stamp = {"now": 0}
        app = FastAPI()
        app.include_router(pages(memory, changes=lambda: stamp["now"]))
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        context = chromium.new_context(locale="en-GB", **{"viewport": {"width": 1180, "height": 800}, **context_options})
        context.set_default_timeout(8000)
        seen = Seen(context.new_page(), memory, vault, f"http://127.0.0.1:{port}", context)
        _watch(seen.page, seen.wrong)
        seen.memory.changed = lambda: stamp.update(now=stamp["now"] + 1)  # type: ignore[attr-defined]

        def end() -> None:
            context.close()
            server.should_exit = True
            thread.join()
            memory.close()

        closing.append(end)
        return seen

    yield begin
    for end in closing:
        end()


def _watch(page: Any, wrong: list[str]) -> None:
    page.on("console", lambda one: wrong.append(one.text) if one.type == "error" and "status of 4" not in one.text else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def dismiss(dialog: Any) -> None:
        wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)


@pytest.fixture
def seen(visit: Visit) -> Iterator[Seen]:
    """A vault with a few memories; at the end the console must be clean: no error, nothing that the policy forbade."""
    made = visit()
    made.memory.save("We chose **PostgreSQL** for the orders service.", title="PostgreSQL", kind="decision", project="orders")
    made.memory.save("The deadline of the pilot is 15 March.", title="Pilot deadline", kind="fact", project="orders")
    made.memory.save("Maija prefers short answers.", title="Short answers", kind="preference")
    yield made
    assert made.wrong == []


def test_J5_a_person_searches_as_they_type_and_asks_why(seen: Seen) -> None:
    page = seen.open("/")
    page.locator("#q").press_sequentially("postgr", delay=30)
    playwright.expect(page.locator("#results .row")).to_have_count(1)
    playwright.expect(page.locator("#results mark").first).to_have_text("PostgreSQL")
    assert page.url.endswith("/?q=postgr")
    page.get_by_text("Why this one").first.click()
    playwright.expect(page.locator("#results table").first).to_be_visible()
    seen.shot("1_search")
    page.locator("#q").fill("zebra")
    playwright.expect(page.locator("#results h2")).to_contain_text("Nothing found for “zebra”")


def test_J5_a_person_uses_the_keyboard_alone(seen: Seen) -> None:
    page = seen.open("/timeline")
    page.keyboard.press("/")
    page.wait_for_url(f"{seen.address}/")
    page.keyboard.type("pilot")
    playwright.expect(page.locator("#results .row")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    playwright.expect(page.locator("a.title").first).to_be_focused()
    seen.shot("2_keyboard")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("h1")).to_have_text("Pilot deadline")
    page.keyboard.press("n")
    playwright.expect(page.locator("h1")).to_have_text("Remember something")


def test_J5_a_person_narrows_by_kind_and_project(seen: Seen) -> None:
    page = seen.open("/")
    playwright.expect(page.locator("#results .row")).to_have_count(3)
    page.get_by_label("Kind").select_option("preference")
    playwright.expect(page.locator("#results .row")).to_have_count(1)
    page.get_by_label("Project").select_option("orders")
    playwright.expect(page.locator("#results h2")).to_contain_text("Nothing found")
    page.get_by_text("Search everything instead").click()
    playwright.expect(page.locator("#results .row")).to_have_count(3)


def test_J5_a_person_remembers_something(seen: Seen) -> None:
    page = seen.open("/new")
    page.locator("textarea[name=content]").fill("We deploy on Tuesdays.\n\n- never on Fridays")
    page.get_by_label("Importance").fill("0.8")
    page.get_by_role("button", name="Remember").click()
    playwright.expect(page.locator(".said")).to_have_text("Remembered.")
    playwright.expect(page.locator(".prose li")).to_have_text("never on Fridays")
    seen.shot("4_remembered")


def test_J5_a_person_edits_and_meets_another_editor(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "PostgreSQL")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.locator("textarea[name=content]").fill("We chose PostgreSQL 16.")
    seen.memory.update(one.id, content="We chose SQLite.")
    page.get_by_role("button", name="Save").click()
    playwright.expect(page.locator("[role=alert]")).to_contain_text("We chose SQLite.")
    assert page.locator("textarea[name=content]").input_value() == "We chose PostgreSQL 16."
    seen.shot("5_conflict")
    page.get_by_role("button", name="Save").click()
    playwright.expect(page.locator(".said")).to_have_text("Saved.")
    playwright.expect(page.locator(".history")).to_contain_text("updated")


def test_H1_a_person_links_two_memories(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Pilot deadline")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_text("Link it to another memory").click()
    page.get_by_label("This memory").select_option("DEPENDS_ON")
    page.get_by_label("the memory", exact=False).last.press_sequentially("postgres", delay=20)
    playwright.expect(page.get_by_role("radio")).to_have_count(1)
    seen.shot("6_link")
    page.get_by_role("button", name="Link", exact=True).click()
    playwright.expect(page.locator(".links")).to_contain_text("depends on")


def test_H1_a_person_replaces_what_is_true_no_longer(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Pilot deadline")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_role("link", name="Replace").click()
    page.get_by_label("Title").fill("Pilot deadline moved")
    page.locator("textarea[name=content]").fill("The deadline of the pilot is 29 March.")
    page.get_by_role("button", name="Remember").click()
    playwright.expect(page.locator("h1")).to_have_text("Pilot deadline moved")
    seen.open(f"/memory/{one.id}")
    playwright.expect(page.locator(".notice")).to_contain_text("Pilot deadline moved")


def test_B6_a_person_deletes_brings_back_and_erases(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Short answers")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_role("button", name="Delete").click()
    playwright.expect(page.locator(".notice")).to_contain_text("In the trash")
    page.get_by_role("button", name="Bring it back").click()
    playwright.expect(page.locator(".said")).to_have_text("Brought back.")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("link", name="Erase for good…").click()
    page.get_by_role("button", name="Erase").click()
    playwright.expect(page.locator("h1")).to_have_text("Erase for good?")  # the browser asks for the tick
    page.get_by_role("checkbox").check()
    seen.shot("8_erase")
    page.get_by_role("button", name="Erase").click()
    playwright.expect(page.locator(".said")).to_contain_text("Erased.")


def test_J5_a_person_looks_at_the_graph_and_the_numbers(seen: Seen) -> None:
    first, second, _ = seen.memory.list()
    seen.memory.link(first.id, second.id, "BUILDS_ON")
    page = seen.open("/graph")
    playwright.expect(page.locator("#graph[data-drawn='2'] canvas").first).to_be_attached()
    playwright.expect(page.locator(".links")).to_contain_text("builds on")
    seen.shot("9_graph")
    page = seen.open("/numbers")
    playwright.expect(page.locator(".plots[data-drawn='4']")).to_be_attached()
    assert page.locator(".plots canvas").count() == 4
    seen.shot("9_numbers")


def test_B3_a_person_rebuilds_the_index(seen: Seen) -> None:
    page = seen.open("/status")
    page.get_by_role("button", name="Rebuild the index").click()
    playwright.expect(page.locator("#progress .notice")).to_contain_text("3 memories")
    page.get_by_role("button", name="Rebuild the index").click()  # the form that came with the answer works too
    playwright.expect(page.locator("#progress .notice")).to_contain_text("3 memories")
    seen.shot("10_health")


def test_F4_a_person_changes_core_memory(seen: Seen) -> None:
    page = seen.open("/core")
    page.get_by_label("New entry").first.fill("language")
    page.get_by_label("What it says").first.fill("Finnish")
    page.get_by_role("button", name="Add").first.click()
    playwright.expect(page.locator(".said")).to_contain_text("up to date")
    page.get_by_role("button", name="Remove").click()
    playwright.expect(page.locator(".said")).to_contain_text("up to date")


def test_B5_an_open_page_shows_what_was_written_elsewhere(seen: Seen) -> None:
    page = seen.open("/")
    playwright.expect(page.locator("#results .row")).to_have_count(3)
    page.wait_for_timeout(300)
    (seen.vault / "notes").mkdir(exist_ok=True)
    (seen.vault / "notes" / "lighthouse.md").write_text("The lighthouse was painted white.")
    seen.memory.sync()
    seen.memory.changed()  # type: ignore[attr-defined]
    playwright.expect(page.locator("#results .row")).to_have_count(4, timeout=2000)


def test_K3_no_script_of_a_memory_runs(visit: Visit) -> None:
    seen = visit()
    data = Path("/work/shared/data/blns.json")
    texts = [*HOSTILE, *(json.loads(data.read_text()) if data.exists() else [])]
    for number, text in enumerate(texts):
        title = " ".join(text.replace("\x00", "").split())[:150] or None
        try:
            seen.memory.save(f"{text}\n\nNumber {number}", title=title)
        except ValueError:
            continue
    ids = [one.id for one in seen.memory.list(limit=None)]
    for memory_id, other in zip(ids[-12:], ids[-11:], strict=False):
        seen.memory.link(memory_id, other)
    paths = ["/?n=100", "/?q=alert&n=100", "/?q=script", "/timeline", "/graph", "/numbers"]
    paths += [f"/timeline?offset={at}" for at in range(50, len(ids), 50)]
    paths += [f"/memory/{one}{rest}" for one in ids[-len(HOSTILE) :] for rest in ("", "/edit")]
    for path in paths:
        seen.open(path).wait_for_load_state("networkidle")
    assert seen.wrong == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_J5_no_serious_fault_of_accessibility(visit: Visit, look: str) -> None:
    if not AXE.is_file():
        pytest.skip("no axe-core here: python scripts/node.py browser")
    seen = visit(color_scheme=look)
    one = _some(seen.memory)
    rules = AXE.read_text()
    bad = []
    for path in [
        *PAGES,
        f"/memory/{one}",
        f"/memory/{one}/edit",
        f"/memory/{one}/erase",
        "/chat?name=telegram_1",
        "/?q=pilot",
        "/nowhere",
    ]:
        page = seen.open(path)
        page.wait_for_load_state("networkidle")
        page.evaluate(rules)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        bad += [
            (path, v["id"], v["nodes"][0]["html"][:120])
            for v in found["violations"]
            if v["impact"] in ("serious", "critical") and path != "/nowhere"
        ]
    assert bad == []


def test_J5_every_page_fits_a_phone(visit: Visit) -> None:
    seen = visit(viewport={"width": 360, "height": 740})
    one = _some(seen.memory)
    for path in [*PAGES, f"/memory/{one}", f"/memory/{one}/edit", "/chat?name=telegram_1", "/?q=pilot"]:
        page = seen.open(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def _some(memory: Muisti) -> str:
    memory.save(
        "The deadline of the pilot is 15 March, " + "x" * 200,
        title="Pilot " + "deadline" * 12,
        kind="fact",
        project="orders",
        trusted=False,
    )
    one = memory.save(
        "| a | b |\n|---|---|\n| `" + "y" * 90 + "` | 2 |\n\n## Head\n\n> said", title="Table", kind="decision", pinned=True
    )
    memory.link(one.id, memory.list()[-1].id, "CONTRADICTS", confidence=0.5, extracted_by="system")
    memory.delete(memory.save("Gone.", kind="note").id)
    memory.append_message("telegram_1", "user", "When is the pilot due?")
    memory.core_update("user", "name", "Maija")
    memory.search("pilot")
    return one.id
