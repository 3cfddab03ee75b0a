"""The page within the whole server: the same doors, the same vault, and neither in the other's way
(contract J5, K3, B5).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

import httpx2
import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from tests.rest.conftest import BASE, check_problem, client_of, served, until
from tests.rest.test_B5_watcher import PATIENT, listening
from tests.web.test_pages import PAGES

TOKEN = "correct-horse-battery-staple"
READING = {
    "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "none",
}
"""What a browser sends when somebody opens a page."""


@contextmanager
def paged(memory: Muisti, **options: object) -> Iterator[TestClient]:
    with client_of(memory, web_page=True, **options) as client:
        client.headers.update(READING)
        yield client


@pytest.fixture
def pages(memory: Muisti) -> Iterator[TestClient]:
    memory.save("Redis holds the sessions", title="Sessions")
    with paged(memory) as client:
        yield client


def read(response: httpx2.Response, status: int = 200, referrer: str = "same-origin") -> str:
    """The text of a whole page, which is protected as every page is."""
    assert response.status_code == status, response.text[:300]
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-frame-options"] == "DENY"
    # Without `same-origin` forms would come from `null`, whom the doors refuse.
    assert response.headers["referrer-policy"] == referrer
    assert response.headers["cache-control"] == "no-store"
    assert response.text.startswith("<!doctype html>")
    return unescape(re.sub(r"<[^>]+>", "", response.text))


def outside(response: httpx2.Response, status: int) -> str:
    """The text of the page for who is not let in: without style and script, and it tells nobody
    whence you came.
    """
    assert not re.search(r"<(script|style|link|img|form)", response.text)
    return read(response, status, "no-referrer")


def csrf(client: TestClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get("/core").text)
    assert found
    return found[1]


@pytest.mark.parametrize("path", PAGES)
def test_J5_every_page_is_served_and_protected(pages: TestClient, path: str) -> None:
    assert "muisti" in read(pages.get(path))


def test_J5_a_memory_of_the_api_is_one_of_the_page_and_the_other_way(
    pages: TestClient, memory: Muisti
) -> None:
    made = pages.post(
        "/api/memories", json={"content": "The office is in Oulu", "title": "Office"}
    ).json()
    assert "The office is in Oulu" in read(pages.get(f"/memory/{made['id']}"))
    fields = {
        "csrf": csrf(pages),
        "content": "The lighthouse is white",
        "kind": "",
        "importance": "0.5",
    }
    answer = pages.post("/new", data=fields, headers={"Origin": BASE}, follow_redirects=False)
    assert answer.status_code == 303
    there = answer.headers["location"].partition("?")[0].removeprefix("/memory/")
    assert pages.get(f"/api/memories/{there}").json()["content"] == "The lighthouse is white"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/health", "application/json"),
        ("/ready", "application/json"),
        ("/openapi.json", "application/json"),
        ("/api/stats", "application/json"),
        ("/metrics", "text/plain"),
        ("/docs.css", "text/css"),
    ],
)
def test_J3_the_page_is_not_in_the_way_of_the_api(pages: TestClient, path: str, kind: str) -> None:
    assert pages.get(path).headers["content-type"].startswith(kind)


def test_J5_the_api_is_not_in_the_way_of_the_page(pages: TestClient) -> None:
    assert "Rebuild index" in read(pages.get("/status"))
    assert "openapi.json" in pages.get("/docs").text
    told = pages.get("/openapi.json").json()["paths"]
    assert not [
        path
        for path in told
        if not path.startswith("/api/") and path not in ("/health", "/ready", "/metrics")
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/memory/unknown",
        "/memory/unknown/edit",
        "/memory/",
        "/conversation?name=nobody",
        "/status/sync",
    ],
)
def test_J5_what_is_not_there_is_a_page_for_whoever_reads(pages: TestClient, path: str) -> None:
    text = read(pages.get(path), 404)
    assert "not found" in text.lower()
    assert "Back to search" in text


@pytest.mark.parametrize(
    "path", ["/api/nowhere", "/api/memories/unknown", "/api", "/metrics/x", "/static/x/none.js"]
)
def test_J3_what_is_not_there_is_a_problem_for_programs(pages: TestClient, path: str) -> None:
    answer = pages.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/nowhere"), ("POST", "/nowhere"), ("DELETE", "/"), ("PUT", "/status")],
)
def test_J3_programs_get_problems_at_every_address(
    pages: TestClient, method: str, path: str
) -> None:
    answer = pages.request(method, path, headers={"Accept": "*/*"})
    assert answer.status_code in (404, 405)
    assert answer.headers["content-type"] == "application/problem+json"


def test_J3_a_method_that_the_api_has_not_is_still_told_apart(pages: TestClient) -> None:
    check_problem(pages.get("/api/extract"), 405, "no-such-method")


@pytest.mark.parametrize(
    "path", [*PAGES, "/revision", "/graph/data", "/static/x/app.css", "/nowhere"]
)
def test_K3_the_doors_stand_before_the_page_too(pages: TestClient, path: str) -> None:
    outside(pages.get(path, headers={"Host": "evil.example"}), 421)
    outside(pages.get(path, headers={"Origin": "http://evil.example"}), 403)
    outside(pages.get(path, headers={"Origin": "null"}), 403)
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    check_problem(pages.get(path, headers=embedded), 403, "wrong-origin")


def test_K3_a_link_from_elsewhere_may_lead_here(pages: TestClient) -> None:
    read(pages.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}))


def test_K3_a_form_of_another_page_changes_nothing(pages: TestClient, memory: Muisti) -> None:
    one = memory.list()[0]
    fields = {"csrf": csrf(pages)}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert (
            pages.post(f"/memory/{one.id}/delete", data=fields, headers=headers).status_code == 403
        )
    assert (
        pages.post(
            f"/memory/{one.id}/delete", data={"csrf": "made.up"}, headers={"Origin": BASE}
        ).status_code
        == 403
    )
    assert memory.get(one.id) is not None
    check_problem(
        pages.post("/api/memories", data={"content": "x"}, headers={"Origin": BASE}),
        415,
        "not-json",
    )


def test_K3_a_browser_is_let_in_by_the_address_with_the_token(memory: Muisti) -> None:
    memory.save("Redis holds the sessions")
    with paged(memory, token=TOKEN) as client:
        for path in (*PAGES, "/revision", "/static/x/app.css", "/nowhere"):
            outside(client.get(path), 401)
        outside(client.get(f"/?token={TOKEN}x"), 401)
        entered = client.get(f"/timeline?kind=note&token={TOKEN}", follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, "/timeline?kind=note")
        cookie = entered.headers["set-cookie"]
        assert TOKEN not in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        for path in PAGES:
            read(client.get(path))
        fields = {"csrf": csrf(client), "section": "user", "key": "language", "value": "Finnish"}
        assert (
            client.post(
                "/core", data=fields, headers={"Origin": BASE}, follow_redirects=False
            ).status_code
            == 303
        )
    assert memory.core_get().user == {"language": "Finnish"}


@pytest.mark.parametrize("path", [*PAGES, "/nowhere"])
def test_J5_a_vault_that_is_gone_gives_a_page_that_says_what_to_do(
    pages: TestClient, memory: Muisti, path: str
) -> None:
    away = memory.root.with_name("away")
    shutil.move(memory.root, away)
    text = read(pages.get(path), 503)
    assert "Vault not found" in text
    assert str(memory.root) in text
    assert "Try again" in text
    part = pages.get(path, headers={"HX-Request": "true"})
    assert (part.status_code, "<html" in part.text) == (503, False)
    check_problem(pages.get("/api/stats"), 503, "vault-not-found")
    assert not memory.root.exists(), "a page that is read makes no new vault"
    shutil.move(away, memory.root)
    assert "Sessions" in read(pages.get("/"))


def test_J5_an_empty_folder_where_the_vault_was_is_no_empty_vault(
    pages: TestClient, memory: Muisti
) -> None:
    away = memory.root.with_name("away")
    shutil.move(memory.root, away)
    memory.root.mkdir()
    assert "Vault not found" in read(pages.get("/"), 503)
    memory.root.rmdir()
    shutil.move(away, memory.root)


def test_B5_open_pages_are_told_of_an_edit_and_show_it(memory: Muisti) -> None:
    one = memory.save("Redis holds the sessions", title="Sessions")
    path = memory.root / str(one.file_path)
    with (
        served(memory, web_page=True, watch=True, settle_seconds=0.1) as base,
        listening(base) as heard,
    ):
        client = httpx2.Client(base_url=base, headers=READING, timeout=PATIENT)
        assert 'data-revision-url="/revision"' in client.get("/").text
        before = client.get("/revision").text
        path.write_text(path.read_text().replace("Redis", "Valkey"))
        while not heard.get(timeout=60)[1].get("changed"):
            pass
        assert client.get("/revision").text != before
        assert "Valkey holds the sessions" in client.get(f"/memory/{one.id}").text
        assert "Valkey" in client.get("/?q=sessions", headers={"HX-Request": "true"}).text
        client.close()


def test_B5_a_checkout_of_hundreds_does_not_set_open_pages_going_hundreds_of_times(
    memory: Muisti,
) -> None:
    folder = memory.root / "notes"
    folder.mkdir(exist_ok=True)
    with served(memory, web_page=True, watch=True, settle_seconds=0.1) as base, listening(base):
        client = httpx2.Client(base_url=base, headers=READING, timeout=PATIENT)
        before = int(client.get("/revision").text)
        for n in range(300):
            (folder / f"note{n}.md").write_text(f"Note number {n} tells of topic{n}\n")
        until(lambda: memory.get_stats().total_count == 300)
        until(lambda: int(client.get("/revision").text) > before)
        assert int(client.get("/revision").text) - before <= 6
        assert "of 300 memories" in client.get("/").text
        client.close()


# -- Who is not let in


@pytest.mark.parametrize("asked", ["/", "/?token=wrong", "/memory/some-id", "/docs", "/nothing"])
def test_K3_a_person_without_the_token_is_told_how_to_come_in(memory: Muisti, asked: str) -> None:
    memory.save("Redis holds the sessions")
    with paged(memory, token=TOKEN) as client:
        refused = client.get(asked)
        page = outside(refused, 401)
        assert "/?token=…" in page
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["cache-control"] == "no-store"
        for unsaid in (TOKEN, "Redis", str(memory.root)):
            assert unsaid not in refused.text
        let_in = client.get("/", params={"token": TOKEN})
        assert "Redis" in read(let_in)


def test_K3_a_person_at_another_name_is_told_the_right_one(memory: Muisti) -> None:
    with paged(memory) as client:
        refused = client.get("/", headers={"Host": "evil.com"})
        page = outside(refused, 421)
        assert f"open {BASE}." in page
        assert "evil.com" not in page
        assert "--allow-host" in page


def test_K3_a_form_of_another_page_is_refused_with_a_page(memory: Muisti) -> None:
    saved = memory.save("Redis holds the sessions")
    with paged(memory) as client:
        headers = {"Origin": "http://evil.com", "Sec-Fetch-Site": "cross-site"}
        assert "another site" in outside(
            client.post(f"/memory/{saved.id}/delete", data={"x": "1" * 1000}, headers=headers), 403
        )
        assert memory.get(saved.id) is not None


def test_K3_a_form_that_is_sent_after_the_server_was_started_anew(memory: Muisti) -> None:
    with paged(memory, token=TOKEN) as client:
        assert "/?token=…" in outside(
            client.post("/new", data={"content": "Written long ago"}), 401
        )
    assert memory.get_stats().total_count == 0


@pytest.mark.parametrize("path", ["/api", "/api/stats", "/mcp", "/metrics", "/openapi.json"])
def test_K3_what_is_for_programs_tells_problems_to_browsers_too(memory: Muisti, path: str) -> None:
    with paged(memory, token=TOKEN) as client:
        check_problem(client.get(path), 401, "wrong-token")
        check_problem(client.get(path, headers={"Host": "evil.com"}), 421, "wrong-host")


@pytest.mark.parametrize(
    "headers", [{"Accept": "*/*"}, {"Accept": "application/json"}, {"Sec-Fetch-Mode": "cors"}]
)
def test_K3_programs_and_scripts_are_told_problems(memory: Muisti, headers: dict[str, str]) -> None:
    with paged(memory, token=TOKEN) as client:
        check_problem(client.get("/", headers=headers), 401, "wrong-token")
