"""A real Chromium with a vault. Without Chromium, the tests that need it are skipped.

The browser and axe-core come from tests/node/browser, which `make test` installs
(`scripts/node.py`), or the browser is the one in `MUISTI_CHROMIUM`; its libraries may be in `lib/`
beside it. `MUISTI_SHOTS` names a folder for screenshots.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from muisti import Muisti, bootstrap
from muisti.surfaces.web import create_router

INSTALLED = Path(__file__).parents[2] / ".venv" / "node" / "browser"
CHROMIUM = os.environ.get("MUISTI_CHROMIUM") or str(INSTALLED / "chromium" / "chromium")
AXE = INSTALLED / "node_modules" / "axe-core" / "axe.min.js"
ARGUMENTS = [
    "--no-sandbox",
    "--headless=shell",
    "--disable-gpu",
    "--no-zygote",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--disable-component-update",
]
needs_chromium = pytest.mark.skipif(
    not Path(CHROMIUM).is_file(), reason="no Chromium here: python scripts/node.py browser"
)
UNSETTLED = (
    ".htmx-request, [hx-trigger=load] > a, #graph:not([data-drawn]), .plots:not([data-drawn])"
)
"""What a page contains while it is loading. Waiting for network idle takes half a second a page."""


@contextmanager
def launched() -> Iterator[Any]:
    """Yield the browser."""
    from playwright.sync_api import sync_playwright

    folder = Path(CHROMIUM).parent
    extra = (
        {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_PATH": str(folder)}
        if (folder / "lib").is_dir()
        else {}
    )
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=ARGUMENTS, env={**os.environ, **extra}
        )
        yield browser
        browser.close()


@contextmanager
def served(memory: Muisti, get_revision: Callable[[], int] | None = None) -> Iterator[str]:
    """Serve the pages of a vault, and yield their address."""
    app = FastAPI()
    app.include_router(create_router(memory, get_revision=get_revision))
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


# Not session scope: while it lives, nothing else in this thread can run an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with launched() as browser:
        yield browser


@dataclass
class Seen:
    """A page in a browser, with its vault."""

    page: Any
    memory: Muisti
    vault: Path
    address: str
    context: Any
    wrong: list[str] = field(default_factory=list)
    stamp: int = 0

    def open(self, path: str) -> Any:
        """Open a path."""
        self.page.goto(f"{self.address}{path}")
        return self.page

    def settle(self, path: str) -> Any:
        """Open a path, and wait until the page is complete."""
        from playwright.sync_api import expect

        page = self.open(path)
        expect(page.locator(UNSETTLED)).to_have_count(0)
        return page

    def changed(self) -> None:
        """Change the revision, as a change of the vault does."""
        self.stamp += 1

    def shot(self, name: str) -> None:
        if folder := os.environ.get("MUISTI_SHOTS"):
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


Visit = Callable[..., Seen]


@pytest.fixture
def visit(chromium: Any, vault: Path) -> Iterator[Visit]:
    """Return a function that opens the test's vault in the browser."""
    closing: list[Callable[[], None]] = []

    def begin(**context_options: Any) -> Seen:
        memory = bootstrap.open(vault, settings={"embedder": "none"})
        closing.append(memory.close)
        context = chromium.new_context(
            locale="en-GB", **{"viewport": {"width": 1180, "height": 800}, **context_options}
        )
        closing.append(context.close)
        context.set_default_timeout(8000)
        seen = Seen(context.new_page(), memory, vault, "", context)
        _watch(seen.page, seen.wrong)
        server = served(memory, lambda: seen.stamp)
        seen.address = server.__enter__()
        closing.append(lambda: server.__exit__(None, None, None))
        return seen

    yield begin
    for end in reversed(closing):
        end()


def _watch(page: Any, wrong: list[str]) -> None:
    page.on(
        "console",
        lambda one: (
            wrong.append(one.text)
            if one.type == "error" and "status of 4" not in one.text
            else None
        ),
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def dismiss(dialog: Any) -> None:
        wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)
