"""Every error is a problem document with a stable type (contract J3)."""

from __future__ import annotations

import errno
import shutil

import pytest
from starlette.testclient import TestClient

from muisti import Muisti, errors
from muisti.surfaces.rest.problems import to_problem
from tests.conftest import Opener
from tests.faults.starve import FailingDisk
from tests.rest.conftest import check_problem, client_of

EVERY = [
    (errors.InvalidMemory("session_id", 5, "no"), 422, "invalid-memory"),
    (errors.InvalidRequest("order_by", 5, "no"), 422, "invalid-request"),
    (errors.MemoryNotFound("m-1"), 404, "memory-not-found"),
    (errors.SessionNotFound("s-1"), 404, "session-not-found"),
    (errors.ConversationNotFound("chan_1"), 404, "conversation-not-found"),
    (errors.MessageNotFound("m-1", "chan_1"), 404, "message-not-found"),
    (errors.ConversationNotFound("cli_1"), 404, "conversation-not-found"),
    (errors.MessageNotFound("m-1", "cli_1"), 404, "message-not-found"),
    (errors.CoreEntryNotFound("user", "k", ()), 404, "core-entry-not-found"),
    (errors.Conflict("changed"), 409, "conflict"),
    (errors.Unsupported("sync", "no files"), 501, "unsupported"),
    (errors.SettingsError("bad"), 500, "settings-error"),
    (errors.ImportFailed("bad"), 422, "import-failed"),
    (errors.VaultNotFound("gone"), 503, "vault-not-found"),
    (errors.VaultUnusable("a file"), 503, "vault-unusable"),
    (errors.VaultReadOnly("read-only"), 403, "vault-read-only"),
    (errors.VaultNotTrusted("a clone"), 403, "vault-not-trusted"),
    (errors.VaultFull("full"), 507, "vault-full"),
    (errors.TenantNotFound(), 404, "tenant-not-found"),
    (errors.TokenRefused("expired"), 401, "token-refused"),
    (errors.ScopeDenied("write", "read"), 403, "scope-denied"),
    (errors.TooManyRequests(60, 7), 429, "too-many-requests"),
    (errors.QuotaExceeded("memories", 5, 5), 507, "quota-exceeded"),
    (errors.VaultBusy("busy"), 503, "vault-busy"),
    (errors.StoreUnavailable("down"), 503, "store-unavailable"),
    (errors.BrokenFile("a.md", "bad"), 409, "broken-file"),
    (errors.IndexBusy("busy"), 503, "index-busy"),
    (errors.IndexCorrupt("bad"), 503, "index-corrupt"),
    (errors.IndexTooNew("new"), 503, "index-too-new"),
    (errors.EmbedderUnavailable("down"), 503, "embedder-unavailable"),
    (errors.EmbedderMisbehaved("bad"), 503, "embedder-misbehaved"),
    (errors.ModelNotInstalled("no"), 503, "model-not-installed"),
    (errors.ModelDamaged("bad"), 503, "model-damaged"),
    (errors.ExtractorUnavailable("down"), 503, "extractor-unavailable"),
    (errors.ExtractorMisbehaved("bad"), 503, "extractor-misbehaved"),
    (errors.MuistiError("closed"), 503, "muisti-error"),
]


def leaves(kind: type[Exception]) -> set[type[Exception]]:
    below = kind.__subclasses__()
    return {leaf for one in below for leaf in leaves(one)} if below else {kind}


@pytest.mark.parametrize(
    ("error", "status", "name"), EVERY, ids=lambda value: value if isinstance(value, str) else ""
)
def test_J3_every_error_has_its_status(
    client: TestClient,
    memory: Muisti,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    name: str,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(memory, "get_stats", fail)
    told = check_problem(client.get("/api/stats"), status, name)
    assert told["detail"] == str(error)


def test_J3_every_error_class_is_tested() -> None:
    ours = {leaf for leaf in leaves(errors.MuistiError) if leaf.__module__ == "muisti.errors"}
    assert ours <= {type(error) for error, _, _ in EVERY}


def test_J3_fields_have_the_names_that_clients_know() -> None:
    assert to_problem(errors.InvalidMemory("session_id", 5, "no")).field == "sessionId"
    assert to_problem(errors.InvalidRequest("order_by", 5, "no")).field == "orderBy"


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        (b"{", 400, "malformed-json"),
        (b"", 422, "invalid-request"),
        (b"\xff\xfe{}", 400, "malformed-json"),
        (b"[" * 100_000, 400, "malformed-json"),
        (b'{"content": ' + b"9" * 5000 + b"}", 400, "malformed-json"),
        (b'{"content": "a", "importance": NaN}', 422, "invalid-request"),
        (b'{"content": "\\ud800"}', 422, "invalid-request"),
        (b'{"content": "a\\u0000"}', 422, "invalid-request"),
        (b'{"content": "a", "\\ud800": 1}', 422, "invalid-request"),
        (b'"text"', 422, "invalid-request"),
        (b'{"content": "a", "nonsense": 1}', 422, "invalid-request"),
        (b'{"content": "a", "session_id": "x"}', 422, "invalid-request"),
    ],
)
def test_J3_malformed_bodies(client: TestClient, body: bytes, status: int, name: str) -> None:
    response = client.post(
        "/api/memories", content=body, headers={"Content-Type": "application/json"}
    )
    check_problem(response, status, name)


def test_J3_invalid_meta_is_a_client_error(client: TestClient) -> None:
    for meta in ('{"a": NaN}', '{"a": "\\ud800"}', '{"a": ' + "[" * 200 + "]" * 200 + "}"):
        body = f'{{"role": "user", "content": "x", "meta": {meta}}}'
        response = client.post(
            "/api/conversations/a_b/messages",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        assert response.status_code == 422, meta


def test_J3_unknown_paths_and_methods(client: TestClient) -> None:
    check_problem(client.get("/api/nothing"), 404, "no-such-address")
    response = client.post("/api/stats")
    check_problem(response, 405, "no-such-method")
    assert response.headers["Allow"] == "GET"
    assert client.request("TRACE", "/api/memories/x").headers["Allow"] == "DELETE, GET, PATCH, PUT"


def test_J3_unexpected_errors_reveal_nothing(
    client: TestClient,
    memory: Muisti,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(memory, "get_stats", fail)
    response = client.get("/api/stats")
    check_problem(response, 500, "internal-error")
    assert "secret detail" not in response.text
    assert "secret detail" in caplog.text
    assert "content-security-policy" in response.headers


def test_K2_a_full_disk_is_reported_and_nothing_is_lost(opened: Opener) -> None:
    disk = FailingDisk(errno.ENOSPC, forever=True)
    memory = opened(embedder="none", disk=disk)
    with client_of(memory) as client:
        one = client.post("/api/memories", json={"content": "PostgreSQL keeps the orders"}).json()
        disk.arm(1)
        check_problem(
            client.post("/api/memories", json={"content": "Redis holds the sessions"}),
            507,
            "vault-full",
        )
        check_problem(
            client.patch(f"/api/memories/{one['id']}", json={"content": "Something else"}),
            507,
            "vault-full",
        )
        check_problem(client.put("/api/core/user/name", json={"value": "Anna"}), 507, "vault-full")
        assert (
            client.get(f"/api/memories/{one['id']}").json()["content"]
            == "PostgreSQL keeps the orders"
        )
        assert client.get("/api/search", params={"query": "orders"}).json()["results"]
        disk.mend()
        assert (
            client.post("/api/memories", json={"content": "Redis holds the sessions"}).status_code
            == 201
        )
        assert client.get("/api/stats").json()["totalCount"] == 2


def test_B5_a_missing_vault_is_reported_and_not_recreated(
    client: TestClient, memory: Muisti
) -> None:
    one = client.post("/api/memories", json={"content": "PostgreSQL keeps the orders"}).json()
    away = memory.root.with_name("elsewhere")
    shutil.move(memory.root, away)
    for response in (
        client.get("/api/search", params={"query": "orders"}),
        client.get("/api/stats"),
        client.post("/api/memories", json={"content": "Redis holds the sessions"}),
        client.get("/ready"),
    ):
        assert "mount it" in str(check_problem(response, 503, "vault-not-found")["detail"])
    assert client.get("/health").status_code == 200
    assert not memory.root.exists()
    shutil.move(away, memory.root)
    assert (
        client.get(f"/api/memories/{one['id']}").json()["content"] == "PostgreSQL keeps the orders"
    )
