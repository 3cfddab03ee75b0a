"""The pages of sessions: the list, one session, and the links to them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from muisti import Muisti
from tests.conftest import FakeClock
from tests.web.conftest import Browser, Parsed


def save_in(memory: Muisti, session: str, text: str) -> str:
    """Save a text in a session, and return the id of the memory."""
    return memory.save(text, session_id=session).id


@pytest.fixture
def worked(empty: Browser, clock: FakeClock) -> Browser:
    """Three sessions: of orders and billing, completed and active, one with a conversation."""
    memory = empty.memory
    memory.append_message("claude_1", "user", "Where do orders live?", project="orders")
    memory.start_session("orders", session_id="claude_1", user="")
    first = save_in(memory, "claude_1", "Orders live in PostgreSQL.")
    clock.forward(minutes=10)
    second = save_in(memory, "claude_1", "The pilot begins in March.")
    memory.link_to_session(first, "claude_1", "recalled")
    clock.forward(minutes=10)
    memory.link_to_session(first, "claude_1", "recalled")
    memory.update(second, content="The pilot begins in April.", by_session="claude_1")
    memory.end_session("claude_1", "Chose the **database**.", tool_calls=12)
    clock.forward(days=1)
    memory.start_session("billing", session_id="codex_2", user="ben")
    save_in(memory, "codex_2", "Invoices go out on the third.")
    clock.forward(days=1)
    memory.start_session("billing", session_id="codex_3", user="aino")
    return empty


def titles(page: Parsed) -> list[str]:
    """Return the addresses of the rows."""
    return [one["href"] for one in page.all("a") if one.get("class") == "title"]


def test_F1_the_list_shows_sessions_the_latest_first(worked: Browser) -> None:
    page = worked.get("/sessions")
    assert titles(page) == [f"/session?id={name}" for name in ("codex_3", "codex_2", "claude_1")]
    assert "3 sessions" in page.text
    assert page.text.count("active") >= 2
    assert "Chose the database." in page.text
    assert "2 created" in page.text
    assert "1 recalled" in page.text  # one memory, twice


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("project=billing", ["codex_3", "codex_2"]),
        ("user=ben", ["codex_2"]),
        ("state=completed", ["claude_1"]),
        ("project=billing&user=aino&state=active", ["codex_3"]),
        ("project=orders&user=ben", []),
    ],
)
def test_A3_sessions_are_filtered_by_scope_and_state(
    worked: Browser, query: str, names: list[str]
) -> None:
    page = worked.get(f"/sessions?{query}")
    assert titles(page) == [f"/session?id={name}" for name in names]
    assert ("Filters are active" in page.text) == (not names)


def test_F2_a_session_shows_its_memories_and_what_it_did_with_them(worked: Browser) -> None:
    page = worked.get("/session?id=claude_1")
    saved = [one.id for one in worked.memory.get_by_session("claude_1")]
    assert titles(page) == [f"/memory/{one}" for one in saved]
    assert "2 created, 1 recalled, 1 updated" in page.text
    assert ("strong", {}) in page.tags  # the summary is Markdown
    assert "12" in page.text
    assert "/conversation?name=claude_1" in [one.get("href") for one in page.all("a")]
    assert "/session?id=claude_1" in [
        one.get("href") for one in worked.get(f"/memory/{saved[0]}").all("a")
    ]
    assert "It used no memories." in worked.get("/session?id=codex_3").text


def test_F2_a_session_says_what_is_gone(worked: Browser) -> None:
    first, second = worked.memory.get_by_session("claude_1")
    worked.memory.delete(first.id)
    page = worked.get("/session?id=claude_1")
    assert titles(page) == [f"/memory/{second.id}"]
    assert "1 of its memories is not shown" in page.text
    worked.memory.delete(second.id)
    assert "2 of its memories are not shown" in worked.get("/session?id=claude_1").text


def test_F1_a_session_that_nobody_started_has_a_page(empty: Browser) -> None:
    name = "by hand & co/é"
    (empty.memory.root / "notes").mkdir()
    (empty.memory.root / "notes" / "a.md").write_text(
        f"---\nsession_id: {name}\n---\nThe lighthouse is white."
    )
    empty.memory.sync()
    one = empty.memory.list(project="*")[0]
    address = f"/session?id={quote(name)}"
    assert address in [link.get("href") for link in empty.get(f"/memory/{one.id}").all("a")]
    page = empty.get(address)
    assert titles(page) == [f"/memory/{one.id}"]
    assert "never started" in page.text


def test_F1_sessions_and_their_memories_are_paged(empty: Browser, clock: FakeClock) -> None:
    for n in range(27):
        clock.forward(minutes=1)
        empty.memory.start_session("orders", session_id=f"s{n}")
    first = empty.get("/sessions?project=orders")
    older = next(one["href"] for one in first.all("a") if one.get("rel") == "next")
    assert "project=orders" in older
    shown = titles(first) + titles(empty.get(older))
    assert shown == [f"/session?id=s{n}" for n in reversed(range(27))]
    assert "No more sessions" in empty.get("/sessions?offset=1000").text
    texts = [{"content": f"Place {n} of the list is {n * 7919}."} for n in range(103)]
    empty.memory.save_batch([{**one, "session_id": "s0"} for one in texts])
    page = empty.get("/session?id=s0")
    later = next(one["href"] for one in page.all("a") if one.get("rel") == "next")
    assert (len(titles(page)), len(titles(empty.get(later)))) == (100, 3)


def test_J5_bad_addresses_of_sessions_are_explained(worked: Browser) -> None:
    assert "must be one of active, completed" in worked.get("/sessions?state=open", 422).text
    assert "session" in worked.get("/session?id=nobody", 404).text
    assert worked.get("/session", 404)
    assert worked.get("/sessions?offset=x", 422)
