"""A test client that uses the page as a browser does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from muisti import Memory, Muisti
from muisti.surfaces.web import create_router
from tests.conftest import FakeClock, Opener

ADDRESS = "http://127.0.0.1:8765"


class Parsed(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@dataclass
class Browser:
    """A client that submits the page's own forms."""

    client: TestClient
    memory: Muisti

    def get(self, path: str, status: int = 200, *, part: bool = False) -> Parsed:
        answer = self.client.get(path, headers={"HX-Request": "true"} if part else {})
        assert answer.status_code == status, (path, answer.status_code, answer.text[-400:])
        return Parsed(answer.text)

    def token(self) -> str:
        return next(
            one["value"] for one in self.get("/core").all("input") if one.get("name") == "csrf"
        )

    def send(
        self, path: str, fields: dict[str, str] | None = None, **headers: str
    ) -> httpx2.Response:
        data = {"csrf": self.token(), **(fields or {})}
        return self.client.post(
            path, data=data, headers={"Origin": ADDRESS, **headers}, follow_redirects=False
        )

    def post(self, path: str, fields: dict[str, str] | None = None, status: int = 303) -> Parsed:
        """Submit a form and follow the redirect."""
        answer = self.send(path, fields)
        assert answer.status_code == status, (
            path,
            answer.status_code,
            Parsed(answer.text).text[-400:],
        )
        return self.get(answer.headers["location"]) if status == 303 else Parsed(answer.text)

    def form(self, path: str) -> dict[str, str]:
        """Return the fields of the page's largest form, unchanged."""
        html = self.client.get(path).text
        form = max(re.findall(r"<form.*?</form>", html, re.DOTALL), key=len)
        parsed = Parsed(form)
        fields = {}
        for one in parsed.all("input"):
            if one.get("type") in ("checkbox", "radio") and "checked" not in one:
                continue
            if "name" in one:
                fields[one["name"]] = one.get("value", "")
        chosen = re.search(r'<select name="kind">.*?value="([^"]*)" selected', form, re.DOTALL)
        fields["kind"] = chosen[1] if chosen else ""
        text = re.search(r'<textarea name="content"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
        fields["content"] = _unescaped(text[1]) if text else ""
        return fields


def _unescaped(text: str) -> str:
    import html

    return html.unescape(text).replace("\n", "\r\n")  # as browsers send it


Surf = Callable[..., Browser]


@pytest.fixture
def surf(opened: Opener) -> Iterator[Surf]:
    clients: list[TestClient] = []

    def begin(**options: Any) -> Browser:
        memory = opened(**{"embedder": "none", **options})
        app = FastAPI()
        app.include_router(create_router(memory))
        client = TestClient(app, base_url=ADDRESS, raise_server_exceptions=True)
        clients.append(client)
        return Browser(client, memory)

    yield begin
    for client in clients:
        client.close()


@pytest.fixture
def empty(surf: Surf) -> Browser:
    return surf()


@dataclass
class Filled(Browser):
    """A vault with one of everything."""

    decision: Memory
    fact: Memory
    newer: Memory
    trashed: Memory
    archived: Memory
    guess: Memory


@pytest.fixture
def filled(surf: Surf, clock: FakeClock) -> Filled:
    browser = surf()
    memory = browser.memory
    archived = memory.save(
        "The old printer stood on the third floor.", title="Printer", kind="note"
    )
    memory.evict(1, to=0.0)
    decision = memory.save(
        "We chose **PostgreSQL** for the orders service.\n\n- jsonb\n- replication",
        title="PostgreSQL",
        kind="decision",
        project="orders",
        keywords=["database"],
    )
    memory.save("We chose PostgreSQL for the orders service. jsonb replication", project="orders")
    fact = memory.save(
        "The deadline of the pilot is 15 March.",
        title="Pilot deadline",
        kind="fact",
        project="orders",
    )
    clock.forward(days=2)
    newer = memory.save(
        "The deadline of the pilot is 29 March.",
        title="Pilot deadline moved",
        kind="fact",
        project="orders",
    )
    memory.supersede(fact.id, newer.id)
    guess = memory.save(
        "A README says that deploys happen on Fridays.",
        title="Fridays",
        kind="note",
        trusted=False,
        source="import",
    )
    memory.link(guess.id, decision.id, "RELATED_TO")
    trashed = memory.save("Rewrite it all in a weekend.", title="Weekend", kind="note")
    memory.delete(trashed.id)
    memory.start_session("orders", session_id="telegram_1")
    memory.core_update("user", "name", "Maija")
    memory.append_message("telegram_1", "user", "When is the pilot due?")
    memory.append_message("telegram_1", "assistant", "On **29 March**.")
    return Filled(browser.client, memory, decision, fact, newer, trashed, archived, guess)
