"""What tenants of one server notice of each other and of the machines behind it: nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from muisti import Muisti
from muisti.bootstrap_postgres import administer_tenants
from muisti.bootstrap_tenants import TenantVaults
from muisti.errors import SettingsError, StoreUnavailable, TenantNotFound
from muisti.model.tenants import Access
from muisti.storage.postgres.tenants import TenantAdministration
from tests.postgres.roles import Roles, make_roles
from tests.postgres.test_L3_server import CONFIG, Tenant, bearer, save, serve
from tests.rest.conftest import check_problem


@pytest.fixture(scope="module")
def roles() -> Iterator[Roles]:
    with make_roles() as roles:
        yield roles


@pytest.fixture(scope="module")
def admin(roles: Roles) -> TenantAdministration:
    return administer_tenants(roles.owner)


def test_L3_a_tenant_does_not_learn_where_the_database_is(
    roles: Roles, admin: TenantAdministration
) -> None:
    one = Tenant(admin)
    database = roles.application_name.removesuffix("_app")
    with serve(roles) as client:
        page = client.get("/status", headers=one.write)
        assert (page.status_code, one.name in page.text) == (200, True)
        assert (database in page.text, "Rescan files" in page.text) == (False, False)
        vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
        memory = vaults.acquire(vaults.admit(one.write["Authorization"][7:]))
        vaults._pools.close()
        refused = client.get("/api/memories", headers=one.read)
        check_problem(refused, 503, "store-unavailable")
        with pytest.raises(StoreUnavailable) as error:
            memory.save("Nobody can store this.")
        assert database not in f"{refused.text} {error.value} {memory.location}"
        vaults.release(memory)


def test_L3_writes_are_limited_for_each_token_as_all_come_through_one_proxy(
    roles: Roles, admin: TenantAdministration
) -> None:
    one, other = Tenant(admin), Tenant(admin)
    with serve(roles, config=replace(CONFIG, write_rate=0.001, write_burst=1)) as client:
        save(client, one, "The harbour opens at nine.")
        refused = client.post("/api/memories", json={"content": "Again"}, headers=one.write)
        check_problem(refused, 429, "too-many-changes")
        save(client, other, "The harbour opens at ten.")


def test_L3_only_the_first_tenant_sees_the_latencies_of_all_requests(
    roles: Roles, admin: TenantAdministration
) -> None:
    one = Tenant(admin)
    operator = bearer(admin.add_token("default", "admin").secret)
    with serve(roles) as client:
        save(client, one, "The harbour opens at nine.")
        texts = [client.get("/metrics", headers=who).text for who in (one.admin, operator)]
        assert ["muisti_http_request_seconds" in text for text in texts] == [False, True]
        assert 'route="/api/memories"' in texts[1]
        assert all("muisti_database_connections" in text for text in texts)
        assert "muisti_memories 0.0" in texts[1], "the other numbers are its own"
        assert one.name not in texts[1]


def test_L3_closing_a_vault_holds_up_no_request(
    roles: Roles, admin: TenantAdministration, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Tenant(admin), Tenant(admin)
    may_close, closed = threading.Event(), threading.Event()
    with serve(roles, most_open=1) as client:
        save(client, one, "The harbour opens at nine.")
        vaults: TenantVaults = client.app.state.memory  # type: ignore[attr-defined]
        [memory] = vaults.list_open(one.number)
        close = memory.close

        def close_slowly() -> None:
            assert may_close.wait(60)
            close()
            closed.set()

        monkeypatch.setattr(memory, "close", close_slowly)
        save(client, other, "The harbour opens at ten.")
        assert vaults.list_open(one.number) == []
        assert not closed.is_set()
        may_close.set()
        assert closed.wait(60)


def test_L3_opening_a_vault_holds_up_no_other(
    roles: Roles, admin: TenantAdministration, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (admin.add(name).number for name in ("slow", "quick"))
    begun, may_open = threading.Event(), threading.Event()
    make = TenantVaults._make

    def make_slowly(self: TenantVaults, tenant: int, writable: bool) -> Muisti:
        if tenant == one:
            begun.set()
            assert may_open.wait(60)
        return make(self, tenant, writable)

    monkeypatch.setattr(TenantVaults, "_make", make_slowly)
    vaults = TenantVaults(roles.application, settings={"embedder": "none"})
    try:
        opening = threading.Thread(target=vaults.acquire, args=(Access(one, "", "", "read"),))
        opening.start()
        assert begun.wait(60)
        memory = vaults.acquire(Access(other, "", "", "read"))
        assert (vaults.list_open(one), vaults.list_open(other)) == ([], [memory])
        vaults.release(memory)
        may_open.set()
        opening.join()
        assert len(vaults.list_open(one)) == 1
        with pytest.raises(TenantNotFound):
            vaults.acquire(Access(999_999, "", "", "read"))
        assert vaults.count_open() == 2
    finally:
        vaults.close()


def test_L3_a_role_that_sees_all_rows_does_not_serve(roles: Roles) -> None:
    for dsn in (roles.owner, roles.superuser):
        with pytest.raises(SettingsError, match="muisti tenants grant ROLE"):
            TenantVaults(dsn)
    with pytest.raises(SettingsError, match="tokens of their own"):
        replace(CONFIG, token="0123456789abcdef")
