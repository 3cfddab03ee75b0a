"""The review page: a list with buttons, which works without scripts (contract J9)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from muisti import Memory, Muisti
from muisti.surfaces.web import review as review_page
from tests.conftest import FakeClock
from tests.web.conftest import Browser, Parsed


@pytest.fixture
def browser(empty: Browser) -> Browser:
    return empty


def save(memory: Muisti, text: str, **fields: Any) -> Memory:
    return memory.save(text, **{"trusted": False, "source": "ai", **fields})


def forms(browser: Browser, path: str = "/review") -> list[dict[str, str]]:
    """The fields of the forms that decide, in the order of the page, without their buttons."""
    html = browser.client.get(path).text
    found = []
    for form in re.findall(r'<form[^>]*action="/review/.*?</form>', html, re.DOTALL):
        inputs = Parsed(form).all("input")
        found.append({one["name"]: one["value"] for one in inputs if one["name"] != "csrf"})
    return found


def badge(page: Parsed) -> bool:
    return any(one.get("class") == "badge" for one in page.all("span"))


def test_J9_the_page_lists_the_queue_with_what_is_needed_to_decide(
    browser: Browser, clock: FakeClock
) -> None:
    memory = browser.memory
    assert "Nothing to review" in browser.get("/review").text
    memory.save("The deadline is March 15", project="shop", user="anna")
    clock.forward(hours=1)
    save(memory, "The deadline is March 16", project="shop", user="anna", agent="codex")
    page = browser.get("/review")
    assert "1 memory and 1 link to review" in page.text
    for fact in ("The deadline is March 16", "shop", "user anna", "from codex, as ai"):
        assert fact in page.text
    assert "A may contradict B. If confirmed: the link is stored; both memories stay" in page.text
    assert "The deadline is March 15" in page.text
    keys = [one["aria-keyshortcuts"] for one in page.all("button") if "data-key" in one]
    assert keys == ["c", "f", "c", "r", "o"]
    assert [one["data-key"] for one in page.all("summary") if "data-key" in one] == ["e", "r"]


def test_J9_confirm_edit_replace_and_forget(browser: Browser, clock: FakeClock) -> None:
    memory = browser.memory
    saved = []
    for text in ("Sara drinks coffee", "Otters swim", "Ben has a dog", "The sky is grey"):
        clock.forward(hours=1)
        saved.append(save(memory, text))
    first, *_ = forms(browser)
    page = browser.post("/review/memory", {**first, "decision": "confirm"})
    assert "Confirmed." in page.text
    assert "Review 3 to review" in page.text  # the navigation
    first, *_ = forms(browser)
    typed = {**first, "decision": "edit", "content": "Ben has two dogs"}
    assert "Saved and confirmed." in browser.post("/review/memory", typed).text
    first, *_ = forms(browser)
    typed = {**first, "decision": "replace", "content": "Otters dive"}
    assert "marked as outdated" in browser.post("/review/memory", typed).text
    first, *_ = forms(browser)
    page = browser.post("/review/memory", {**first, "decision": "forget"})
    assert "Moved to the trash." in page.text
    assert "“Sara drinks coffee” is in the trash. Undo" in page.text
    assert not badge(page)
    coffee, otters, dog, sky = saved
    assert memory.get(coffee.id) is None
    replaced = memory.superseding(otters.id)
    assert replaced is not None
    assert (replaced.content, replaced.trusted) == ("Otters dive", True)
    edited = memory.get(dog.id)
    assert edited is not None
    assert (edited.content, edited.trusted, edited.source) == ("Ben has two dogs", True, "ai")
    assert memory.get(sky.id).trusted  # type: ignore[union-attr]
    page = browser.post("/review/restore", {"id": coffee.id})
    assert "Restored." in page.text
    assert [item.memory.id for item in memory.review()] == [coffee.id]
    assert badge(page)


@pytest.mark.parametrize(
    ("decision", "said", "links"),
    [
        ("confirm", "Link confirmed.", ["CONTRADICTS"]),
        ("reject", "Link rejected. Both memories stay.", []),
        ("outdated", "Marked as outdated.", ["SUPERSEDES"]),
    ],
)
def test_J9_decide_about_a_link(
    browser: Browser, clock: FakeClock, decision: str, said: str, links: list[str]
) -> None:
    memory = browser.memory
    memory.save("The deadline is March 15")
    clock.forward(hours=1)
    new = memory.save("The deadline is March 16")
    (form,) = forms(browser)
    assert said in browser.post("/review/link", {**form, "decision": decision}).text
    assert [link.type for link in memory.links(new.id)] == links
    again = browser.post("/review/link", {**form, "decision": "reject"}, status=422)
    assert "must be a suggested link" in again.text


def test_J9_what_changed_meanwhile_is_not_decided_and_the_typed_text_is_kept(
    browser: Browser,
) -> None:
    memory = browser.memory
    saved = save(memory, "Sara drinks coffee")
    first, *_ = forms(browser)
    memory.update(saved.id, content="Sara drinks motor oil")
    for decision in ("confirm", "edit", "replace"):
        typed = {**first, "decision": decision, "content": "Sara drinks tea"}
        page = browser.post("/review/memory", typed, status=409)
        assert "has changed since you read it" in page.text
        assert "Sara drinks motor oil" in page.text
        assert ("Sara drinks tea" in page.text) is (decision != "confirm")
    assert memory.count_review().memories == 1
    memory.delete(saved.id)
    typed = {**first, "decision": "edit", "content": "Sara drinks tea"}
    page = browser.post("/review/memory", typed, status=404)
    assert "Your text:Sara drinks tea" in page.text


def test_J9_bad_input_is_explained(browser: Browser) -> None:
    saved = save(browser.memory, "Sara drinks coffee")
    first, *_ = forms(browser)
    for fields, message in (
        ({"decision": "edit", "content": " "}, "Content must not be empty"),
        ({"decision": "replace", "content": ""}, "Content must not be empty"),
        ({"decision": "replace", "content": saved.content}, "Content must differ"),
        ({"decision": "eat"}, "Decision must be confirm, edit, replace or forget"),
        ({}, "Decision must be"),
    ):
        assert message in browser.post("/review/memory", {**first, **fields}, status=422).text
    assert [item.memory for item in browser.memory.review()] == [saved]


def test_J9_pages_filters_and_the_place_are_kept(
    browser: Browser, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_page, "PAGE", 2)
    memory = browser.memory
    for number, text in enumerate(("Sara drinks coffee", "Otters swim", "Ben has a dog")):
        clock.forward(hours=1)
        save(memory, text, project="shop", kind="fact", importance=0.1 + number / 10)
    save(memory, "Another project", project="other")
    page = browser.get("/review?project=shop&kind=fact")
    assert "Another project" not in page.text
    assert [one["href"] for one in page.all("a") if one.get("rel") == "next"] == [
        "/review?project=shop&kind=fact&offset=2"
    ]
    focused = [one for one in page.all("a") if "autofocus" in one]
    assert len(focused) == 1
    last = "/review?project=shop&kind=fact&offset=2"
    assert "Sara drinks coffee" in browser.get(last).text
    first, *_ = forms(browser, last)
    answer = browser.send("/review/memory", {**first, "decision": "confirm"})
    assert answer.headers["location"] == (
        "/review?project=shop&kind=fact&offset=2&at=0&flash=confirmed"
    )
    page = browser.get(answer.headers["location"])
    assert "Ben has a dog" in page.text  # the last page is empty now: the one before it is shown
    page = browser.get("/review?order=importance&project=shop")
    assert page.text.index("Ben has a dog") < page.text.index("Otters swim")
    assert "Nothing to review here" in browser.get("/review?kind=decision").text
    for odd in ("offset=-5", "at=99", "at=-1", "order=size", "undo=nobody"):
        assert "Ben has a dog" in browser.get(f"/review?{odd}").text
    assert "Otters swim" in browser.get("/review?offset=99999999999").text  # the last page
