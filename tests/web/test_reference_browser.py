"""The API reference at /docs in a real browser (contract J3)."""

from __future__ import annotations

from typing import Any

import pytest

from muisti import Muisti
from tests.conftest import Opener
from tests.rest.conftest import served
from tests.web.browsing import AXE, chromium, needs_chromium

pytestmark = [needs_chromium, pytest.mark.exhaustive]
__all__ = ["chromium"]


@pytest.fixture
def memory(opened: Opener) -> Muisti:
    return opened(embedder="none")


def test_J3_the_reference_can_be_searched_and_has_no_faults(chromium: Any, memory: Muisti) -> None:
    with served(memory) as address:
        context = chromium.new_context(viewport={"width": 360, "height": 740})
        page = context.new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.extend([asked.url] * (address not in asked.url)))
        page.goto(f"{address}/docs#saveMemory")
        assert page.locator("#saveMemory").evaluate("one => one.open")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.fill("#search", "save memory")
        assert page.locator(".operation:visible").count() < 10
        assert page.locator("#saveMemory:visible").count() == 1
        page.fill("#search", "xyzzy")
        assert page.locator("#none:visible").count() == 1
        page.fill("#search", "")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        if AXE.is_file():
            page.evaluate(AXE.read_text())
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
                faults = [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]]
                assert faults == [], scheme
        context.close()
    assert wrong == []
