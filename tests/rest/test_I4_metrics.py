"""Prometheus metrics (contract I4)."""

from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from muisti import Muisti


def numbers(client: TestClient) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(response.text)
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in families
        for one in family.samples
    }


def test_I4_the_five_counters_of_the_specification(client: TestClient, memory: Muisti) -> None:
    client.post(
        "/api/extract",
        json={"sessionId": "c", "userMessage": "I prefer short answers with bullet points."},
    )
    assert memory.flush(timeout=10)
    client.post("/api/memories", json={"content": "Redis holds the sessions"})
    client.get("/api/search", params={"query": "sessions"})
    told = numbers(client)
    counters = {
        name: value
        for (name, labels), value in told.items()
        if name.startswith("memory_") and not labels
    }
    assert counters == {
        "memory_extraction_count_total": 1,
        "memory_extraction_success_total": 1,
        "memory_extraction_errors_total": 0,
        "memory_extraction_refused_total": 0,
        "memory_saved_count_total": 2,
        "memory_retrieved_count_total": 1,
    }


def test_I4_latencies_queues_and_sizes(client: TestClient, memory: Muisti) -> None:
    client.post("/api/memories", json={"content": "Redis holds the sessions"})
    for id_ in ("a", "b", "c"):
        client.get(f"/api/memories/{id_}")
    told = numbers(client)
    assert told["muisti_operation_seconds_count", (("operation", "save"),)] == 1
    assert told["muisti_operation_seconds_bucket", (("le", "+Inf"), ("operation", "save"))] == 1
    assert told["muisti_memories", ()] == 1
    assert told["muisti_vault_bytes", ()] > 100
    assert told["muisti_index_bytes", ()] > 0
    assert (told["muisti_vectors_waiting", ()], told["muisti_extraction_waiting", ()]) == (0, 0)
    requests = {
        labels: value
        for (name, labels), value in told.items()
        if name == "muisti_http_request_seconds_count"
    }
    assert (
        requests[(("method", "GET"), ("route", "/api/memories/{memory_id}"), ("status", "404"))]
        == 3
    )


def test_I4_paths_of_clients_do_not_become_labels(client: TestClient) -> None:
    for path in ("/x1", "/x2", "/api/memories/some-secret-id"):
        client.get(path)
    client.request("BREW", "/coffee")
    text = client.get("/metrics").text
    assert not any(word in text for word in ("x1", "x2", "some-secret-id", "BREW", "coffee"))


def test_I4_exchanges_queued_for_extraction(client: TestClient, memory: Muisti) -> None:
    queue = memory.root / ".queue"
    queue.mkdir()
    ids = [f"0195f000-0000-7000-8000-00000000000{number}" for number in (1, 2)]
    said = {
        "at": "2026-03-10T12:00:00Z",
        "session_id": "chat",
        "user": "I prefer tea.",
        "assistant": "",
    }
    lines = [*(said | {"id": id_} for id_ in ids), {"done": ids[0]}]
    (queue / "other.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert numbers(client)["muisti_extraction_waiting", ()] == 1
