"""Trash, archive, maintenance, import, export, the index and OpenAPI over REST (J3, G4)."""

from __future__ import annotations

import json
import re

import pytest
from starlette.testclient import TestClient

from muisti import InvalidRequest, Muisti
from muisti.surfaces.rest.docs_examples import get_body, make_request
from tests.conftest import FakeClock, Opener
from tests.rest.conftest import check_problem, client_of


def events_of(text: str) -> list[tuple[str, dict[str, object]]]:
    return [
        (name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n", text)
    ]


def test_J3_stats(client: TestClient, memory: Muisti) -> None:
    memory.save("Redis holds the sessions", kind="fact")
    told = client.get("/api/stats").json()
    assert (told["totalCount"], told["byKind"]) == (1, {"fact": 1})


def test_J3_the_trash_is_listed_and_emptied(
    client: TestClient, memory: Muisti, clock: FakeClock
) -> None:
    ids = [memory.save(text).id for text in ("Redis holds the sessions", "The office is in Oulu")]
    for id_ in ids:
        clock.forward(minutes=1)
        memory.delete(id_)
    first = client.get("/api/trash", params={"limit": 1}).json()
    assert ([one["id"] for one in first["items"]], first["nextOffset"]) == ([ids[1]], 1)
    assert client.delete("/api/trash").json() == {"removed": 2}
    assert client.get("/api/trash").json() == {"items": [], "nextOffset": None}


def test_J3_only_the_trash_is_read(client: TestClient, memory: Muisti, clock: FakeClock) -> None:
    texts = [{"content": f"Place {n} is {n * 7919}", "project": f"p{n % 3}"} for n in range(12)]
    saved = memory.save_batch(texts)
    session = memory.start_session("apollo").id
    own = memory.save("Said in confidence", tier="session", session_id=session)
    for one in (*saved[:5], own):
        clock.forward(minutes=1)
        memory.delete(one.id)
    wanted = [own.id, *(one.id for one in reversed(saved[:5]))]
    assert [one.id for one in memory.list_trash()] == wanted
    assert [one.id for one in memory.list_trash(limit=2, offset=3)] == wanted[3:5]
    first = client.get("/api/trash", params={"limit": 4}).json()
    rest = client.get("/api/trash", params={"limit": 4, "offset": first["nextOffset"]}).json()
    assert [one["id"] for one in first["items"] + rest["items"]] == wanted
    assert rest["nextOffset"] is None
    for wrong in ({"limit": -1}, {"offset": -1}):
        with pytest.raises(InvalidRequest, match="must not be negative"):
            memory.list_trash(**wrong)
        with pytest.raises(InvalidRequest, match="must not be negative"):
            memory.list_archive(**wrong)


def test_J3_the_archive_skips_unreadable_files(
    client: TestClient, memory: Muisti, clock: FakeClock
) -> None:
    saved = []
    for n in range(5):
        clock.forward(days=1)
        saved.append(memory.save(f"Place {n} is {n * 7919}", kind="note"))
    memory.evict(1, to=0.0)
    (broken,) = memory.root.glob(f"archive/**/*.{saved[3].id}.md")
    broken.write_bytes(b"\xff")
    found, offset = [], 0
    while offset is not None:
        page = client.get("/api/archive", params={"limit": 2, "offset": offset}).json()
        found += [one["id"] for one in page["items"]]
        offset = page["nextOffset"]
    assert found == [saved[n].id for n in (4, 2, 1, 0)]
    address = f"/api/memories/{saved[0].id}"
    check_problem(client.get(address), 404, "memory-not-found")
    assert (
        client.get(address, params={"includeArchived": "true"}).json()["content"] == "Place 0 is 0"
    )
    check_problem(
        client.get(f"/api/memories/{saved[3].id}", params={"includeArchived": "true"}),
        409,
        "broken-file",
    )


def test_J3_readiness_without_an_embedder(opened: Opener) -> None:
    memory = opened(embedder="ollama", embedder_url="http://127.0.0.1:9", embedder_timeout=0.5)
    memory.save("Redis holds the sessions")
    with client_of(memory, web_page=True) as client:
        told = client.get("/ready").json()
        assert (told["status"], told["waitingCount"]) == ("degraded", 1)
        assert "1, found by keyword until then" in client.get("/status").text


def test_J3_G4_maintenance_and_the_archive(opened: Opener, clock: FakeClock) -> None:
    memory = opened(embedder="none", evict_above=1)
    one = memory.save("Redis holds the sessions")
    clock.forward(days=40)
    with client_of(memory) as client:
        would = client.post("/api/upkeep", json={"dryRun": True}).json()
        assert (would["dryRun"], [m["id"] for m in would["evicted"]]) == (True, [one.id])
        assert client.get("/api/archive").json()["items"] == []
        client.post("/api/upkeep")
        assert [m["id"] for m in client.get("/api/archive").json()["items"]] == [one.id]
        assert client.post(f"/api/memories/{one.id}/restore").json()["id"] == one.id


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_J3_export(client: TestClient, memory: Muisti, form: str) -> None:
    memory.save("Redis holds the sessions", kind="fact")
    response = client.get("/api/export", params={"format": form, "kind": "fact"})
    assert response.text == memory.export_memories(format=form)
    assert response.headers["content-type"].startswith(
        "application/json" if form == "json" else "text/markdown"
    )


def test_J3_an_export_can_be_imported(client: TestClient, memory: Muisti) -> None:
    one = memory.save("Redis holds the sessions", kind="fact")
    exported = client.get("/api/export").json()
    memory.delete(one.id, hard=True)
    assert client.post("/api/import", json={"memories": exported}).json() == {"imported": 1}
    found = client.get(f"/api/memories/{one.id}").json()
    assert (found["content"], found["trusted"]) == ("Redis holds the sessions", False)
    assert client.post("/api/import", json={"memories": exported}).json() == {"imported": 0}
    told = check_problem(
        client.post("/api/import", json={"memories": [{"content": "x"}, {"id": "../x"}]}),
        422,
        "import-failed",
    )
    assert str(told["detail"]).startswith("memory 2:")
    assert "/" not in str(told["detail"]).replace("../x", "")


def test_J3_reindex_reports_progress(client: TestClient, memory: Muisti) -> None:
    memory.save_batch([f"Note number {n} is about topic {n}" for n in range(20)])
    response = client.post("/api/reindex")
    assert response.headers["content-type"].startswith("text/event-stream")
    told = events_of(response.text)
    assert [name for name, _ in told][-1] == "done"
    assert ("progress", {"done": 20, "total": 20}) in told
    assert client.get("/api/stats").json()["totalCount"] == 20
    assert events_of(client.post("/api/reindex", json={"vectors": True}).text)[-1] == (
        "done",
        {"embedded": 0},
    )


def test_J3_verify_and_sync(client: TestClient, memory: Muisti) -> None:
    one = memory.save("Redis holds the sessions")
    path = memory.root / str(one.file_path)
    path.write_text(path.read_text().replace("Redis", "Valkey"))
    assert client.get("/api/verify").json()["ok"] is False
    assert client.post("/api/sync").json()["changed"] == 1
    assert client.get("/api/verify").json()["ok"] is True


def test_J3_many_missing_files_need_confirmation(client: TestClient, memory: Muisti) -> None:
    saved = memory.save_batch([f"Note number {n} is about topic {n}" for n in range(10)])
    for one in saved:
        (memory.root / str(one.file_path)).unlink()
    told = client.post("/api/sync").json()
    assert (told["paused"], told["missing"], told["removed"]) == (True, 10, 0)
    assert client.post("/api/sync", json={"confirm": True}).json()["removed"] == 10


def test_J3_health_and_readiness(client: TestClient, memory: Muisti) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json()["status"] == "ready"
    (memory.root / "facts").mkdir(exist_ok=True)
    (memory.root / "facts" / "broken.md").write_text("---\ntitle: [\n---\nText\n")
    memory.sync()
    told = client.get("/ready").json()
    assert (told["status"], [one["path"] for one in told["problems"]]) == (
        "degraded",
        ["facts/broken.md"],
    )


def test_J3_the_reference_works_offline(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page.text)
    assert re.findall(r"<script[^>]*>", page.text) == ['<script src="/docs.js" defer>']
    assert "style=" not in page.text
    assert client.get("/docs.css").headers["content-type"].startswith("text/css")
    script = client.get("/docs.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "://" not in script.text + client.get("/docs.css").text


def test_J3_the_reference_has_every_operation_with_examples(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    page = client.get("/docs").text
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            section = page.split(f'<details class="operation" id="{operation["operationId"]}">')[1]
            section = section.split('<details class="operation"')[0]
            assert f"{path.split('{')[0]}" in section.replace("<wbr>", "")
            assert f"curl {'' if method == 'get' else f'-X {method.upper()} '}" in section
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in section
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{anchor}"' in page, anchor


def test_J3_the_examples_of_the_reference_are_accepted(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    saved = client.post("/api/memories", json=make_request(schemas["SaveMemory"], schemas))
    assert saved.status_code == 201, saved.text
    for path in ("/api/search", "/api/context", "/api/memories/batch", "/api/extract/preview"):
        body = get_body(document["paths"][path]["post"])
        assert body is not None
        told = client.post(path, json=make_request(body, schemas))
        assert told.status_code in (200, 201), told.text
    said = {**make_request(schemas["NewMessage"], schemas)}
    assert client.post("/api/conversations/telegram_1/messages", json=said).status_code == 201


def test_J3_every_route_is_described_with_its_errors(client: TestClient) -> None:
    told = client.get("/openapi.json").json()
    for path, item in told["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert operation.get("description"), where
            for code, answer in operation["responses"].items():
                assert int(code) < 400 or list(answer["content"]) == ["application/problem+json"], (
                    where
                )
            assert {"401", "403", "421", "503"} <= operation["responses"].keys(), where
            assert (
                "requestBody" not in operation
                or {"400", "413", "415", "422"} <= operation["responses"].keys()
            ), where
    assert "HTTPValidationError" not in told["components"]["schemas"]


def test_J3_every_route_that_takes_a_session_may_not_find_it(client: TestClient) -> None:
    told = client.get("/openapi.json").json()

    def names_a_session(part: object) -> bool:
        """Whether a parameter or a body, or a schema that it refers to, has a session ID."""
        if isinstance(part, list):
            return any(map(names_a_session, part))
        if not isinstance(part, dict):
            return False
        if "$ref" in part:
            name = part["$ref"].removeprefix("#/components/schemas/")
            return names_a_session(told["components"]["schemas"][name])
        if part.get("name") in ("sessionId", "session_id") or "sessionId" in part.get(
            "properties", {}
        ):
            return True
        return any(map(names_a_session, part.values()))

    taking = {
        f"{method} {path}": operation["responses"]
        for path, item in told["paths"].items()
        for method, operation in item.items()
        if names_a_session([operation.get("parameters", []), operation.get("requestBody")])
    }
    assert {"post /api/context", "get /api/search", "post /api/memories/batch"} <= taking.keys()
    assert [route for route, responses in taking.items() if "404" not in responses] == []
