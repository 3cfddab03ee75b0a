"""Spec 1's four endpoints, with exactly its JSON (contract J3)."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from starlette.testclient import TestClient

from muisti import Muisti
from tests.conftest import FakeClock
from tests.rest.conftest import check_problem

KEYS = [
    "id",
    "sessionId",
    "memoryContent",
    "memoryType",
    "importance",
    "createdAt",
    "lastAccessedAt",
]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
ASKED = {"content": "User prefers detailed explanations", "type": "preference", "importance": 0.7}


@pytest.fixture
def session(memory: Muisti) -> str:
    return memory.start_session("reports").id


def test_J3_the_example_of_the_specification(client: TestClient, session: str) -> None:
    made = client.post(f"/api/sessions/{session}/memories", json=ASKED)
    assert made.status_code == 201
    told = made.json()
    assert list(told) == KEYS
    assert UUID.match(told["id"])
    assert told["sessionId"] == session
    assert (told["memoryContent"], told["memoryType"], told["importance"]) == (
        ASKED["content"],
        "preference",
        0.7,
    )
    assert told["createdAt"] == told["lastAccessedAt"]
    assert datetime.fromisoformat(told["createdAt"]).utcoffset() is not None
    assert client.get(f"/api/sessions/{session}/memories").json() == [told]
    assert client.get(f"/api/sessions/{session}/memories/{told['id']}").json() == told


def test_J3_delete_moves_to_the_trash(client: TestClient, session: str, memory: Muisti) -> None:
    made = client.post(f"/api/sessions/{session}/memories", json=ASKED).json()
    address = f"/api/sessions/{session}/memories/{made['id']}"
    gone = client.delete(address)
    assert (gone.status_code, gone.content) == (204, b"")
    check_problem(client.get(address), 404, "memory-not-found")
    check_problem(client.delete(address), 404, "memory-not-found")
    assert client.get(f"/api/sessions/{session}/memories").json() == []
    assert memory.get(made["id"], include_deleted=True) is not None


@pytest.mark.parametrize(
    ("method", "end"), [("GET", ""), ("POST", ""), ("GET", "/some-id"), ("DELETE", "/some-id")]
)
def test_J3_an_unknown_session(client: TestClient, method: str, end: str) -> None:
    sent = {"json": ASKED} if method == "POST" else {}
    told = check_problem(
        client.request(method, f"/api/sessions/nobody-1/memories{end}", **sent),
        404,
        "session-not-found",
    )
    assert "nobody-1" in str(told["detail"])


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_J3_an_unknown_memory(client: TestClient, session: str, method: str) -> None:
    told = check_problem(
        client.request(method, f"/api/sessions/{session}/memories/none-7"), 404, "memory-not-found"
    )
    assert "none-7" in str(told["detail"])


def test_J3_a_memory_of_another_session_is_not_found(
    client: TestClient, session: str, memory: Muisti
) -> None:
    other = memory.save("Something of another session", session_id=memory.start_session().id)
    for method in ("GET", "DELETE"):
        check_problem(
            client.request(method, f"/api/sessions/{session}/memories/{other.id}"),
            404,
            "memory-not-found",
        )
    assert memory.get(other.id) is not None


def test_J3_kind_and_importance_are_inferred(client: TestClient, session: str) -> None:
    told = client.post(
        f"/api/sessions/{session}/memories",
        json={"content": "Fixed authentication bug in the login"},
    ).json()
    assert (told["memoryType"], told["importance"]) == ("bugfix", 0.5)


def test_J3_the_memory_belongs_to_the_sessions_project(
    client: TestClient, session: str, memory: Muisti
) -> None:
    told = client.post(f"/api/sessions/{session}/memories", json=ASKED).json()
    found = memory.get(told["id"])
    assert found is not None
    assert (found.project, found.session_id) == ("reports", session)


def test_J3_a_duplicate_belongs_to_both_sessions(
    client: TestClient, session: str, memory: Muisti
) -> None:
    second = memory.start_session("reports").id
    first = client.post(f"/api/sessions/{session}/memories", json=ASKED).json()
    again = client.post(f"/api/sessions/{second}/memories", json=ASKED)
    assert again.status_code == 201
    assert (again.json()["id"], again.json()["sessionId"]) == (first["id"], second)
    assert [one["id"] for one in client.get(f"/api/sessions/{second}/memories").json()] == [
        first["id"]
    ]


def test_J3_recalled_memories_are_not_the_sessions(
    client: TestClient, session: str, memory: Muisti
) -> None:
    memory.save("The deadline of the project is in March", project="reports")
    assert memory.search("deadline", session_id=session, project="reports")
    assert client.get(f"/api/sessions/{session}/memories").json() == []


def test_J3_last_accessed_at_is_updated(
    client: TestClient, session: str, memory: Muisti, clock: FakeClock
) -> None:
    made = client.post(f"/api/sessions/{session}/memories", json=ASKED).json()
    clock.forward(hours=2)
    memory.touch(made["id"])
    told = client.get(f"/api/sessions/{session}/memories/{made['id']}").json()
    assert told["lastAccessedAt"] > told["createdAt"] == made["createdAt"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": "  \n"}, "content"),
        ({"content": "x", "importance": 1.5}, "importance"),
        ({"content": "x", "importance": "0.5"}, "importance"),
        ({"content": "x", "type": "nonsense"}, "type"),
        ({"content": "x", "type": ""}, "type"),
        ({"content": "x", "memoryType": "fact"}, "memoryType"),
        ({"content": 5}, "content"),
        ({}, "content"),
    ],
)
def test_J3_invalid_session_memories(
    client: TestClient, session: str, body: dict[str, object], field: str, memory: Muisti
) -> None:
    response = client.post(f"/api/sessions/{session}/memories", json=body)
    assert (response.status_code, response.json()["field"]) == (422, field)
    assert memory.get_stats().total_count == 0
