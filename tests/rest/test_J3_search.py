"""Search over REST (contract J3, E6)."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from tests.rest.conftest import check_problem


@pytest.fixture
def known(memory: Muisti) -> str:
    memory.save("Redis holds the sessions of the shop")
    memory.append_message("telegram_1", "user", "Which database do we use?")
    return memory.save("We chose PostgreSQL as our database", kind="decision", keywords=["db"]).id


def test_J3_search_returns_what_python_returns(
    client: TestClient, known: str, memory: Muisti
) -> None:
    told = client.get("/api/search", params={"query": "which database", "limit": 5}).json()
    found = memory.search("which database", limit=5)
    assert [one["memory"]["id"] for one in told["results"]] == [one.memory.id for one in found]
    assert [one["score"] for one in told["results"]] == [one.score for one in found]
    best = next(one for one in told["results"] if one["source"] == "memory")
    assert (best["memory"]["id"], "PostgreSQL" in best["matchedSnippet"]) == (known, True)
    assert best["why"]
    assert {one["source"] for one in told["results"]} == {"memory", "message"}
    assert (told["mode"], bool(told["degraded"])) == (found.mode, bool(found.degraded))
    posted = client.post("/api/search", json={"query": "which database", "limit": 5}).json()
    assert [one["memory"]["id"] for one in posted["results"]] == [
        one["memory"]["id"] for one in told["results"]
    ]


def test_J3_filters(client: TestClient, known: str) -> None:
    params = {
        "query": "database sessions",
        "kind": ["decision"],
        "source": "memory",
        "keywords": "db",
        "minSalience": "0.5",
    }
    found = client.get("/api/search", params=params).json()["results"]
    assert [one["memory"]["id"] for one in found] == [known]
    late = client.get(
        "/api/search", params={"query": "database", "since": "2027-01-01T00:00:00Z"}
    ).json()
    assert late["results"] == []


def test_J3_compact_timeline_and_details(client: TestClient, known: str) -> None:
    compact = client.get(
        "/api/search/compact", params={"query": "database", "source": "memory"}
    ).json()
    fields = ["id", "title", "kind", "score", "createdAt", "outdated", "supersededBy"]
    assert list(compact[0]) == fields
    around = client.get(f"/api/search/timeline/{known}", params={"before": 1, "after": 0}).json()
    assert [one["id"] for one in around][-1] == known
    whole = client.post("/api/search/details", json={"ids": [known]}).json()
    assert [one["content"] for one in whole] == ["We chose PostgreSQL as our database"]
    told = check_problem(
        client.post("/api/search/details", json={"ids": [known, "a b"]}), 422, "invalid-request"
    )
    assert told["field"] == "ids"
    partly = client.post("/api/search/details", json={"ids": ["none-1", known, "none-2"]})
    assert partly.status_code == 200
    assert [one["id"] for one in partly.json()] == [known]
    assert partly.headers["Missing-Ids"] == "none-1, none-2"
    assert partly.headers["Missing-Count"] == "2"
    odd = ["海/notes.md#a, b", *(f"gone.md#{n}" + "x" * 50 for n in range(90))]
    gone = client.post("/api/search/details", json={"ids": odd})
    assert (gone.json(), gone.headers["Missing-Count"]) == ([], "91")
    named = gone.headers["Missing-Ids"]
    assert len(named) <= 4_000
    assert [unquote(one) for one in named.split(", ")] == odd[: len(named.split(", "))]


def test_J3_explain_and_related(client: TestClient, known: str) -> None:
    told = client.get("/api/search/explain", params={"query": "database", "memoryId": known}).json()
    assert (told["recalled"], told["id"]) == (True, known)
    assert told["reasons"]
    assert client.get(f"/api/memories/{known}/related", params={"limit": 3}).status_code == 200


def test_J3_context_keeps_to_its_budget(client: TestClient, known: str, memory: Muisti) -> None:
    memory.core_update("user", "name", "Anna")
    told = client.post("/api/context", json={"query": "database", "budget": 300}).json()["context"]
    assert "PostgreSQL" in told
    assert "Anna" in told
    assert told == memory.context("database", budget=300)
    check_problem(
        client.post("/api/context", json={"query": "database", "budget": 1}), 422, "invalid-request"
    )


@pytest.mark.parametrize(
    "params",
    [
        {}, {"query": " "}, {"query": "x", "limit": "0"}, {"query": "x", "limit": "1001"}, {"query": "x", "limit": "1.0"}, {"query": "x", "mode": "magic"},
        {"query": "x", "since": "yesterday"}, {"query": "x", "since": "2026-01-01T00:00:00"}, {"query": "x", "since": "0001-01-01T00:00:00+14:00"},
        {"query": "x", "minSalience": "nan"}, {"query": "x", "kind": "nonsense"}, {"query": "x", "source": "nowhere.md"}, {"query": "x", "includeDeleted": "yes"},
    ],
)  # fmt: skip
def test_J3_invalid_searches(client: TestClient, params: dict[str, str]) -> None:
    refused = client.get("/api/search", params=params)
    check_problem(refused, 422, "invalid-request")
    assert "Value error" not in refused.json()["detail"]


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "a AND OR NOT",
        "x* NEAR(",
        "'; DROP TABLE memories; --",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "%",
        "中",
    ],
)
def test_J3_any_query_is_safe(client: TestClient, known: str, query: str) -> None:
    assert client.get("/api/search", params={"query": query}).status_code == 200
