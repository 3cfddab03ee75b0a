"""The review page in a real Chromium, with the keyboard alone and without scripts (J9)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muisti import Memory, Muisti
from tests.web.browsing import AXE, Seen, Visit, chromium, needs_chromium, visit

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: `pip install playwright`"
)
pytestmark = [needs_chromium, pytest.mark.exhaustive]
__all__ = ["chromium", "visit"]
TEXTS = ("Sara drinks coffee", "Otters swim", "Ben has a dog", "The sky is grey")


def fill(memory: Muisti) -> list[Memory]:
    """Save what an agent says, oldest first, and two memories that contradict each other."""
    saved = [memory.save(text, trusted=False, source="ai", project="shop") for text in TEXTS]
    memory.save("The deadline is March 15")
    memory.save("The deadline is March 16")
    return saved


@pytest.fixture
def seen(visit: Visit) -> Iterator[Seen]:
    made = visit()
    yield made
    assert made.wrong == []


def test_J9_a_person_reviews_with_the_keyboard_alone(seen: Seen) -> None:
    coffee, otters, dog, sky = fill(seen.memory)
    page = seen.settle("/review")
    focused = page.locator("a.title:focus")
    flash = page.locator(".flash")
    playwright.expect(focused).to_have_text("The deadline is March 16")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    playwright.expect(keys).to_contain_text("forget: move to the trash")
    seen.shot("review_1_keys")
    page.keyboard.press("?")
    playwright.expect(keys).to_be_hidden()
    page.keyboard.press("r")
    playwright.expect(flash).to_have_text("Link rejected. Both memories stay.")
    playwright.expect(focused).to_have_text("The sky is grey")
    page.keyboard.press("j")
    playwright.expect(focused).to_have_text("Ben has a dog")
    page.keyboard.press("e")
    text = page.locator("textarea:focus")
    playwright.expect(text).to_have_value("Ben has a dog")
    page.keyboard.press("Escape")
    playwright.expect(focused).to_have_text("Ben has a dog")
    playwright.expect(page.locator("details.add[open]")).to_have_count(0)
    page.keyboard.press("e")
    page.keyboard.type(" and a cat: c, f, r")  # keys of the list are letters here
    seen.shot("review_2_edit")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(flash).to_have_text("Saved and confirmed.")
    playwright.expect(focused).to_have_text("Otters swim")
    page.keyboard.press("r")
    playwright.expect(page.locator("textarea:focus")).to_have_value("")
    page.keyboard.type("Otters dive")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(flash).to_have_text("Replaced; the old text is marked as outdated.")
    playwright.expect(focused).to_have_text("Sara drinks coffee")
    page.keyboard.press("f")
    playwright.expect(flash).to_have_text("Moved to the trash.")
    page.keyboard.press("u")
    playwright.expect(flash).to_have_text("Restored.")
    playwright.expect(page.locator(".badge")).to_contain_text("2")
    page.keyboard.press("k")
    playwright.expect(focused).to_have_text("The sky is grey")
    page.keyboard.press("c")
    playwright.expect(flash).to_have_text("Confirmed.")
    memory = seen.memory
    assert [item.memory.id for item in memory.review()] == [coffee.id]
    assert memory.get(sky.id).trusted  # type: ignore[union-attr]
    assert memory.get(dog.id).content == "Ben has a dog and a cat: c, f, r"  # type: ignore[union-attr]
    assert memory.superseding(otters.id).content == "Otters dive"  # type: ignore[union-attr]


def test_J9_a_person_reviews_without_scripts(visit: Visit) -> None:
    seen = visit(java_script_enabled=False)
    saved = fill(seen.memory)
    page = seen.open("/review")
    page.get_by_role("button", name="B is outdated").click()
    playwright.expect(page.locator(".flash")).to_have_text("Marked as outdated.")
    page.get_by_role("button", name="Confirm", exact=True).first.click()
    playwright.expect(page.locator(".flash")).to_have_text("Confirmed.")
    page.locator("summary", has_text="Edit").first.click()
    page.locator("textarea:visible").fill("Ben has two dogs")
    page.get_by_role("button", name="Save and confirm").first.click()
    playwright.expect(page.locator(".flash")).to_have_text("Saved and confirmed.")
    page.get_by_role("button", name="Forget").first.click()
    page.get_by_role("button", name="Undo").click()
    playwright.expect(page.locator(".flash")).to_have_text("Restored.")
    assert [item.memory.id for item in seen.memory.review()] == [saved[1].id, saved[0].id]


def test_J9_no_serious_accessibility_violations_with_a_form_and_the_help_open(seen: Seen) -> None:
    if not AXE.is_file():
        pytest.skip("no axe-core here: python scripts/node.py browser")
    fill(seen.memory)
    page = seen.settle("/review")
    for key in "je":
        page.keyboard.press(key)
    playwright.expect(page.locator("textarea:focus")).to_be_visible()
    page.evaluate(AXE.read_text())
    for scheme, is_help_open in (("light", False), ("dark", False), ("light", True)):
        page.emulate_media(color_scheme=scheme)
        if is_help_open:
            page.get_by_role("button", name="Keyboard shortcuts").click()
            playwright.expect(page.get_by_role("dialog")).to_be_visible()
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
        seen.shot(f"review_{scheme}")
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen.shot("review_phone")
