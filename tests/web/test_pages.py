"""Every page: its content, its empty state and its errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muisti import Muisti
from muisti.model import KINDS, Message, SearchResult
from muisti.surfaces.web import static
from muisti.surfaces.web.highlight import highlight, strip_markdown
from muisti.surfaces.web.markdown import render_markdown
from muisti.surfaces.web.render import hue_class
from muisti.surfaces.web.stats import count_new
from tests.conftest import FakeClock
from tests.web.conftest import Browser, Filled, Parsed, Surf

PAGES = [
    "/",
    "/?q=pilot",
    "/new",
    "/review",
    "/timeline",
    "/graph",
    "/stats",
    "/sessions",
    "/conversations",
    "/core",
    "/trash",
    "/archive",
    "/merged",
    "/status",
]


@pytest.mark.parametrize("path", PAGES)
def test_J5_a_page_of_an_empty_vault_says_what_to_do(empty: Browser, path: str) -> None:
    page = empty.get(path)
    assert len([1 for tag, _ in page.tags if tag == "h1"]) == 1
    assert page.all("html")[0]["lang"] == "en"
    if path not in ("/core", "/status", "/new"):
        assert any(one.get("class") == "empty" for one in page.all("section")), (
            "an empty page without a hint"
        )


@pytest.mark.parametrize("path", PAGES)
def test_J5_a_page_of_a_filled_vault_shows_something(filled: Filled, path: str) -> None:
    page = filled.get(path)
    assert not any(one.get("class") == "empty" for one in page.all("section"))
    labelled = {one.get("for") for one in page.all("label")}
    assert not [one for one in page.all("img") if "alt" not in one]
    assert "q" in labelled or path.partition("?")[0] != "/"


def test_J5_search_finds_shows_words_and_reasons(filled: Filled) -> None:
    page = filled.get("/?q=pilot deadline")
    assert "Pilot deadline moved" in page.text
    assert "keyword" in page.text  # a ranking signal
    assert page.all("mark")
    assert ("span", {"class": "source"}) in page.tags  # a message


@pytest.mark.parametrize(
    ("path", "there", "gone"),
    [
        ("/?q=pilot&source=message", "telegram_1", "Pilot deadline moved"),
        ("/?q=pilot&source=memory", "Pilot deadline moved", "telegram_1"),
        ("/?q=fridays&kind=note", "Fridays", "No results"),
        ("/?q=fridays&project=orders", "Filters are active", "README"),
        ("/?kind=decision", "PostgreSQL", "Fridays"),
        ("/?source=message", "Filters are active", "Fridays"),
    ],
)
def test_J5_filters_narrow(filled: Filled, path: str, there: str, gone: str) -> None:
    text = filled.get(path, part=True).text
    assert there in text
    assert gone not in text


def test_J5_a_part_is_no_whole_page_and_names_its_address(filled: Filled) -> None:
    answer = filled.client.get("/?q=pilot&kind=&n=20", headers={"HX-Request": "true"})
    assert "<html" not in answer.text
    assert answer.headers["HX-Replace-Url"] == "/?q=pilot"
    whole = filled.client.get(
        "/?q=pilot", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"}
    )
    assert "<html" in whole.text


def test_J5_viewing_is_not_a_recall(filled: Filled) -> None:
    for query in ("pi", "pil", "pilot"):
        filled.get(f"/?q={query}", part=True)
    filled.get(f"/memory/{filled.newer.id}")
    filled.memory.flush()
    found = filled.memory.get(filled.newer.id)
    assert found is not None
    assert found.access_count == 0


def test_J5_one_memory_with_its_links_history_and_neighbours(filled: Filled) -> None:
    page = filled.get(f"/memory/{filled.fact.id}")
    assert "Outdated. Replaced by Pilot deadline moved." in page.text
    assert "supersedes" in page.text
    assert ("strong", {}) in filled.get(f"/memory/{filled.decision.id}").tags
    assert "Pilot deadline" in filled.get(f"/memory/{filled.newer.id}/related", part=True).text
    history = filled.get(f"/memory/{filled.decision.id}/history", part=True)
    assert "merged" in history.text
    assert "Merged text" in history.text
    assert "History of" in filled.get(f"/memory/{filled.decision.id}/history").text
    assert "No human has confirmed this memory" in filled.get(f"/memory/{filled.guess.id}").text


def test_H4_pages_mark_what_is_outdated_and_link_to_what_replaced_it(filled: Filled) -> None:
    for path in ("/?q=pilot+deadline", "/", "/timeline"):
        page = filled.get(path)
        assert "outdated, replaced by Pilot deadline moved" in page.text, path
        links = [one.get("href", "") for one in page.all("a")]
        assert sum(filled.newer.id in href for href in links) >= 2, path


def test_J5_deleted_and_archived_memories_are_readable(filled: Filled) -> None:
    assert "In the trash since" in filled.get(f"/memory/{filled.trashed.id}").text
    assert "In the archive" in filled.get(f"/memory/{filled.archived.id}").text
    assert "Weekend" in filled.get("/trash").text
    assert "Printer" in filled.get("/archive").text
    assert "Undo merge" in filled.get("/merged").text


def test_J5_a_message_is_shown_in_its_conversation(filled: Filled) -> None:
    found = filled.memory.search("pilot", source="message")[0]
    assert isinstance(found, SearchResult)
    assert isinstance(found.message, Message)
    page = filled.client.get("/entry", params={"id": found.memory.id})
    assert page.status_code == 200
    assert "telegram_1" in page.text
    conversation = filled.get("/conversation?name=telegram_1")
    assert "When is the pilot due?" in conversation.text
    assert ("strong", {}) in conversation.tags
    assert "2 messages found" in filled.get("/conversation?name=telegram_1&q=pilot+march").text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/chats?offset=100", "/conversations?offset=100"),
        ("/chat?name=telegram_1&q=a%20b", "/conversation?name=telegram_1&q=a%20b"),
        ("/numbers", "/stats"),
    ],
)
def test_M2_old_addresses_redirect(empty: Browser, old: str, new: str) -> None:
    answer = empty.client.get(old, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, new)


def test_J5_the_graph_as_picture_and_as_list(filled: Filled) -> None:
    assert "Pilot deadline moved supersedes → Pilot deadline" in filled.get("/graph").text
    data = filled.client.get("/graph/data").json()
    assert {edge["label"] for edge in data["edges"]} == {"supersedes", "related to"}
    around = filled.client.get("/graph/data", params={"around": filled.fact.id}).json()
    assert [node["label"] for node in around["nodes"] if node["centre"]] == ["Pilot deadline"]


def test_J5_the_graph_is_filtered_by_kind_and_project(filled: Filled) -> None:
    page = filled.get("/graph?kind=decision")
    assert "Fridays related to → PostgreSQL" in page.text
    assert "supersedes" not in page.text
    data = filled.client.get("/graph/data?kind=decision").json()
    assert {node["label"]: node["matches"] for node in data["nodes"]} == {
        "PostgreSQL": True,
        "Fridays": False,  # the other end of a link
    }
    source = next(one["data-source"] for one in page.all("div") if one.get("id") == "graph")
    assert source == "/graph/data?kind=decision"
    assert "Fridays" in filled.get("/graph?project=orders").text
    assert "No links found" in filled.get("/graph?project=nobody").text


def test_J5_the_legend_of_the_graph_has_its_kinds_and_links(filled: Filled) -> None:
    page = filled.get("/graph")
    hues = [one["data-hue"] for one in page.all("span") if "data-hue" in one]
    assert sorted(hues) == sorted({hue_class(kind) for kind in ("decision", "fact", "note")})
    types = [one["data-link"] for one in page.all("span") if "data-link" in one]
    assert types == ["SUPERSEDES", "RELATED_TO"]
    assert [one for one in page.all("details") if "open" in one] == []
    degrees = {node["label"]: node["links"] for node in _graph_nodes(filled)}
    assert degrees["Pilot deadline"] == 1


def _graph_nodes(filled: Filled) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = filled.client.get("/graph/data").json()["nodes"]
    return nodes


def test_J5_built_in_kinds_have_different_colors() -> None:
    assert len({hue_class(kind) for kind in KINDS}) == len(KINDS)
    css = (Path(static.__file__).parent / "static" / "app.css").read_text()
    for kind in (*KINDS, "recipe", "日記"):
        assert f".{hue_class(kind)} {{" in css


def test_J5_stats_add_up(filled: Filled) -> None:
    data = json.loads(
        next(
            one["data-figures"] for one in filled.get("/stats").all("div") if "data-figures" in one
        )
    )
    total = filled.memory.get_stats().total_count
    assert (
        sum(data["kinds"]["values"])
        == sum(data["new"]["new"])
        == data["growth"]["all"][-1]
        == sum(data["salience"]["values"])
        == total
    )


@pytest.mark.parametrize(
    ("days", "period", "bars"), [(0, "day", 1), (119, "day", 120), (120, "week", 18)]
)
def test_J5_new_memories_are_counted_by_day_week_or_month(
    days: int, period: str, bars: int
) -> None:
    now = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)  # a Tuesday
    counted = count_new([now - timedelta(days=days), now], now)
    assert (counted["period"], len(counted["new"])) == (period, bars)  # type: ignore[arg-type]
    assert sum(counted["new"]) == 2  # type: ignore[arg-type]


def test_J5_years_of_memories_are_counted_by_month() -> None:
    now = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)
    counted = count_new([datetime(2023, 12, 31, tzinfo=UTC), now], now)
    assert counted["period"] == "month"
    assert counted["labels"][0] == "2023-12-01"  # type: ignore[index]
    assert len(counted["new"]) == 36  # type: ignore[arg-type]
    assert count_new([], now)["new"] == []


def test_J5_the_timeline_is_paged(empty: Browser) -> None:
    empty.memory.save_batch([f"Place {n} of the list is {n * 7919}." for n in range(60)])
    page = empty.get("/timeline")
    assert len([one for one in page.all("a") if one.get("class") == "title"]) == 50
    older = next(one["href"] for one in page.all("a") if "offset=50" in one.get("href", ""))
    assert len([one for one in empty.get(older).all("a") if one.get("class") == "title"]) == 10


def test_J5_standing_instructions_are_a_group(empty: Browser) -> None:
    empty.memory.save("Always use type hints")
    empty.memory.save("The server always restarts at 3")
    for address in ("/?only=standing+instructions", "/?q=always&only=standing+instructions"):
        page = empty.get(address).text
        assert "type hints" in page
        assert "restarts at 3" not in page


def test_D5_a_page_says_when_search_is_by_keyword_only(surf: Surf) -> None:
    browser = surf(embedder="ollama", embedder_url="http://127.0.0.1:9", embedder_timeout=0.5)
    browser.memory.save("The pilot begins in March.")
    assert "Keyword search only" in browser.get("/?q=pilot").text
    assert "Problems found" in browser.get("/status").text


@pytest.mark.parametrize(
    "bad",
    ["x", "..%2f..%2fetc%2fpasswd", "%2e%2e", "a%00b", "-", "'; drop table memories;--", "ä" * 300],
)
@pytest.mark.parametrize("rest", ["", "/edit", "/history", "/related", "/erase"])
def test_K3_an_invalid_id_is_not_found(filled: Filled, bad: str, rest: str) -> None:
    answer = filled.client.get(f"/memory/{bad}{rest}")
    assert answer.status_code == 404
    assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/memory/unknown", 404, "No memory has the ID unknown"),
        ("/entry?id=message:nobody/1/2", 404, "No memory has the ID"),
        ("/conversation?name=../../etc", 404, "There is no conversation"),
        ("/?q=x&kind=poem", 422, "must be one of"),
        ("/timeline?kind=poem", 422, "must be one of"),
        ("/timeline?offset=many", 422, "is not a number"),
        ("/graph?around=unknown", 404, "No memory has the ID"),
    ],
)
def test_J5_errors_are_sentences(filled: Filled, path: str, status: int, sentence: str) -> None:
    page = filled.get(path, status)
    assert sentence in page.text
    assert any(one.get("role") == "alert" for one in page.all("p"))
    assert filled.get(path, status, part=True).all("html") == []


@pytest.mark.parametrize(
    ("text", "query", "hits"),
    [
        ("The deadline of the pilot", "when is the deadline", ["deadline"]),
        ("Deadlines matter", "deadline", ["Deadlines"]),
        ("数据库迁移必须", "迁移", ["迁移"]),
        ("nothing", "", []),
        ("İstanbul'da", "istanbul", None),
    ],
)
def test_J5_words_are_marked(text: str, query: str, hits: list[str] | None) -> None:
    pieces = highlight(text, query)
    assert "".join(piece for piece, _ in pieces) == text
    if hits is not None:
        assert [piece for piece, hit in pieces if hit] == hits


def test_J5_snippets_are_plain() -> None:
    assert strip_markdown("## Why\n\n- **jsonb** and `ORDERS_DSN`") == "Why jsonb and ORDERS_DSN"


def test_J5_open_pages_ask_whether_something_changed(opened, empty: Browser) -> None:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from muisti.surfaces.web import create_router

    app = FastAPI()
    app.include_router(create_router(empty.memory, get_revision=lambda: 7))
    with TestClient(app) as client:
        assert client.get("/revision").text == client.get("/pulse").text == "7"
        assert 'data-revision-url="/revision"' in client.get("/").text
    assert "data-revision-url" not in empty.client.get("/").text


def test_J5_a_timeline_begins_at_the_day_that_is_asked_for(
    empty: Browser, clock: FakeClock
) -> None:
    for n in range(120):  # two a day
        empty.memory.save(
            f"Place {n} of the list is {n * 7919}.",
            title=f"Place {n}.",
            project="odd" if n % 2 else None,
        )
        clock.forward(hours=12)
    days = [
        one["datetime"]
        for one in empty.get("/timeline?on=2026-03-30").all("time")
        if len(one["datetime"]) == 10
    ]
    assert days[0] == "2026-03-30"
    assert days == sorted(days, reverse=True)
    page = empty.get("/timeline?on=2026-03-30")
    assert {one["rel"] for one in page.all("a") if one.get("rel") in ("prev", "next")} == {
        "prev"
    }  # there is less than one page of earlier memories
    newer = next(one["href"] for one in page.all("a") if one.get("rel") == "prev")
    assert "Place 60." in empty.get(newer).text
    assert (
        "There are none on Monday, 9 March 2026 or earlier"
        in empty.get("/timeline?on=2026-03-09").text
    )
    assert "Place 119." in empty.get("/timeline?on=2030-01-01").text
    assert "showing earlier ones" in empty.get("/timeline?on=2030-01-01").text
    only = empty.get("/timeline?on=2026-03-12&project=odd").text
    assert "Place 3." in only
    assert "Place 4." not in only


@pytest.mark.parametrize(
    "day", ["yesterday", "2026-13-01", "9999-12-31", "0001-01-01", "2026-02-30"]
)
def test_J5_an_invalid_day_is_explained(filled: Filled, day: str) -> None:
    answer = filled.client.get("/timeline", params={"on": day})
    assert answer.status_code == (200 if day in ("9999-12-31", "0001-01-01") else 422)
    if answer.status_code == 422:
        assert "like 2026-03-15" in answer.text


def _counted(monkeypatch: pytest.MonkeyPatch, memory: Muisti, name: str) -> list[object]:
    """Return a list that gets the arguments of each call of a method."""
    asked: list[object] = []
    answer = getattr(memory, name)

    def counted(*given: object, **options: object) -> object:
        asked.append(given)
        return answer(*given, **options)

    monkeypatch.setattr(memory, name, counted)
    return asked


def test_B6_the_trash_is_read_page_by_page_the_latest_first(
    empty: Browser, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = empty.memory.save_batch([f"Place {n} of the list is {n * 7919}." for n in range(70)])
    for one in saved[:60]:
        clock.forward(minutes=1)
        empty.memory.delete(one.id)
    (empty.memory.root / ".trash" / "by_hand.md").write_text("Somebody put this here.")
    read, listed = (
        _counted(monkeypatch, empty.memory, "list_trash"),
        _counted(monkeypatch, empty.memory, "list"),
    )
    page = empty.get("/trash")
    assert "60 memories in the trash" in page.text
    assert (len(read), listed) == (1, [])
    first = [one["href"] for one in page.all("a") if one.get("class") == "title"]
    older = next(one["href"] for one in page.all("a") if one.get("rel") == "next")
    rest = [one["href"] for one in empty.get(older).all("a") if one.get("class") == "title"]
    assert first + rest == [f"/memory/{one.id}" for one in reversed(saved[:60])]


def test_C3_merges_are_read_page_by_page(empty: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(30):
        empty.memory.save(f"The auth module of service {n} is in src/auth{n}/index.ts")
        empty.memory.save(
            f"The authentication module of service {n} is located in src/auth{n}/index.ts"
        )
    asked = _counted(monkeypatch, empty.memory, "history")
    page = empty.get("/merged")
    count = empty.memory.merged_count()
    assert f"{count} memories have merged duplicates" in page.text
    assert len(asked) == 25 < count
    older = next(one["href"] for one in page.all("a") if one.get("rel") == "next")
    assert empty.get(older).text.count("Undo merge") == count - 25


def test_B6_the_archive_is_read_only_for_what_is_in_it(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = _counted(monkeypatch, filled.memory, "list_archive")
    filled.get("/memory/unknown", 404)
    assert "In the archive" in filled.get(f"/memory/{filled.archived.id}").text
    assert read == []


def test_J5_conversations_are_paged(empty: Browser) -> None:
    for n in range(103):
        empty.memory.append_message(f"telegram_{n}", "user", "Hello")
    page = empty.get("/conversations")
    assert page.text.count("in the current session") == 100
    assert empty.get("/conversations?offset=100").text.count("in the current session") == 3


def test_B3_versions_are_compared(empty: Browser) -> None:
    one = empty.memory.save("The pilot begins on 15 March.\n\nIt ends in May.", title="Pilot")
    empty.memory.update(one.id, content="The pilot begins on 29 March.\n\nIt ends in May.")
    empty.memory.update(
        one.id, content="The pilot begins on 29 March.\n\nIt ends in June.\n\nMaija leads it."
    )
    page = empty.get(f"/memory/{one.id}/changes")
    assert len(page.all("ins")) == 3  # the legend, a word, a line
    assert "MayJune" in page.text
    assert "15" not in page.text
    assert "1529" in empty.get(f"/memory/{one.id}/changes?old=1&new=2").text
    assert "2915" in empty.get(f"/memory/{one.id}/changes?old=2&new=1").text
    history = empty.get(f"/memory/{one.id}/history", part=True)
    addresses = [
        one["href"].partition("?")[2]
        for one in history.all("a")
        if "/changes" in one.get("href", "")
    ]
    assert addresses == ["old=2&new=3", "old=1&new=2"]
    assert "has 3 versions" in empty.get(f"/memory/{one.id}/changes?old=4", 404).text
    alone = empty.memory.save("The lighthouse is white.")
    assert "No changes yet" in empty.get(f"/memory/{alone.id}/changes").text


def test_I1_the_health_page_shows_what_waits(surf: Surf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muisti.engine.extraction.PATIENCE", 0.0)  # do not wait at close
    down = "http://127.0.0.1:9"
    browser = surf(
        embedder="ollama",
        embedder_url=down,
        embedder_timeout=0.5,
        extractor="ollama",
        extractor_url=down,
        extractor_model="m",
    )
    browser.memory.save("The pilot begins in March.")
    text = browser.get("/status").text
    assert "Not embedded yet1, found by keyword until then" in text
    assert "Waiting0 exchanges" in text
    browser.memory.extract_and_save("s1", "I prefer short answers.", "Noted.")
    assert "Waiting1 exchange, kept on disk" in browser.get("/status").text


def test_J5_the_alignment_of_a_cell_is_kept_without_a_style() -> None:
    page = Parsed(render_markdown("| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |"))
    assert [one.get("class") for one in page.all("td")] == ["to-left", "to-center", "to-right"]
    assert not [one for one in page.all("th") if "style" in one]
