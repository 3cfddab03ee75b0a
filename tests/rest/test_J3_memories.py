"""Memories over REST: paging, changes, versions, links, history (contract J3)."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from tests.conftest import FakeClock, Opener
from tests.rest.conftest import check_problem

TOPICS = (
    "PostgreSQL keeps the orders",
    "Redis holds the sessions",
    "Deployments happen on Fridays",
    "The office is in Oulu",
)


@pytest.fixture
def known(memory: Muisti, clock: FakeClock) -> list[str]:
    ids = []
    for topic in TOPICS:
        clock.forward(minutes=1)
        ids.append(memory.save(topic).id)
    return ids


def test_J3_all_fields_are_camel_case_and_come_back(client: TestClient) -> None:
    sent = {
        "content": "We chose PostgreSQL", "title": "Database", "kind": "decision", "sector": "semantic", "tier": "global",
        "project": "shop", "sessionId": "s-1", "source": "chat", "summary": "Why", "keywords": ["db"], "files": ["a.py"],
        "importance": 0.9, "validFrom": "2026-01-01T00:00:00+02:00", "pinned": True, "trusted": False,
    }  # fmt: skip
    made = client.post("/api/memories", json=sent)
    assert made.status_code == 201
    told = made.json()
    assert told["validFrom"] == "2025-12-31T22:00:00Z"
    assert {key: told[key] for key in sent} == {**sent, "validFrom": "2025-12-31T22:00:00Z"}
    assert not any("_" in key for key in told)
    marks = {"outdated": False, "supersededBy": None}
    assert client.get(made.headers["Location"]).json() == {**told, **marks}


def test_J3_lists_are_paged(client: TestClient, known: list[str]) -> None:
    seen, offset = [], 0
    while offset is not None:
        page = client.get("/api/memories", params={"limit": 3, "offset": offset}).json()
        seen += [one["id"] for one in page["items"]]
        offset = page["nextOffset"]
    assert seen == list(reversed(known))


def test_J3_lists_are_filtered_and_ordered(
    client: TestClient, known: list[str], memory: Muisti
) -> None:
    memory.update(known[0], kind="decision")
    assert [one["id"] for one in client.get("/api/memories?kind=decisions").json()["items"]] == [
        known[0]
    ]
    oldest = client.get("/api/memories", params={"orderBy": "created_at", "order": "asc"}).json()[
        "items"
    ]
    assert [one["id"] for one in oldest] == known
    check_problem(client.get("/api/memories?colour=red"), 422, "invalid-request")


def test_J3_standing_instructions_are_a_group(client: TestClient, known: list[str]) -> None:
    saved = client.post("/api/memories", json={"content": "Always use type hints"}).json()
    assert saved["standing"] is True
    listed = client.get("/api/memories", params={"standing": "true"}).json()["items"]
    assert [one["id"] for one in listed] == [saved["id"]]


def test_J3_a_batch_is_all_or_nothing(client: TestClient, memory: Muisti) -> None:
    items = [{"content": topic} for topic in TOPICS]
    bad = client.post(
        "/api/memories/batch", json={"items": [*items, {"content": "x", "kind": "nonsense"}]}
    )
    check_problem(bad, 422, "invalid-memory")
    assert memory.get_stats().total_count == 0
    assert [
        one["content"] for one in client.post("/api/memories/batch", json={"items": items}).json()
    ] == list(TOPICS)


def test_J3_patch_updates_and_put_replaces(client: TestClient, known: list[str]) -> None:
    address = f"/api/memories/{known[0]}"
    assert client.patch(
        address, json={"keywords": ["db"], "summary": "Why", "kind": "decision"}
    ).json()["keywords"] == ["db"]
    told = client.patch(address, json={"importance": 0.9}).json()
    assert (told["keywords"], told["summary"], told["importance"]) == (["db"], "Why", 0.9)
    told = client.put(address, json={"content": "PostgreSQL keeps everything"}).json()
    assert (told["content"], told["keywords"], told["summary"]) == (
        "PostgreSQL keeps everything",
        [],
        "",
    )
    assert (told["title"], told["importance"], told["kind"]) == (
        "PostgreSQL keeps everything",
        0.5,
        "decision",
    )


def test_J3_null_clears_a_time(client: TestClient, known: list[str]) -> None:
    address = f"/api/memories/{known[0]}"
    client.patch(address, json={"validUntil": "2027-01-01T00:00:00Z"})
    assert client.patch(address, json={"validUntil": None}).json()["validUntil"] is None
    check_problem(client.patch(address, json={"title": None}), 422, "invalid-request")


def test_J3_two_editors_do_not_overwrite_each_other(
    client: TestClient, known: list[str], clock: FakeClock
) -> None:
    address = f"/api/memories/{known[0]}"
    read = client.get(address)
    clock.forward(seconds=1)
    first = client.patch(
        address,
        json={"content": "PostgreSQL 17 keeps them"},
        headers={"If-Match": read.headers["ETag"]},
    )
    assert first.status_code == 200
    late = client.patch(
        address, json={"content": "Something else"}, headers={"If-Match": read.headers["ETag"]}
    )
    assert known[0] in str(check_problem(late, 412, "stale-version")["detail"])
    assert client.get(address).json()["content"] == "PostgreSQL 17 keeps them"
    again = client.put(
        address, json={"content": "Something else"}, headers={"If-Match": first.headers["ETag"]}
    )
    assert again.status_code == 200


def test_J3_a_new_title_is_a_new_version(client: TestClient, known: list[str]) -> None:
    address = f"/api/memories/{known[0]}"
    tag = client.get(address).headers["ETag"]
    client.patch(address, json={"title": "Mine"})  # at the same moment, by the clock
    assert client.get(address).headers["ETag"] != tag
    check_problem(
        client.patch(address, json={"title": "Yours"}, headers={"If-Match": tag}),
        412,
        "stale-version",
    )


def test_J3_a_recall_is_not_a_new_version(
    client: TestClient, known: list[str], memory: Muisti, clock: FakeClock
) -> None:
    address = f"/api/memories/{known[0]}"
    tag = client.get(address).headers["ETag"]
    clock.forward(days=30)
    memory.search("orders")
    memory.reinforce(known[0])
    assert client.get(address).headers["ETag"] == tag


@pytest.mark.parametrize(
    ("given", "status"),
    [("*", 200), ('"no"', 412), ("rubbish", 412), ("", 412), ("W/{tag}", 412), ('"x", {tag}', 200)],
)
def test_J3_forms_of_if_match(
    client: TestClient, known: list[str], given: str, status: int
) -> None:
    address = f"/api/memories/{known[0]}"
    tag = client.get(address).headers["ETag"]
    response = client.patch(
        address, json={"title": "New"}, headers={"If-Match": given.replace("{tag}", tag)}
    )
    assert response.status_code == status


def test_J3_if_match_notices_other_processes_and_external_edits(
    client: TestClient, known: list[str], memory: Muisti, opened: Opener
) -> None:
    address = f"/api/memories/{known[0]}"
    tag = client.get(address).headers["ETag"]
    opened(embedder="none").update(
        known[0], importance=0.9
    )  # the vault opened once more, as by another process
    check_problem(
        client.patch(address, json={"title": "Mine"}, headers={"If-Match": tag}),
        412,
        "stale-version",
    )
    tag = client.get(address).headers["ETag"]
    file = memory.root / client.get(address).json()["filePath"]
    file.write_text(file.read_text().replace("importance: 0.9", "importance: 0.8"))
    check_problem(
        client.patch(address, json={"title": "Mine"}, headers={"If-Match": tag}),
        412,
        "stale-version",
    )
    fresh = client.get(address)
    assert fresh.json()["importance"] == 0.8
    answer = client.patch(
        address, json={"title": "Mine"}, headers={"If-Match": fresh.headers["ETag"]}
    )
    assert (answer.status_code, answer.json()["importance"]) == (200, 0.8)
    assert answer.headers["ETag"] == client.get(address).headers["ETag"]


def test_J3_if_match_on_a_deleted_memory(client: TestClient) -> None:
    check_problem(
        client.patch("/api/memories/none-1", json={"title": "x"}, headers={"If-Match": "*"}),
        404,
        "memory-not-found",
    )


def test_J3_delete_restore_and_delete_permanently(
    client: TestClient, known: list[str], memory: Muisti
) -> None:
    address = f"/api/memories/{known[0]}"
    assert client.delete(address).status_code == 204
    check_problem(client.get(address), 404, "memory-not-found")
    assert client.get(address, params={"includeDeleted": "true"}).json()["deletedAt"]
    assert client.post(f"{address}/restore").json()["deletedAt"] is None
    assert client.delete(address, params={"hard": "true"}).status_code == 204
    assert memory.get(known[0], include_deleted=True) is None
    check_problem(client.post(f"{address}/restore"), 404, "memory-not-found")


def test_J3_reinforce_and_deemphasize(client: TestClient, known: list[str]) -> None:
    address = f"/api/memories/{known[0]}"
    weak = client.post(f"{address}/deemphasize", json={"amount": 0.5}).json()["salience"]
    strong = client.post(f"{address}/reinforce").json()["salience"]
    assert weak < strong < 1
    assert client.post(f"{address}/touch").json()["accessCount"] == 2
    check_problem(client.post(f"{address}/reinforce", json={"amount": -1}), 422, "invalid-request")


def test_J7_wikilinks_over_rest(client: TestClient) -> None:
    body = {"content": "See [[Otters]] and [[Bees]] #animal", "title": "Log", "aliases": ["Diary"]}
    made = client.post("/api/memories", json=body).json()
    assert (made["hashtags"], made["keywords"], made["aliases"]) == (["animal"], [], ["Diary"])
    otters = client.post("/api/memories", json={"content": "They swim.", "title": "Otters"}).json()
    [link] = client.get(f"/api/memories/{otters['id']}/links").json()
    assert (link["source"], link["extractedBy"]) == (made["id"], "wikilink")
    assert client.get("/api/unresolved-links").json() == [
        {"source": made["id"], "title": "Log", "target": "Bees"}
    ]
    assert client.get("/api/unresolved-links", params={"project": "other"}).json() == []
    new = {"target": otters["id"], "extractedBy": "wikilink"}
    check_problem(
        client.post(f"/api/memories/{made['id']}/links", json=new), 422, "invalid-request"
    )


def test_J3_links_both_ways(client: TestClient, known: list[str]) -> None:
    one, two = known[:2]
    made = client.post(
        f"/api/memories/{one}/links", json={"target": two, "type": "DEPENDS_ON", "confidence": 0.8}
    )
    assert (made.status_code, made.json()["source"], made.json()["confidence"]) == (201, one, 0.8)
    assert client.get(f"/api/memories/{two}/links").json() == [made.json()]
    graph = client.get(f"/api/memories/{one}/graph", params={"depth": 2}).json()
    assert ([m["id"] for m in graph["memories"]], graph["links"]) == ([one, two], [made.json()])
    assert (
        client.delete(
            f"/api/memories/{one}/links", params={"target": two, "type": "DEPENDS_ON"}
        ).status_code
        == 204
    )
    assert client.get(f"/api/memories/{one}/links").json() == []
    check_problem(
        client.post(f"/api/memories/{one}/links", json={"target": "none-1"}),
        404,
        "memory-not-found",
    )


def test_J3_supersede_and_history(client: TestClient, known: list[str], clock: FakeClock) -> None:
    old, new = known[:2]
    clock.forward(minutes=5)
    assert client.get(f"/api/memories/{old}/superseding").json() == {"memory": None}
    assert client.post(f"/api/memories/{old}/supersede", json={"newId": new}).json()["validUntil"]
    assert client.get(f"/api/memories/{old}/superseding").json()["memory"]["id"] == new
    listed = client.get("/api/memories").json()["items"]
    found = client.get("/api/search", params={"query": "PostgreSQL orders"}).json()["results"]
    compact = client.get("/api/search/compact", params={"query": "PostgreSQL orders"}).json()
    neighbours = client.get(f"/api/search/timeline/{old}").json()
    details = client.post("/api/search/details", json={"ids": [old, new]}).json()
    one = client.get(f"/api/memories/{old}").json()
    found = [{**result, "id": result["memory"]["id"]} for result in found]
    for marked in ([one], listed, found, compact, neighbours, details):
        (entry,) = [entry for entry in marked if entry["id"] == old]
        assert (entry["outdated"], entry["supersededBy"]) == (True, new)
        for entry in marked:
            assert entry["id"] == old or (entry["outdated"], entry["supersededBy"]) == (False, None)
    asked: dict[str, object] = {"query": "PostgreSQL orders"}
    block = client.post("/api/context", json=asked).json()["context"]
    assert (new in block, f'id="{old}"' in block) == (True, False)
    block = client.post("/api/context", json={**asked, "includeOutdated": True}).json()["context"]
    assert f'outdated="yes" replaced_by="{new}"' in block
    assert "superseded" in {
        one["what"] for one in client.get(f"/api/memories/{old}/history").json()
    }


def test_J3_unmerge(client: TestClient) -> None:
    first = client.post(
        "/api/memories", json={"content": "The auth module is in src/auth/index.ts"}
    ).json()
    again = client.post(
        "/api/memories",
        json={"content": "The authentication module is located in src/auth/index.ts"},
    ).json()
    assert again["id"] == first["id"]
    apart = client.post(f"/api/memories/{first['id']}/unmerge").json()
    assert (apart["content"], apart["id"] != first["id"]) == (
        "The authentication module is located in src/auth/index.ts",
        True,
    )


def test_J3_a_saved_memory_replaces_another(client: TestClient, known: list[str]) -> None:
    sent = {"content": "The office moved to Helsinki", "replaces": known[3]}
    made = client.post("/api/memories", json=sent)
    assert made.status_code == 201
    old = client.get(f"/api/memories/{known[3]}").json()
    assert old["validUntil"] is not None
    links = client.get(f"/api/memories/{known[3]}/links").json()
    assert (links[0]["source"], links[0]["type"]) == (made.json()["id"], "SUPERSEDES")


@pytest.mark.parametrize(
    ("sent", "status", "name"),
    [
        ({"replaces": "01a1e3f4-56a5-7eb0-88a4-75f4e0a2e806"}, 404, "memory-not-found"),
        ({"replaces": 7}, 422, "invalid-request"),
        ({"replaces": ""}, 422, "invalid-request"),
    ],
)
def test_J3_what_does_not_exist_is_not_replaced(
    client: TestClient, known: list[str], sent: dict[str, object], status: int, name: str
) -> None:
    before = client.get("/api/memories").json()
    check_problem(
        client.post("/api/memories", json={"content": "The office moved", **sent}), status, name
    )
    assert client.get("/api/memories").json() == before


def test_J3_a_memory_does_not_replace_itself(client: TestClient, known: list[str]) -> None:
    before = client.get("/api/memories").json()
    sent = {"content": TOPICS[0], "replaces": known[0]}
    check_problem(client.post("/api/memories", json=sent), 422, "invalid-request")
    assert client.get("/api/memories").json() == before
