"""One server for many tenants: the token decides which vault a request is for, and what it may."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from scripts.public_surfaces import _routes
from starlette.testclient import TestClient

from muisti import Muisti
from muisti.bootstrap_postgres import administer_tenants
from muisti.bootstrap_tenants import TenantVaults
from muisti.errors import VaultReadOnly
from muisti.model.tenants import Access, Limits
from muisti.storage.postgres.pools import MOST_CONNECTIONS
from muisti.storage.postgres.tenants import TenantAdministration
from muisti.surfaces.access import ADMIN, READING_POSTS, SAFE_METHODS, find_scope
from muisti.surfaces.cli.main import cli
from muisti.surfaces.rest import events
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.tenant_work import work_for_tenants
from tests.postgres.event_loop import record_calls
from tests.postgres.roles import Roles, make_roles, run
from tests.rest.conftest import BASE, check_problem, until

CONFIG = ServerConfig(tenants=True)
NAMES = iter(range(10**6))


@pytest.fixture(scope="module")
def roles() -> Iterator[Roles]:
    with make_roles() as roles:
        yield roles


@pytest.fixture(scope="module")
def admin(roles: Roles) -> TenantAdministration:
    return administer_tenants(roles.owner)


@contextmanager
def serve(roles: Roles, most_open: int = 8, config: ServerConfig = CONFIG) -> Iterator[TestClient]:
    """A client of a server of all tenants, without a socket."""
    vaults = TenantVaults(roles.application, settings={"embedder": "hashing"}, most_open=most_open)
    try:
        app = create_app(vaults, config)
        with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
            yield client
    finally:
        vaults.close()


@pytest.fixture(scope="module")
def client(roles: Roles) -> Iterator[TestClient]:
    with serve(roles) as client:
        yield client


class Tenant:
    """A tenant and its tokens, as headers of a request."""

    def __init__(self, admin: TenantAdministration, limits: Limits | None = None) -> None:
        self.name = f"tenant-{next(NAMES)}"
        self.number = admin.add(self.name, limits).number
        for scope in ("read", "write", "admin"):
            setattr(self, scope, bearer(admin.add_token(self.name, scope).secret))

    read: dict[str, str]
    write: dict[str, str]
    admin: dict[str, str]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def one(admin: TenantAdministration) -> Tenant:
    return Tenant(admin)


@pytest.fixture
def other(admin: TenantAdministration) -> Tenant:
    return Tenant(admin)


def save(client: TestClient, tenant: Tenant, text: str) -> str:
    saved = client.post("/api/memories", json={"content": text}, headers=tenant.write)
    assert saved.status_code == 201, saved.text
    return str(saved.json()["id"])


def read_all(roles: Roles, tenant: Tenant) -> dict[object, object]:
    """Return a digest of every table's rows of a tenant, but for the counted requests."""
    sql = """SELECT table_name FROM information_schema.columns
             WHERE table_schema = 'muisti' AND column_name = 'tenant' AND table_name <> 'requests'"""
    found: dict[object, object] = {}
    for (table,) in run(roles.superuser, sql):
        digest = f"""SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM muisti.{table} t
                     WHERE tenant = {tenant.number}"""
        found[table] = run(roles.superuser, digest)
    return found


def test_L3_a_token_decides_the_tenant(client: TestClient, one: Tenant, other: Tenant) -> None:
    id_ = save(client, one, "The harbour opens at nine.")
    found = client.get("/api/search", params={"query": "harbour"}, headers=one.read).json()
    assert [hit["memory"]["id"] for hit in found["results"]] == [id_]
    found = client.get("/api/search", params={"query": "harbour"}, headers=other.read).json()
    assert found["results"] == []
    unknown = "01a1ec54-c840-7a6c-a250-5a31fb7badfc"
    texts = []
    for wanted in (id_, unknown):  # a foreign ID is told as an unknown one
        missing = client.get(f"/api/memories/{wanted}", headers=other.read)
        told = check_problem(missing, 404, "memory-not-found")
        texts.append(json.dumps(told).replace(wanted, "ID"))
    assert texts[0] == texts[1]
    for call in (client.delete, client.get):
        assert call(f"/api/memories/{id_}", headers=other.write).status_code == 404
    assert client.get(f"/api/memories/{id_}", headers=one.read).status_code == 200


def test_L3_tokens_that_are_refused(
    roles: Roles, client: TestClient, admin: TenantAdministration, one: Tenant
) -> None:
    save(client, one, "The secret word is xylophone.")
    past = datetime.now(UTC) - timedelta(seconds=1)
    expired = admin.add_token(one.name, "admin", expires_at=past).secret
    revoked = admin.add_token(one.name, "admin")
    assert client.get("/api/memories", headers=bearer(revoked.secret)).status_code == 200
    admin.revoke_token(revoked.token.id)
    dropped = Tenant(admin)
    assert client.get("/api/memories", headers=dropped.read).status_code == 200
    admin.drop(dropped.name)
    unknown = [
        {},
        {"Authorization": ""},
        {"Authorization": "Basic eDp5"},
        bearer(""),
        bearer("muisti_" + "0" * 64),
        bearer("x" * 5000),
        bearer("' OR 1=1 --"),
        bearer(run(roles.superuser, "SELECT encode(hash, 'hex') FROM muisti.tokens LIMIT 1")[0][0]),  # type: ignore[arg-type]
        dropped.read,
        dropped.admin,
    ]
    texts = {client.get("/api/memories", headers=headers).text for headers in unknown}
    assert len(texts) == 1, "unknown tokens are told the same"
    for headers, words in (
        (unknown[0], "send a token of a tenant"),
        (bearer(expired), "has expired"),
        (bearer(revoked.secret), "was revoked"),
    ):
        for path in ("/api/memories", "/api/search?query=x", "/mcp", "/metrics", "/ready"):
            refused = client.get(path, headers=headers)
            told = check_problem(refused, 401, "token-refused")
            assert refused.headers["WWW-Authenticate"] == "Bearer"
            assert words in str(told["detail"])
            for secret in ("xylophone", one.name, dropped.name, expired, revoked.secret):
                assert secret not in refused.text
    assert client.get("/health").status_code == 200


def test_L3_a_dropped_tenant_in_use(
    client: TestClient, admin: TenantAdministration, one: Tenant, roles: Roles
) -> None:
    """Its vault is open in the server, and a request may have passed the token's check."""
    save(client, one, "short-lived")
    vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
    access = vaults.admit(one.write["Authorization"][7:])
    memory = vaults.acquire(access)
    admin.drop(one.name)
    check_problem(client.get("/api/memories", headers=one.read), 401, "token-refused")
    with pytest.raises(Exception, match="does not exist, or was dropped"):
        memory.save("too late")
    vaults.release(memory)
    assert not any(rows != [(None,)] for rows in read_all(roles, one).values())


def test_L3_quotas_over_http(client: TestClient, admin: TenantAdministration) -> None:
    limited = Tenant(admin, Limits(memories=1))
    save(client, limited, "the first")
    refused = client.post("/api/memories", json={"content": "too much"}, headers=limited.write)
    told = check_problem(refused, 507, "quota-exceeded")
    assert "more than the 1 memories" in str(told["detail"])
    admin.set_limits(limited.name, Limits(requests=0))
    refused = client.get("/api/memories", headers=limited.read)
    told = check_problem(refused, 429, "too-many-requests")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert "0 requests a minute" in str(told["detail"])


def test_L3_requests_are_counted_for_all_tokens_and_servers(
    roles: Roles, client: TestClient, admin: TenantAdministration, other: Tenant
) -> None:
    limited = Tenant(admin, Limits(requests=3))
    with serve(roles) as second:
        statuses = [
            server.get("/api/memories", headers=headers).status_code
            for server in (client, second)
            for headers in (limited.read, limited.write, limited.admin)
        ]
    minutes = run(
        roles.superuser, f"SELECT count FROM muisti.requests WHERE tenant = {limited.number}"
    )
    assert statuses[:3] == [200] * 3 or len(minutes) == 1  # a new minute may have begun
    assert statuses.count(429) >= 1 or statuses.count(200) == 6
    assert client.get("/api/memories", headers=other.read).status_code == 200


def list_requests(app: Any) -> list[tuple[str, str]]:
    """Return the method and path of every route, with IDs filled in."""
    found = [one.split(" ", 1) for one in sorted(set(_routes(app.routes)))]
    return [
        (method, re.sub(r"\{[^}]*\}", "x_1", path)) for method, path in found if method != "ANY"
    ]


def test_L3_a_token_that_may_read_writes_through_no_route(
    roles: Roles, client: TestClient, admin: TenantAdministration, one: Tenant
) -> None:
    id_ = save(client, one, "The harbour opens at nine.")
    client.post("/api/sessions", json={"project": "p", "sessionId": "x_1"}, headers=one.write)
    vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
    for memory in vaults.list_open(one.number):
        memory.flush()
    before = read_all(roles, one)
    asked = {"read": 0, "write": 0, "admin": 0}
    for method, pattern in list_requests(client.app):
        path = pattern.replace("/memories/x_1", f"/memories/{id_}").replace(
            "/memory/x_1", f"/memory/{id_}"
        )
        needed = find_scope(method, path)
        asked[needed] += 1
        if path == "/api/events":
            continue  # does not end
        body = (
            {"query": "harbour", "ids": [id_], "content": "x"}
            if method not in SAFE_METHODS
            else None
        )
        answer = client.request(method, path, headers=one.read, json=body, follow_redirects=False)
        if needed != "read":
            check_problem(answer, 403, "scope-denied")
            assert needed == "admin" or "needs a token with the scope write" in answer.text
            if needed == "admin":
                answer = client.request(method, path, headers=one.write, json=body)
                assert answer.status_code == 403, f"{method} {path}"
        else:
            assert answer.status_code not in (401, 403), f"{method} {path}: {answer.text}"
            assert answer.status_code < 500 or answer.status_code == 501, (
                f"{method} {path}: {answer.text}"
            )
    assert asked["read"] > 60
    assert asked["write"] > 40
    assert asked["admin"] >= len(ADMIN) - 1
    assert read_all(roles, one) == before


def test_L3_every_request_that_changes_something_needs_more_than_read(client: TestClient) -> None:
    for method, path in list_requests(client.app):
        if method not in SAFE_METHODS and path not in READING_POSTS and path != "/mcp":
            assert find_scope(method, path) in ("write", "admin")


def test_L3_the_vault_of_a_token_that_may_read_refuses_every_write(
    roles: Roles, client: TestClient, one: Tenant
) -> None:
    """Also if a route or tool forgot to say that it writes."""
    id_ = save(client, one, "The harbour opens at nine.")
    vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
    memory = vaults.acquire(vaults.admit(one.read["Authorization"][7:]))
    for open_vault in vaults.list_open(one.number):
        open_vault.flush()
    before = read_all(roles, one)
    assert [hit.memory.id for hit in memory.search("harbour")] == [id_]
    for call in (
        lambda: memory.save("x"),
        lambda: memory.save_batch(["x"]),
        lambda: memory.update(id_, title="x"),
        lambda: memory.delete(id_),
        lambda: memory.delete(id_, hard=True),
        lambda: memory.touch(id_),
        lambda: memory.reinforce(id_),
        lambda: memory.append_message("chat_1", "user", "hello"),
        lambda: memory.core_update("user", "a", "b"),
        lambda: memory.start_session("p"),
        memory.reindex,
    ):
        with pytest.raises(VaultReadOnly, match="may only read"):
            call()
    vaults.release(memory)
    assert read_all(roles, one) == before


def call_mcp(client: TestClient, headers: dict[str, str], method: str, **params: Any) -> Any:
    """Send one JSON-RPC request to /mcp and return its result."""
    accepted = {"Accept": "application/json, text/event-stream", **headers}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = client.post("/mcp", json=body, headers=accepted)
    assert answer.status_code == 200, answer.text
    [data] = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")] or [
        answer.text
    ]
    return json.loads(data)["result"]


def test_L3_tools_of_a_tenant(roles: Roles, client: TestClient, one: Tenant, other: Tenant) -> None:
    id_ = save(client, one, "The harbour opens at nine.")
    tools = {tool["name"]: tool for tool in call_mcp(client, one.read, "tools/list")["tools"]}
    assert len(tools) >= 9
    arguments = {
        "memory_search": {"query": "harbour", "scope": "everywhere"}, "memory_get": {"ids": [id_]},
        "memory_timeline": {"id": id_}, "memory_save": {"content": "x"},
        "memory_update": {"id": id_, "content": "x"}, "memory_forget": {"id": id_},
        "memory_link": {"source": id_, "target": id_, "type": "RELATED_TO"}, "memory_core_get": {},
        "memory_core_update": {"section": "user", "key": "a", "value": "b"},
    }  # fmt: skip
    assert tools.keys() == arguments.keys(), "a new tool: say how it is called here"
    vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
    for memory in vaults.list_open(one.number):
        memory.flush()
    before = read_all(roles, one)
    for name, tool in tools.items():
        given = arguments[name]
        result = call_mcp(client, one.read, "tools/call", name=name, arguments=given)
        text = json.dumps(result)
        if not tool["annotations"]["readOnlyHint"]:
            assert result["isError"] is True
            assert "scope write" in text
        elif name != "memory_core_get":
            assert ("harbour" in text, result.get("isError", False)) == (True, False), text
        foreign = json.dumps(call_mcp(client, other.read, "tools/call", name=name, arguments=given))
        assert "opens at nine" not in foreign
    for old in ("save", "update", "forget", "link", "core_update", "core_delete"):
        given = (
            {"section": "user", "key": "a"} if old == "core_delete" else arguments[f"memory_{old}"]
        )
        assert (
            call_mcp(client, one.read, "tools/call", name=old, arguments=given)["isError"] is True
        )
    assert read_all(roles, one) == before
    call_mcp(
        client,
        one.write,
        "tools/call",
        name="memory_save",
        arguments={"content": "Boats are blue."},
    )
    assert read_all(roles, one) != before
    read = call_mcp(client, one.read, "resources/read", uri="memory://recent")
    assert "Boats" in json.dumps(read)
    read = call_mcp(client, other.read, "resources/read", uri="memory://recent")
    assert "Boats" not in json.dumps(read)


def test_L3_the_page_of_a_tenant(client: TestClient, one: Tenant, other: Tenant) -> None:
    save(client, one, "The harbour opens at nine.")
    for tenant, sees in ((one, True), (other, False)):
        browser = TestClient(client.app, base_url=BASE, raise_server_exceptions=False)
        token = tenant.read["Authorization"][7:]
        signed_in = browser.get("/", params={"token": token}, follow_redirects=False)
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/")
        assert token not in str(signed_in.headers)
        for path in ("/", "/?q=harbour", "/timeline", "/stats"):
            page = browser.get(path)
            assert page.status_code == 200
            assert sees or "opens at nine" not in page.text
        assert ("opens at nine" in browser.get("/?q=harbour").text) is sees
    stranger = TestClient(client.app, base_url=BASE, raise_server_exceptions=False)
    denied = stranger.get("/", headers={"Accept": "text/html"})
    assert (denied.status_code, "harbour" in denied.text) == (401, False)


def test_L3_changes_are_told_to_their_tenant_only(
    client: TestClient, one: Tenant, other: Tenant
) -> None:
    served = client.app.state.tenants  # type: ignore[attr-defined]
    for tenant in (one, other):
        client.get("/stats", headers=tenant.write)  # the pages ask for the revision
    vaults: TenantVaults = served.vaults

    def count(tenant: Tenant) -> int:
        [memory] = vaults.list_open(tenant.number)
        return int(served._served[memory].events.published)

    before = count(other)
    save(client, one, "The harbour opens at nine.")
    until(lambda: count(one) > 0)
    assert count(other) == before


def test_L3_vaults_threads_and_connections_are_bounded(
    roles: Roles, admin: TenantAdministration, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = record_calls(monkeypatch, Muisti, "close")

    def count_threads() -> int:
        names = [thread.name for thread in threading.enumerate()]
        return sum(name.startswith("muisti-") for name in names)

    tenants = [Tenant(admin) for _ in range(6)]
    before = count_threads()  # other servers of this process may run
    with serve(roles, most_open=2) as client:
        vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
        for _ in range(2):
            for tenant in tenants:
                save(client, tenant, "The harbour opens at nine.")
                assert (
                    client.get("/api/search?query=harbour", headers=tenant.write).status_code == 200
                )
                assert vaults.count_open() <= 2
        assert set(closing) == {False}
        first, second = (one.memory for one in vaults._open.values())
        assert first is not None
        assert second is not None
        assert first._services.embedders is second._services.embedders
        assert count_threads() - before < 20
        assert vaults._pools.primary.get_stats()["pool_size"] <= MOST_CONNECTIONS


def test_L3_ready_names_the_tenant(client: TestClient, one: Tenant) -> None:
    found = client.get("/ready", headers=one.read)
    assert found.json()["vault"] == one.name


def test_L3_an_event_stream_ends_when_its_token_is_revoked(
    client: TestClient, admin: TenantAdministration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "KEEPALIVE_SECONDS", 0.1)
    name = f"stream-{next(NAMES)}"
    admin.add(name)
    token = admin.add_token(name, "read")
    revoking = threading.Timer(0.3, admin.revoke_token, (token.token.id,))
    revoking.start()
    with client.stream("GET", "/api/events", headers=bearer(token.secret)) as stream:
        assert b"listening" in b"".join(stream.iter_bytes()), "it ends by itself"
    revoking.join()


def test_L3_work_and_maintenance_for_all_tenants(roles: Roles, admin: TenantAdministration) -> None:
    """Each tenant has its turn, in one process each; what fails for one does not stop the others."""
    names = [f"work-{next(NAMES)}" for _ in range(3)]
    numbers = [admin.add(name).number for name in names]
    settings = {"embedder": "hashing", "embed_on_save": False}
    vaults = TenantVaults(roles.application, settings=settings)
    other = TenantVaults(roles.application, settings=settings)
    stop = threading.Event()
    try:
        work_for_tenants(vaults, stop, every=3600.0)
        for number in numbers:
            memory = vaults.acquire(Access(number, "", "", "write"))
            memory.save_batch([{"content": f"apple {n}"} for n in range(3)])
            vaults.release(memory)
        assert set(numbers) <= set(vaults.find_tenants())
        assert set(numbers) <= set(vaults.find_tenants(with_work=True))
        admin.drop(names[2])
        done = [work_for_tenants(one, stop, every=3600.0) for one in (vaults, other)]
        assert [one.embedded for one in done] == [6, 0]
        assert [one.maintained for one in done] == [0, 0], "it has run an hour ago at most"
        assert not set(numbers) & set(other.find_tenants(with_work=True, every=3600.0))
        assert set(numbers[:2]) <= set(other.find_tenants(with_work=True, every=0.0))
        stop.set()
        assert not any(work_for_tenants(other, stop, every=0.0))
    finally:
        vaults.close()
        other.close()


def test_L3_the_worker_of_all_tenants(
    roles: Roles, admin: TenantAdministration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    admin.add(f"work-{next(NAMES)}")
    command = ["worker", "--tenants", "--once", "--json", "--store", roles.application]
    found = CliRunner().invoke(cli, command)
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["maintained"] >= 1
    found = CliRunner().invoke(cli, [*command, "--retry"])
    assert json.loads(found.output) == {"extracted": 0, "embedded": 0, "maintained": 0}
    found = CliRunner().invoke(cli, ["worker", "--tenants", "--once"])
    assert found.exit_code == 1
    assert "--tenants needs a database" in str(found.exception)
