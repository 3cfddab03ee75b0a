"""Sessions, conversations, core memory, documents and extraction over REST (contract J3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from muisti import ConversationNotFound, InvalidRequest, Muisti
from tests.rest.conftest import check_problem, client_of


def test_J3_start_and_end_a_session(client: TestClient) -> None:
    begun = client.post("/api/sessions", json={"project": "shop"})
    assert (begun.status_code, begun.json()["status"]) == (201, "active")
    id_ = begun.json()["id"]
    client.post(f"/api/sessions/{id_}/memories", json={"content": "Redis holds the sessions"})
    ended = client.post(
        f"/api/sessions/{id_}/end", json={"summary": "Set up Redis", "toolCalls": 3}
    ).json()
    assert (ended["status"], ended["summary"], ended["toolCalls"]) == (
        "completed",
        "Set up Redis",
        3,
    )
    assert client.get(f"/api/sessions/{id_}").json() == ended
    assert client.get("/api/sessions", params={"project": "shop"}).json() == [ended]
    assert [one["content"] for one in client.get(f"/api/sessions/{id_}/context").json()] == [
        "Redis holds the sessions"
    ]
    assert client.get(f"/api/sessions/{id_}/text").json() == {
        "content": "Redis holds the sessions",
        "tokenCount": 6,
    }
    assert [one["use"] for one in client.get(f"/api/sessions/{id_}/uses").json()] == ["created"]


def test_J3_record_session_uses(client: TestClient, memory: Muisti) -> None:
    one = memory.save("Redis holds the sessions")
    assert client.post("/api/sessions", json={"sessionId": "mine"}).json()["id"] == "mine"
    assert (
        client.post(
            "/api/sessions/mine/uses", json={"memoryId": one.id, "use": "recalled"}
        ).status_code
        == 204
    )
    assert client.get("/api/sessions/mine/uses").json()[0]["memoryId"] == one.id
    check_problem(
        client.post("/api/sessions/mine/uses", json={"memoryId": "none-1"}), 404, "memory-not-found"
    )


@pytest.mark.parametrize("end", ["", "/context", "/text", "/uses"])
def test_J3_an_unknown_session(client: TestClient, end: str) -> None:
    check_problem(client.get(f"/api/sessions/nobody{end}"), 404, "session-not-found")
    check_problem(client.post("/api/sessions/nobody/end"), 404, "session-not-found")


@pytest.mark.parametrize("name", ["telegram_9", "no-underscore", "%2e%2e", "a b"])
def test_J3_an_unknown_conversation(client: TestClient, memory: Muisti, name: str) -> None:
    memory.append_message("telegram_1", "user", "Hello", id="m1")
    address = f"/api/conversations/{name}"
    for response in (
        client.delete(address),
        client.delete(f"{address}/messages/m1"),
        client.delete(f"{address}/messages/m1?hard=true"),
        client.post(f"{address}/restore"),
        client.post(f"{address}/assign", json={"user": "anna"}),
    ):
        check_problem(response, 404, "conversation-not-found")
        assert response.json()["field"] == "conversation"
    assert [one.id for one in memory.window("telegram_1")] == ["m1"]


def test_J3_an_unknown_message(client: TestClient, memory: Muisti) -> None:
    memory.append_message("telegram_1", "user", "Hello", id="m1")
    for query in ("", "?hard=true"):
        response = client.delete(f"/api/conversations/telegram_1/messages/m2{query}")
        check_problem(response, 404, "message-not-found")
        assert response.json()["field"] == "messageId"
    check_problem(  # it exists, but none of its messages are in the trash
        client.post("/api/conversations/telegram_1/restore"), 404, "conversation-not-found"
    )
    assert [one.id for one in memory.window("telegram_1")] == ["m1"]


def test_M2_an_unknown_conversation_is_still_an_invalid_request(memory: Muisti) -> None:
    for call in (
        lambda: memory.delete_conversation("telegram_9"),
        lambda: memory.restore_conversation("telegram_9"),
        lambda: memory.delete_messages("telegram_9", ["m1"]),
        lambda: memory.assign_conversation("telegram_9", user="anna"),
    ):
        with pytest.raises(InvalidRequest) as raised:
            call()
        assert isinstance(raised.value, ConversationNotFound)
        assert (raised.value.option, raised.value.value) == ("conversation", "telegram_9")


def test_J3_conversations(client: TestClient) -> None:
    said = {"role": "user", "content": "Where is the office?", "meta": {"model": "x"}, "id": "m1"}
    first = client.post("/api/conversations/telegram_1/messages", json=said)
    assert first.status_code == 201
    assert client.post("/api/conversations/telegram_1/messages", json=said).json()["id"] == "m1"
    client.post(
        "/api/conversations/telegram_1/messages", json={"role": "assistant", "content": "In Oulu"}
    )
    assert [
        one["content"] for one in client.get("/api/conversations/telegram_1/messages").json()
    ] == [
        "Where is the office?",
        "In Oulu",
    ]
    assert client.get("/api/conversations").json()[0] | {"firstAt": "", "lastAt": ""} == {
        "name": "telegram_1", "messages": 2, "firstAt": "", "lastAt": "", "sinceBreak": 2,
        "project": "", "user": "", "model": "", "segmentStart": "m1",
    }  # fmt: skip
    assert client.post("/api/conversations/telegram_1/break").status_code == 201
    assert client.get("/api/conversations/telegram_1/messages").json() == []
    check_problem(
        client.post("/api/conversations/telegram_1/messages", json={**said, "content": "Another"}),
        422,
        "invalid-request",
    )
    check_problem(
        client.post("/api/conversations/..%5C../messages", json=said), 422, "invalid-request"
    )


def test_M2_old_conversation_paths_and_field(client: TestClient) -> None:
    said = {"role": "user", "content": "Where is the office?"}
    made = client.post("/api/chats/telegram_1/messages", json=said)
    assert made.status_code == 201
    assert made.json()["chat"] == made.json()["conversation"] == "telegram_1"
    for path in ("", "/telegram_1/messages"):
        old, new = client.get(f"/api/chats{path}"), client.get(f"/api/conversations{path}")
        assert old.json() == new.json() != []
    assert client.post("/api/chats/telegram_1/break").status_code == 201
    assert client.get("/api/conversations/telegram_1/messages").json() == []
    wrong = client.put("/api/chats/telegram_1/messages", json=said)
    assert wrong.headers["Allow"] == "GET, POST"
    described = client.get("/openapi.json").json()
    assert not any(path.startswith("/api/chats") for path in described["paths"])
    message = described["components"]["schemas"]["Message"]["properties"]
    assert message["chat"]["deprecated"] is True
    assert "deprecated" not in message["conversation"]


def test_J3_core_memory(client: TestClient) -> None:
    assert client.get("/api/core").json() == {"user": {}, "agent": {}}
    assert client.put("/api/core/user/name", json={"value": "Anna"}).json()["user"] == {
        "name": "Anna"
    }
    assert client.post("/api/core", json={"text": "- Name: Bert"}).json()["user"] == {
        "name": "Anna"
    }
    assert client.delete("/api/core/user/name").json()["user"] == {}
    assert "name" in str(
        check_problem(client.delete("/api/core/user/name"), 404, "core-entry-not-found")["detail"]
    )
    check_problem(client.put("/api/core/nobody/name", json={"value": "x"}), 422, "invalid-request")
    check_problem(
        client.put("/api/core/user/name", json={"value": "x" * 30_000}), 422, "invalid-request"
    )


def test_J3_document_paths_must_be_allowed(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nThe office is in Oulu\n")
    for path in (str(tmp_path / "notes.md"), "/etc", "../..", "~", "/nowhere"):
        check_problem(client.post("/api/documents", json={"path": path}), 403, "path-not-allowed")
    for path in (str(tmp_path / "notes.md"), "/etc/passwd"):
        check_problem(
            client.delete("/api/documents", params={"path": path}), 404, "document-not-found"
        )
    assert client.get("/api/documents").json() == []


def test_J3_documents_of_an_allowed_folder(memory: Muisti, tmp_path: Path) -> None:
    allowed, other = tmp_path / "docs", tmp_path / "docs-secret"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "notes.md").write_text("# Notes\n\nThe office is in Oulu\n")
    (allowed / "link.md").symlink_to(other / "notes.md")
    with client_of(memory, document_folders=(allowed,)) as client:
        for path in (
            other,
            other / "notes.md",
            allowed / ".." / "docs-secret",
            allowed / "link.md",
        ):
            check_problem(
                client.post("/api/documents", json={"path": str(path)}), 403, "path-not-allowed"
            )
        made = client.post("/api/documents", json={"path": str(allowed), "source": "Handbook"})
        assert (made.status_code, made.json()["documents"]) == (201, 1)
        found = client.get("/api/search", params={"query": "office", "source": "Handbook"}).json()[
            "results"
        ]
        assert [one["source"] for one in found] == ["document"]
        assert client.get("/api/documents").json() == [made.json()]
        assert (
            client.delete("/api/documents", params={"path": made.json()["path"]}).status_code == 204
        )
        assert client.get("/api/documents").json() == []


def test_J3_extraction(client: TestClient, memory: Muisti) -> None:
    said = {
        "sessionId": "chat-1",
        "userMessage": "I prefer short answers with bullet points.",
        "assistantResponse": "Noted.",
    }
    accepted = client.post("/api/extract", json=said)
    assert (accepted.status_code, accepted.json()) == (202, {"accepted": True, "note": ""})
    assert memory.flush(timeout=10)
    found = client.get("/api/sessions/chat-1/memories").json()
    assert [one["memoryType"] for one in found] == ["preference"]
    check_problem(
        client.post("/api/extract", json={"sessionId": "c", "userMessage": " "}),
        422,
        "invalid-request",
    )


def test_J3_extraction_preview(client: TestClient, memory: Muisti) -> None:
    talk = {"messages": [{"content": "I prefer short answers with bullet points."}]}
    assert client.post("/api/extract/preview", json=talk).json()[0]["kind"] == "preference"
    assert memory.get_stats().total_count == 0


def test_J3_extraction_with_a_full_queue(opened, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(embedder="none")
    monkeypatch.setattr(memory, "extract_and_save", lambda **_: False)
    with client_of(memory) as client:
        told = client.post("/api/extract", json={"sessionId": "c", "userMessage": "I like tea"})
    check_problem(told, 503, "extraction-refused")
    assert told.headers["Retry-After"]


def test_M2_the_old_name_of_a_message_text_is_accepted(client: TestClient) -> None:
    text = "I prefer short answers with bullet points."
    new = client.post("/api/extract/preview", json={"messages": [{"content": text}]})
    old = client.post("/api/extract/preview", json={"messages": [{"text": text}]})
    assert new.json() == old.json() != []
    said = client.post("/api/conversations/t_1/messages", json={"role": "user", "text": text})
    assert said.status_code == 201
    assert said.json()["content"] == text
    both = {"role": "user", "text": text, "content": text}
    refused = client.post("/api/conversations/t_1/messages", json=both)
    assert check_problem(refused, 422, "invalid-request")["field"] == "text"
    document = client.get("/openapi.json").json()
    assert "text" not in document["components"]["schemas"]["NewMessage"]["properties"]


def test_J3_operation_ids_are_readable_and_unique(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    operations = [one for methods in document["paths"].values() for one in methods.values()]
    ids = [one["operationId"] for one in operations]
    assert len(set(ids)) == len(ids) > 60
    assert {"listMemories", "saveMemory", "searchMemories", "appendMessage"} <= set(ids)
    assert all(re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)*", id_) for id_ in ids)
    described = {tag["name"] for tag in document["tags"]}
    for one in operations:
        assert set(one["tags"]) <= described
        assert one["summary"]
        assert one["description"]
