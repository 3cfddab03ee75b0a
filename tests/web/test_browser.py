"""Use of the page in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from muisti import Muisti
from tests.web.browsing import AXE, Seen, Visit, chromium, needs_chromium, visit
from tests.web.test_pages import PAGES

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: `pip install playwright`"
)
pytestmark = [needs_chromium, pytest.mark.exhaustive]
__all__ = ["chromium", "visit"]


@pytest.fixture
def seen(visit: Visit) -> Iterator[Seen]:
    """A vault with a few memories. At the end the browser console must have no errors."""
    made = visit()
    made.memory.save(
        "We chose **PostgreSQL** for the orders service.",
        title="PostgreSQL",
        kind="decision",
        project="orders",
    )
    made.memory.save(
        "The deadline of the pilot is 15 March.",
        title="Pilot deadline",
        kind="fact",
        project="orders",
    )
    made.memory.save("Maija prefers short answers.", title="Short answers", kind="preference")
    yield made
    assert made.wrong == []


def test_J5_a_person_searches_as_they_type_and_asks_why(seen: Seen) -> None:
    page = seen.open("/")
    page.locator("#q").press_sequentially("postgr", delay=30)
    playwright.expect(page.locator("#results .row")).to_have_count(1)
    playwright.expect(page.locator("#results mark").first).to_have_text("PostgreSQL")
    assert page.url.endswith("/?q=postgr")
    page.get_by_text("Why this result").first.click()
    playwright.expect(page.locator("#results table").first).to_be_visible()
    seen.shot("1_search")
    page.locator("#q").fill("zebra")
    playwright.expect(page.locator("#results h2")).to_contain_text("No results for “zebra”")


def test_J5_a_person_uses_the_keyboard_alone(seen: Seen) -> None:
    page = seen.open("/timeline")
    page.keyboard.press("/")
    page.wait_for_url(f"{seen.address}/")
    box, titles = page.locator("#q"), page.locator("a.title")
    playwright.expect(box).to_be_focused()
    page.keyboard.press("ArrowDown")
    playwright.expect(titles.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    playwright.expect(titles.nth(1)).to_be_focused()
    outline = "getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth"
    assert page.evaluate(outline) == "solid3px"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    playwright.expect(box).to_be_focused()
    page.keyboard.type("pilot")
    playwright.expect(page.locator("#results .row")).to_have_count(1)
    page.keyboard.press("Escape")
    playwright.expect(box).not_to_be_focused()
    playwright.expect(box).to_have_value("pilot")
    page.keyboard.press("j")
    playwright.expect(titles.first).to_be_focused()
    page.keyboard.press("Escape")
    playwright.expect(box).to_be_focused()
    page.keyboard.press("ArrowDown")
    seen.shot("2_keyboard")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("h1")).to_have_text("Pilot deadline")
    page.locator("html.scripted").wait_for()  # until then no key does anything
    page.keyboard.press("n")
    playwright.expect(page.locator("h1")).to_have_text("New memory")


def test_J5_a_screen_reader_hears_how_many_were_found(seen: Seen) -> None:
    page = seen.open("/")
    heard = page.locator("#result-count[role=status]")
    playwright.expect(heard).to_have_text("")
    page.locator("#q").fill("pilot")
    playwright.expect(heard).to_have_text("1 result")
    page.locator("#q").fill("zebra")
    playwright.expect(heard).to_have_text("No results")


def test_J5_a_person_goes_to_a_day_and_sees_what_changed(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Pilot deadline")
    seen.memory.update(one.id, content="The deadline of the pilot is 29 March.")
    page = seen.open("/timeline")
    page.get_by_label("Day").fill("0202-01-01")  # the year is being typed
    page.get_by_label("Day").fill("2020-01-01")
    playwright.expect(page.locator(".empty")).to_contain_text(
        "There are none on Wednesday, 1 January 2020 or earlier"
    )
    page = seen.open(f"/memory/{one.id}")
    page.get_by_role("link", name="Show changes").click()
    playwright.expect(page.locator(".diff ins")).to_have_text("29")
    playwright.expect(page.locator(".diff del")).to_have_text("15")
    page.get_by_label("to version").select_option("1")
    playwright.expect(page.locator(".notice")).to_have_text("These two versions are identical.")


def test_J5_a_person_narrows_by_kind_and_project(seen: Seen) -> None:
    page = seen.open("/")
    playwright.expect(page.locator("#results .row")).to_have_count(3)
    page.get_by_label("Kind").select_option("preference")
    playwright.expect(page.locator("#results .row")).to_have_count(1)
    page.get_by_label("Project").select_option("orders")
    playwright.expect(page.locator("#results h2")).to_contain_text("No results")
    page.get_by_text("Search without filters").click()
    playwright.expect(page.locator("#results .row")).to_have_count(3)


def test_J5_a_person_creates_a_memory(seen: Seen) -> None:
    page = seen.open("/new")
    page.locator("textarea[name=content]").fill("We deploy on Tuesdays.\n\n- never on Fridays")
    page.get_by_label("Importance").fill("0.8")
    page.get_by_role("button", name="Save").click()
    playwright.expect(page.locator(".flash")).to_have_text("Memory saved.")
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
    playwright.expect(page.locator(".flash")).to_have_text("Changes saved.")
    playwright.expect(page.locator(".history")).to_contain_text("updated")


def test_H1_a_person_links_two_memories(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Pilot deadline")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_text("Add a link").click()
    page.get_by_label("Relation").select_option("DEPENDS_ON")
    page.get_by_label("Other memory").press_sequentially("postgres", delay=20)
    playwright.expect(page.get_by_role("radio")).to_have_count(1)
    seen.shot("6_link")
    page.get_by_role("button", name="Add link").click()
    playwright.expect(page.locator(".links")).to_contain_text("depends on")


def test_H1_a_person_replaces_an_outdated_memory(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Pilot deadline")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_role("link", name="Replace").click()
    page.get_by_label("Title").fill("Pilot deadline moved")
    page.locator("textarea[name=content]").fill("The deadline of the pilot is 29 March.")
    page.get_by_role("button", name="Save").click()
    playwright.expect(page.locator("h1")).to_have_text("Pilot deadline moved")
    seen.open(f"/memory/{one.id}")
    playwright.expect(page.locator(".notice")).to_contain_text("Pilot deadline moved")


def test_B6_a_person_deletes_restores_and_deletes_permanently(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Short answers")
    page = seen.open(f"/memory/{one.id}")
    page.get_by_role("button", name="Delete").click()
    playwright.expect(page.locator(".notice")).to_contain_text("In the trash")
    page.get_by_role("button", name="Restore").click()
    playwright.expect(page.locator(".flash")).to_have_text("Restored.")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("link", name="Delete permanently…").click()
    page.get_by_role("button", name="Delete permanently").click()
    # The browser requires the checkbox.
    playwright.expect(page.locator("h1")).to_have_text("Delete permanently?")
    page.get_by_role("checkbox").check()
    seen.shot("8_erase")
    page.get_by_role("button", name="Delete permanently").click()
    playwright.expect(page.locator(".flash")).to_contain_text("Deleted permanently.")


def test_J5_a_person_looks_at_the_graph_and_the_stats(seen: Seen) -> None:
    first, second, _ = seen.memory.list()
    seen.memory.link(first.id, second.id, "BUILDS_ON")
    page = seen.open("/graph")
    playwright.expect(page.locator("#graph[data-drawn='2'] canvas").first).to_be_attached()
    rows = page.locator("details .links")
    playwright.expect(rows).to_be_hidden()
    page.get_by_text("List of links").click()
    playwright.expect(rows).to_contain_text("builds on")
    seen.shot("9_graph")
    page = seen.open("/stats")
    playwright.expect(page.locator(".plots[data-drawn='4']")).to_be_attached()
    assert page.locator(".plots canvas").count() == 4
    for plot in ("growth", "new"):  # three memories, all of today: bars and axis have one scale
        playwright.expect(page.locator(f"[data-plot={plot}]")).to_have_attribute("data-top", "3")
    seen.shot("9_stats")


def _link_many(memory: Muisti) -> list[str]:
    """Save memories that all link to the first, and return their ids."""
    texts = [{"content": f"Place {n} is painted {n * 7919}.", "kind": "fact"} for n in range(30)]
    ids = [one.id for one in memory.save_batch(texts)]
    for one in ids[1:]:
        memory.link(one, ids[0], "DEPENDS_ON")
    return ids


def test_J5_a_person_finds_a_memory_in_the_graph(visit: Visit) -> None:
    seen = visit(reduced_motion="reduce")
    ids = _link_many(seen.memory)
    page = seen.settle("/graph")
    graph, card = page.locator("#graph"), page.locator("#graph-card")
    first = graph.screenshot()
    page.keyboard.press("f")
    page.keyboard.type("pláce 7 ")
    playwright.expect(graph).to_have_attribute("data-selected", ids[7])
    playwright.expect(card).to_contain_text("depends on → Place 0 is painted 0.")
    playwright.expect(page.locator("#find-status")).to_contain_text("Match 1 of")
    free, whole = card.bounding_box(), graph.bounding_box()
    middle = (free["x"] - 12 + whole["x"]) / 2, whole["y"] + whole["height"] / 2
    page.mouse.move(*middle)
    playwright.expect(page.locator("#graph-tip")).to_have_text(
        f"Place 7 is painted {7 * 7919}. (fact)"
    )
    card.get_by_role("button", name="Place 0").click()
    playwright.expect(graph).to_have_attribute("data-selected", ids[0])
    page.locator("#find").fill("zebra")
    playwright.expect(page.locator("#find-status")).to_have_text("No match")
    playwright.expect(card).to_be_hidden()
    page = seen.settle("/graph")
    assert graph.screenshot() == first  # the layout is always the same
    assert seen.wrong == []


def test_J5_the_graph_works_with_the_keyboard_and_by_touch(visit: Visit) -> None:
    seen = visit(reduced_motion="reduce", has_touch=True, viewport={"width": 390, "height": 844})
    ids = _link_many(seen.memory)
    page = seen.settle("/graph")
    graph, card = page.locator("#graph"), page.locator("#graph-card")
    graph.focus()
    page.keyboard.press("ArrowRight")
    playwright.expect(graph).to_have_attribute("data-selected", ids[0])  # the best-linked
    page.keyboard.press("ArrowRight")
    playwright.expect(graph).not_to_have_attribute("data-selected", ids[0])
    page.keyboard.press("Escape")
    playwright.expect(card).to_be_hidden()
    page.locator("#find").fill("place 0")
    box = graph.bounding_box()
    page.locator("#find").press("Escape")
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    playwright.expect(card.locator("a.title")).to_have_text("Place 0 is painted 0.")
    graph.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/memory/{ids[0]}")
    assert seen.wrong == []


def test_J5_the_graph_is_a_list_without_scripts(visit: Visit) -> None:
    seen = visit(java_script_enabled=False)
    _link_many(seen.memory)
    page = seen.open("/graph?kind=fact")
    playwright.expect(page.locator("#graph")).to_be_hidden()
    playwright.expect(page.get_by_role("button", name="Show")).to_be_visible()
    page.get_by_text("List of links").click()
    playwright.expect(page.locator("[data-row]")).to_have_count(29)


def test_J5_keys_edit_the_open_memory_and_show_the_list_of_keys(seen: Seen) -> None:
    one = next(m for m in seen.memory.list() if m.title == "Pilot deadline")
    page = seen.settle(f"/memory/{one.id}")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    page.keyboard.press("?")
    playwright.expect(keys).to_be_visible()
    playwright.expect(keys.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("e")  # belongs to the dialog now
    page.keyboard.press("Escape")
    playwright.expect(keys).to_be_hidden()
    page.keyboard.press("e")
    page.wait_for_url("**/edit")
    text = page.locator("textarea[name=content]")
    text.press("ControlOrMeta+End")
    page.keyboard.type(" e?n/")
    playwright.expect(text).to_have_value("The deadline of the pilot is 15 March. e?n/")
    playwright.expect(keys).to_be_hidden()
    page.keyboard.press("Control+Enter")
    playwright.expect(page.locator(".flash")).to_have_text("Changes saved.")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    playwright.expect(keys).to_be_visible()


def test_J5_a_phone_shows_the_current_page_the_results_and_save(seen: Seen) -> None:
    page = seen.page
    page.set_viewport_size({"width": 390, "height": 664})  # a phone with the bars of its browser
    for path in ("/", "/review", "/timeline", "/graph", "/stats", "/conversations", "/status"):
        current = seen.settle(path).locator(".side [aria-current]")
        playwright.expect(current).to_be_in_viewport(ratio=0.99)
    seen.open("/?q=pilot")
    playwright.expect(page.locator("#results .row").first).to_be_in_viewport(ratio=0.99)
    filters = [
        box["y"] for one in page.locator(".filters select").all() if (box := one.bounding_box())
    ]
    assert len(filters) == 4
    assert max(filters) == min(filters), "the filters take one line"
    for size in ({"width": 390, "height": 664}, {"width": 1280, "height": 600}):
        page.set_viewport_size(size)
        for path in ("/new", f"/memory/{seen.memory.list()[0].id}/edit"):
            seen.open(path)
            playwright.expect(page.get_by_role("button", name="Save")).to_be_in_viewport(ratio=0.99)
    for path in ("/new", "/core", f"/memory/{seen.memory.list()[0].id}/edit"):
        seen.open(path)
        for group in page.locator(".fields, .new-entry").all():
            tops = [label.bounding_box()["y"] for label in group.locator("label").all()]
            assert max(tops) - min(tops) < 1, (path, tops)


def test_B3_a_person_rebuilds_the_index(seen: Seen) -> None:
    page = seen.open("/status")
    page.get_by_role("button", name="Rebuild index").click()
    playwright.expect(page.locator("#progress .notice")).to_contain_text("3 memories")
    page.get_by_role("button", name="Rebuild index").click()  # the new fragment's form works too
    playwright.expect(page.locator("#progress .notice")).to_contain_text("3 memories")
    seen.shot("10_health")


def test_F4_a_person_changes_core_memory(seen: Seen) -> None:
    page = seen.open("/core")
    page.get_by_label("New key").first.fill("language")
    page.get_by_label("Value").first.fill("Finnish")
    page.get_by_role("button", name="Add").first.click()
    playwright.expect(page.locator(".flash")).to_contain_text("Core memory updated.")
    page.get_by_role("button", name="Remove").click()
    playwright.expect(page.locator(".flash")).to_contain_text("Core memory updated.")


def test_B5_an_open_page_shows_what_was_written_elsewhere(seen: Seen) -> None:
    page = seen.open("/")
    playwright.expect(page.locator("#results .row")).to_have_count(3)
    page.locator("body[data-revision]").wait_for(state="attached")  # it has the current revision
    (seen.vault / "notes").mkdir(exist_ok=True)
    (seen.vault / "notes" / "lighthouse.md").write_text("The lighthouse was painted white.")
    seen.memory.sync()
    seen.changed()
    playwright.expect(page.locator("#results .row")).to_have_count(4)


def _paths(one: str) -> list[str]:
    more = [
        f"/memory/{one}",
        f"/memory/{one}/edit",
        f"/memory/{one}/erase",
        f"/memory/{one}/history",
        "/conversation?name=telegram_1",
        "/session?id=telegram_1",
    ]
    return [*PAGES, *more, "/timeline?on=2026-03-10", "/?q=zebra", "/nowhere"]


def test_J5_no_serious_accessibility_violations_in_light_and_dark(visit: Visit) -> None:
    if not AXE.is_file():
        pytest.skip("no axe-core here: python scripts/node.py browser")
    seen = visit(color_scheme="light")
    one = _some(seen.memory)
    rules, bad = AXE.read_text(), []
    for path in _paths(one):
        page = seen.settle(path)
        page.evaluate(rules)
        if path == "/graph":
            page.locator("#find").fill("table")
            playwright.expect(page.locator("#graph-card")).to_be_visible()
        bad += _faults(page, path, "{resultTypes: ['violations']}")
        page.emulate_media(color_scheme="dark")
        # Only colors differ in dark mode.
        bad += _faults(page, f"{path} in dark mode", "{runOnly: ['color-contrast']}")
        page.emulate_media(color_scheme="light")
    assert bad == []
    assert seen.wrong == []


def _faults(page: Any, path: str, options: str) -> list[tuple[str, str, str]]:
    found = page.evaluate(f"axe.run(document, {options})")
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [(path, one["id"], one["nodes"][0]["html"][:120]) for one in serious]


def test_J5_every_page_fits_a_phone(visit: Visit) -> None:
    seen = visit(viewport={"width": 360, "height": 740})
    one = _some(seen.memory)
    for path in _paths(one):
        page = seen.settle(path)
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
        "| a | b |\n|---|---|\n| `" + "y" * 90 + "` | 2 |\n\n## Head\n\n> said",
        title="Table",
        kind="decision",
        pinned=True,
    )
    memory.link(one.id, memory.list()[-1].id, "CONTRADICTS", confidence=0.5, extracted_by="system")
    memory.delete(memory.save("Gone.", kind="note").id)
    memory.append_message("telegram_1", "user", "When is the pilot due?")
    memory.start_session(session_id="telegram_1")
    memory.link_to_session(one.id, "telegram_1", "recalled")
    memory.end_session("telegram_1", "x" * 200)
    memory.core_update("user", "name", "Maija")
    memory.search("pilot")
    return one.id
