"""The review queue over REST (contract J9)."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from muisti import Memory, Muisti
from tests.conftest import FakeClock
from tests.rest.conftest import check_problem

OLD, NEW = "The API runs on port 8080", "The API now runs on port 9090"


@pytest.fixture
def saved(memory: Muisti, clock: FakeClock) -> list[Memory]:
    """What a person wrote, and what an agent saved after it; oldest first."""
    made = [memory.save(OLD)]
    for text, kind in ((NEW, "fact"), ("Sara drinks coffee", "note"), ("Otters swim", "fact")):
        clock.forward(hours=1)
        made.append(memory.save(text, kind=kind, project="shop", trusted=False, source="ai"))
    memory.link(made[1].id, made[0].id, "SUPERSEDES", confidence=0.8, extracted_by="system")
    return made


def contents(page: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [item["memory"]["content"] for item in page["items"]]


def test_J9_the_queue_is_paged_and_counted(client: TestClient, saved: list[Memory]) -> None:
    page = client.get("/api/review").json()
    assert contents(page) == ["Otters swim", "Sara drinks coffee", NEW, NEW]
    assert page["count"] == {"memories": 3, "links": 1}
    assert page["nextOffset"] is None
    *memories, link = page["items"]
    assert all(item["link"] is None and item["target"] is None for item in memories)
    assert (link["link"]["type"], link["link"]["proposed"]) == ("SUPERSEDES", True)
    assert link["target"]["content"] == OLD
    seen, offset = [], 0
    while offset is not None:
        part = client.get("/api/review", params={"limit": 3, "offset": offset}).json()
        seen += part["items"]
        assert part["count"] == page["count"]
        offset = part["nextOffset"]
    assert seen == page["items"]


def test_J9_filters_and_order(client: TestClient, saved: list[Memory], memory: Muisti) -> None:
    memory.update(saved[2].id, importance=0.9)
    page = client.get("/api/review?orderBy=importance&limit=1").json()
    assert contents(page) == ["Sara drinks coffee"]
    assert contents(client.get("/api/review?kind=note").json()) == ["Sara drinks coffee"]
    assert contents(client.get("/api/review?project=nowhere").json()) == []
    since = saved[3].created_at.isoformat().replace("+00:00", "Z")
    page = client.get("/api/review", params={"since": since}).json()
    assert contents(page) == ["Otters swim"]
    assert page["count"] == {"memories": 1, "links": 0}
    listed = client.get("/api/memories?trusted=false&kind=fact").json()
    assert contents({"items": [{"memory": one} for one in listed["items"]]}) == ["Otters swim", NEW]
    found = client.post("/api/search", json={"query": "otters", "trusted": True}).json()
    assert found["results"] == []


def test_J9_confirm(client: TestClient, saved: list[Memory]) -> None:
    path = f"/api/review/{saved[2].id}/confirm"
    etag = client.get(f"/api/memories/{saved[2].id}").headers["ETag"]
    confirmed = client.post(path, headers={"If-Match": etag})
    assert confirmed.status_code == 200
    assert (confirmed.json()["trusted"], confirmed.json()["source"]) == (True, "ai")
    assert confirmed.headers["ETag"] != etag
    assert client.get("/api/review").json()["count"]["memories"] == 2
    assert client.post(path).json() == confirmed.json()


def test_J9_nothing_is_decided_about_a_version_that_was_not_read(
    client: TestClient, saved: list[Memory], memory: Muisti
) -> None:
    one = saved[2]
    etag = f'"{one.version}"'
    memory.update(one.id, content="Sara drinks motor oil")
    for path, body in (("confirm", None), ("replace", {"content": "Sara drinks tea"})):
        answer = client.post(f"/api/review/{one.id}/{path}", json=body, headers={"If-Match": etag})
        check_problem(answer, 412, "stale-version")
    assert memory.count_review().memories == 3
    assert memory.get_stats().total_count == 4


def test_J9_replace(client: TestClient, saved: list[Memory], memory: Muisti) -> None:
    old = saved[2]
    made = client.post(f"/api/review/{old.id}/replace", json={"content": "Sara drinks tea"})
    assert made.status_code == 201
    told = made.json()
    assert (told["kind"], told["project"], told["trusted"]) == ("note", "shop", True)
    marks = {"outdated": False, "supersededBy": None}
    assert client.get(made.headers["Location"]).json() == {**told, **marks}
    successor = memory.superseding(old.id)
    assert successor is not None
    assert successor.id == told["id"]
    assert old.content not in contents(client.get("/api/review").json())


@pytest.mark.parametrize("decision", ["confirm", "reject"])
def test_J9_a_suggested_link(
    client: TestClient, saved: list[Memory], memory: Muisti, decision: str
) -> None:
    ends = {"source": saved[1].id, "target": saved[0].id, "type": "SUPERSEDES"}
    done = client.post(f"/api/review/links/{decision}", json=ends)
    assert done.status_code == (200 if decision == "confirm" else 204)
    if decision == "confirm":
        assert (done.json()["proposed"], done.json()["confidence"]) == (False, 1.0)
    assert (memory.superseding(saved[0].id) is not None) is (decision == "confirm")
    assert client.get("/api/review").json()["count"]["links"] == 0
    again = client.post(f"/api/review/links/{decision}", json=ends)
    check_problem(again, 422, "invalid-request")


def test_J9_bad_requests_change_nothing(
    client: TestClient, saved: list[Memory], memory: Muisti
) -> None:
    before = [one.version for one in memory.list()]
    one, other = saved[2].id, saved[3].id
    ends = {"source": one, "target": other, "type": "SUPERSEDES"}
    for answer, status, name in (
        (client.get("/api/review?limit=0"), 422, "invalid-request"),
        (client.get("/api/review?orderBy=size"), 422, "invalid-request"),
        (client.get("/api/review?trusted=true"), 422, "invalid-request"),
        (client.get("/api/review?colour=red"), 422, "invalid-request"),
        (client.post("/api/review/nobody/confirm"), 404, "memory-not-found"),
        (client.post("/api/review/nobody/replace", json={"content": "x"}), 404, "memory-not-found"),
        (client.post(f"/api/review/{one}/replace", json={"content": " "}), 422, "invalid-request"),
        (client.post(f"/api/review/{one}/replace", json={}), 422, "invalid-request"),
        (
            client.post(f"/api/review/{one}/replace", json={"content": saved[2].content}),
            422,
            "invalid-memory",
        ),
        (client.post("/api/review/links/confirm", json=ends), 422, "invalid-request"),
        (client.post("/api/review/links/reject", json=ends), 422, "invalid-request"),
        (
            client.post("/api/review/links/reject", json={**ends, "target": "nobody"}),
            404,
            "memory-not-found",
        ),
    ):
        check_problem(answer, status, name)
    assert [one.version for one in memory.list()] == before
