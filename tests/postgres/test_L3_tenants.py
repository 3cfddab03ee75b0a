"""Tenants: adding, limiting, exporting and dropping them, their tokens, and the audit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muisti import Muisti
from muisti.bootstrap_postgres import administer_tenants, name_tenant
from muisti.errors import (
    InvalidRequest,
    MuistiError,
    QuotaExceeded,
    StoreUnavailable,
    TenantNotFound,
    VaultBusy,
)
from muisti.model.tenants import Limits
from muisti.storage.postgres.tenants import TenantAdministration, hash_token
from tests.postgres.roles import Roles, make_roles, run
from tests.rest.conftest import until

NAMES_THAT_ARE_SQL = [
    "x'; DROP TABLE muisti.memories; --",
    'x"; DROP SCHEMA muisti CASCADE; --',
    "1 OR 1=1",
    "$$",
    "%s",
    "a\0b",
    "",
    "x" * 64,
    "Ä",
]


@pytest.fixture(scope="module")
def roles() -> Iterator[Roles]:
    with make_roles() as roles:
        yield roles


@pytest.fixture
def admin(roles: Roles) -> TenantAdministration:
    return administer_tenants(roles.owner)


COUNT = iter(range(10**6))


@pytest.fixture
def name(admin: TenantAdministration) -> str:
    """A tenant of its own."""
    return admin.add(f"tenant.{next(COUNT)}").name


def open_tenant(roles: Roles, admin: TenantAdministration, name: str, **options: Any) -> Muisti:
    number = admin.get(name).number
    return Muisti.open(name_tenant(roles.application, number), embedder="hashing", **options)


def count_rows(roles: Roles, number: int) -> dict[str, int]:
    """Return how many rows of a tenant each table has, if any. The catalog names the tables."""
    sql = """SELECT table_name FROM information_schema.columns WHERE table_schema = 'muisti'
             AND column_name = 'tenant'"""
    with psycopg.connect(roles.superuser) as db:
        counts = {}
        for (table,) in db.execute(sql).fetchall():
            found = f"SELECT count(*) FROM muisti.{table} WHERE tenant = {number}"
            [counts[table]] = db.execute(found.encode()).fetchone() or [0]
    return {table: count for table, count in counts.items() if count}


def test_L3_tenants_are_vaults_that_the_application_uses(
    roles: Roles, admin: TenantAdministration
) -> None:
    first, second = admin.add("acme"), admin.add("beta", Limits(memories=5))
    with open_tenant(roles, admin, "acme") as one, open_tenant(roles, admin, "beta") as other:
        saved = one.save("Acme uses PostgreSQL.")
        assert [hit.memory.id for hit in one.search("postgresql")] == [saved.id]
        assert not other.search("postgresql")
        assert other.get(saved.id) is None
    listed = {tenant.name: tenant for tenant in admin.list_tenants()}
    assert (listed["acme"].number, listed["acme"].memories) == (first.number, 1)
    assert listed["acme"].bytes > 100
    assert (listed["beta"].limits, listed["beta"].memories) == (Limits(memories=5), 0)
    assert listed["beta"] == admin.get("beta") == second


@pytest.mark.parametrize("bad", NAMES_THAT_ARE_SQL)
def test_L3_a_name_that_is_sql_is_refused(admin: TenantAdministration, bad: str) -> None:
    before = admin.list_tenants()
    with pytest.raises(InvalidRequest, match="name must have 1 to 63"):
        admin.add(bad)
    texts = set()
    for act in (admin.get, admin.drop, admin.list_tokens, admin.record_export):
        with pytest.raises(TenantNotFound) as error:
            act(bad)
        texts.add(str(error.value))
    assert texts == {"no tenant has this name; `muisti tenants list` shows all"}
    with pytest.raises(InvalidRequest, match="must be the ID of a token"):
        admin.revoke_token(bad)
    with pytest.raises(InvalidRequest, match="must exist"):
        admin.grant(bad)
    assert admin.list_tenants() == before


def test_L3_bad_input_says_what_is_wrong(
    admin: TenantAdministration, roles: Roles, name: str
) -> None:
    with pytest.raises(InvalidRequest, match="name must not be taken"):
        admin.add(name)
    with pytest.raises(InvalidRequest, match="memories must be a number from 0 on"):
        admin.set_limits(name, Limits(memories=-1))
    with pytest.raises(InvalidRequest, match="scope must be one of read, write, admin"):
        admin.add_token(name, "root")
    with pytest.raises(InvalidRequest, match="must be subject|must own nothing"):
        admin.grant("postgres")
    with pytest.raises(InvalidRequest, match="first tenant"):
        admin.drop("default")
    for act in (
        lambda a: a.list_tenants(),
        lambda a: a.add("mine"),
        lambda a: a.drop(name),
        lambda a: a.add_token(name, "admin"),
        lambda a: a.audit(),
        lambda a: a.grant("postgres"),
    ):
        with pytest.raises(InvalidRequest, match="role that owns the schema"):
            act(administer_tenants(roles.application))
    with pytest.raises(StoreUnavailable) as error:
        administer_tenants("postgresql://u:hunter2@127.0.0.1:1/x").list_tenants()
    assert "hunter2" not in str(error.value)


def test_L3_a_tenant_that_does_not_exist(roles: Roles) -> None:
    for dsn in (name_tenant(roles.application, 999_999), name_tenant(roles.application, 2**31 - 1)):
        with pytest.raises(TenantNotFound, match="does not exist, or was dropped"):
            Muisti.open(dsn)
    for bad in ("0", "-1", "x", "2147483648", "1;DROP", "1 OR 1"):
        dsn = f"{roles.application}&options=-c%20muisti.tenant%3D{bad.replace(' ', '%5C%20')}"
        with pytest.raises(InvalidRequest, match="must be the number of a tenant"):
            Muisti.open(dsn)


def test_L3_dropping_leaves_no_row(
    roles: Roles, admin: TenantAdministration, tmp_path: Path
) -> None:
    (tmp_path / "care.md").write_text("# Walrus\n\nClams.\n")
    number = admin.add("short-lived").number
    other = admin.add("long-lived").number
    for name in ("short-lived", "long-lived"):
        admin.add_token(name, "read")
        with open_tenant(roles, admin, name) as memory:
            first = memory.save("We chose PostgreSQL for its JSON support.", keywords=["db"])
            second = memory.save("We chose SQLite for the index.")
            memory.link(second.id, first.id, "RELATED_TO")
            memory.update(first.id, content="We chose MariaDB.")
            memory.delete(memory.save("a third one").id)
            memory.append_message("chat_1", "user", "My dog is called Rex.")
            memory.core_update("user", "name", "Anna")
            session = memory.start_session("shop")
            memory.end_session(session.id, "done")
            memory.index_path(tmp_path)
            notes = memory.notebook("memories")
            with notes.lock():
                notes.create("dog.md", b"The dog is called Rex.")
            memory.reindex_missing()
            memory.search("chose")
    before = count_rows(roles, other)
    assert len(before) >= 20
    assert count_rows(roles, number).keys() == before.keys()
    assert admin.drop("short-lived") > 50
    assert count_rows(roles, number) == {}
    assert count_rows(roles, other) == before
    with pytest.raises(TenantNotFound):
        admin.get("short-lived")
    # Numbers are not used again, also if the sequence says so.
    run(roles.owner, "SELECT setval('muisti.tenant_numbers', 2, false)")
    assert admin.add("next").number not in (number, other)


def test_L3_a_dropped_tenant_that_is_still_in_use(
    roles: Roles, admin: TenantAdministration, name: str
) -> None:
    number = admin.get(name).number
    with open_tenant(roles, admin, name, record_recall=False) as memory:
        saved = memory.save("The bridge is blue.")
        admin.drop(name)
        for call in (
            lambda: memory.search("bridge"),
            lambda: memory.get(saved.id),
            lambda: memory.save("another"),
            lambda: memory.delete(saved.id),
            lambda: memory.append_message("chat_1", "user", "hello"),
            memory.get_stats,
            lambda: memory.run_due_maintenance(0),
        ):
            with pytest.raises(TenantNotFound, match="does not exist, or was dropped"):
                call()
    # Nor does the owner add it again by an address that is still in use.
    with pytest.raises(TenantNotFound, match="does not exist, or was dropped"):
        Muisti.open(name_tenant(roles.owner, number))
    assert count_rows(roles, number) == {}


def test_L3_a_tenant_that_its_address_adds_is_audited(
    roles: Roles, admin: TenantAdministration
) -> None:
    for _ in range(2):
        Muisti.open(name_tenant(roles.owner, 424_242), embedder="none").close()
    assert [entry.act for entry in admin.audit("tenant-424242")] == ["add"]
    assert admin.get("tenant-424242").number == 424_242


def test_L3_a_drop_waits_for_writers(roles: Roles, admin: TenantAdministration, name: str) -> None:
    impatient = TenantAdministration(roles.owner, timeout=0.1)
    with open_tenant(roles, admin, name) as memory:
        with memory._services.store.lock(), pytest.raises(VaultBusy):
            impatient.drop(name)
        memory.save("still here")
        impatient.drop(name)


def test_L3_quotas_are_counted_by_the_database(
    roles: Roles, admin: TenantAdministration, name: str
) -> None:
    admin.set_limits(name, Limits(memories=3))
    with open_tenant(roles, admin, name, merge_duplicates=False) as memory:
        saved = [memory.save(f"Fact number {n} about the garden.") for n in range(3)]
        for call in (
            lambda: memory.save("one too many"),
            lambda: memory.save_batch(["first", "second"]),
        ):
            with pytest.raises(QuotaExceeded, match="more than the 3 memories.*it has 3") as error:
                call()
            assert (error.value.status, error.value.what) == (507, "memories")
        assert admin.get(name).memories == 3
        memory.update(saved[0].id, content="Changed, which needs no more memories.")
        memory.search("garden")
        memory.delete(saved[1].id)
        assert admin.get(name).memories == 2
        memory.save("now there is room")
        with pytest.raises(QuotaExceeded):
            memory.restore(saved[1].id)
        used = admin.set_limits(name, Limits(bytes=1)).bytes
        with pytest.raises(QuotaExceeded, match=f"more than the 1 bytes.*it has {used:,}"):
            memory.append_message("chat_1", "user", "hello")
        assert admin.get(name).bytes == used
        memory.delete(saved[0].id)  # a tenant that has too much may still delete
        memory.delete(saved[2].id, hard=True)
        assert admin.get(name).bytes < used
        assert not memory.verify().problems
    counted = run(
        roles.superuser,
        f"SELECT memories, bytes FROM muisti.stored WHERE tenant = {admin.get(name).number}",
    )
    recounted = run(
        roles.superuser,
        f"""SELECT (SELECT count(*) FROM muisti.memories WHERE tenant = t AND NOT archived
                    AND path NOT LIKE '.trash/%'),
            (SELECT coalesce(sum(octet_length(file)), 0) FROM muisti.memories WHERE tenant = t)
            + (SELECT coalesce(sum(octet_length(file)), 0) FROM muisti.versions WHERE tenant = t)
            + (SELECT coalesce(sum(octet_length(content) + octet_length(meta)), 0) FROM muisti.lines
               WHERE tenant = t)
            FROM (VALUES ({admin.get(name).number})) x (t)""",
    )
    assert counted == recounted


def test_L3_notes_and_documents_count_and_are_not_seen_by_others(
    roles: Roles, admin: TenantAdministration, name: str, tmp_path: Path
) -> None:
    other = admin.add(f"{name}-other").name
    (tmp_path / "care.md").write_text("# Walrus\n\nClams, twice a day.\n")
    with (
        open_tenant(roles, admin, name) as memory,
        open_tenant(roles, admin, other) as stranger,
    ):
        memory.index_path(tmp_path)
        notes = memory.notebook("memories")
        with notes.lock():
            notes.create("dog.md", b"The dog is called Rex.")
        stored = len("# Walrus\n\nClams, twice a day.") + len("The dog is called Rex.")
        assert admin.get(name).bytes == stored
        assert (list(stranger.search("clams")), stranger.list_documents()) == ([], [])
        assert stranger.notebook("memories").entries("") == []
        admin.set_limits(name, Limits(bytes=stored + 10))
        (tmp_path / "more.md").write_text("the seal " * 10)
        for call in (
            lambda: memory.index_path(tmp_path, source="handbook"),
            lambda: notes.create("cat.md", b"The cat is called Misu."),
        ):
            with pytest.raises(QuotaExceeded, match="more than the"):
                call()
        assert [one.path for one in memory.list_documents()] == [f"{tmp_path}/care.md"]
        assert memory.list_document_sources()[0].source == ""
        assert notes.status("cat.md") is None
        with notes.lock():
            notes.trash("dog.md")
        memory.forget_path(tmp_path)
        assert admin.get(name).bytes == len("The dog is called Rex.")
        assert memory.verify(deep=True).problems == ()


def test_L3_extraction_over_the_quota_is_tried_again_later_and_not_at_once(
    roles: Roles, admin: TenantAdministration, name: str
) -> None:
    number = admin.set_limits(name, Limits(memories=1)).number
    row = f"""SELECT claimed_by, attempts, error, claimed_until > now() FROM muisti.queue
              WHERE tenant = {number}"""
    with open_tenant(roles, admin, name) as memory:
        memory.save("The garden has apple trees.")
        memory.extract_and_save("chat", "I prefer tea with lemon.")
        until(lambda: run(roles.superuser, row)[0][0] == "")
        [(_, attempts, error, is_later)] = run(roles.superuser, row)
        assert (attempts, is_later) == (1, True)
        assert "more than the 1 memories" in str(error)
        assert memory.work().extracted == 0
        assert memory.metrics().counters["memory.extraction.count"] == 1
        admin.set_limits(name, Limits())
        free = f"UPDATE muisti.queue SET claimed_until = now() WHERE tenant = {number}"
        run(roles.superuser, free)
        assert memory.flush(60)
        assert memory.count_review().memories == 1
        assert memory.queue_status().waiting == 0


def test_L3_a_dropped_tenant_is_not_asked_for_its_queue_again(
    roles: Roles, admin: TenantAdministration, name: str
) -> None:
    admin.set_limits(name, Limits(memories=0))
    with open_tenant(roles, admin, name) as memory:
        worker = memory._extraction_worker
        memory.extract_and_save("chat", "I prefer tea with lemon.")
        until(lambda: not worker._queue.unfinished_tasks)
        assert worker.look_again() is not None, "an exchange waits"
        admin.drop(name)
        assert worker.look_again() is None


def test_L3_tokens_are_hashed_and_shown_once(
    roles: Roles, admin: TenantAdministration, name: str
) -> None:
    made = admin.add_token(name, "read", "for the bot", datetime.now(UTC) + timedelta(days=1))
    assert made.secret.startswith("muisti_")
    assert len(made.secret) == 7 + 64
    stored = str(run(roles.superuser, "SELECT * FROM muisti.tokens"))
    assert made.secret[7:] not in stored
    [found] = run(roles.superuser, f"SELECT hash FROM muisti.tokens WHERE id = '{made.token.id}'")
    assert bytes(found[0]) == hash_token(made.secret)  # type: ignore[arg-type, call-overload]
    assert admin.list_tokens(name) == [made.token]
    assert admin.get(name).tokens == 1
    assert admin.revoke_token(made.token.id).revoked_at is not None
    assert admin.revoke_token(made.token.id).revoked_at is not None  # again: the same
    assert admin.get(name).tokens == 0
    assert "[redacted:muisti-token]" in str(MuistiError(f"got {made.secret} here"))


def test_L3_what_administrators_do_is_recorded(
    roles: Roles, admin: TenantAdministration, name: str, tmp_path: Path
) -> None:
    token = admin.add_token(name, "admin").token
    admin.revoke_token(token.id)
    admin.set_limits(name, Limits(requests=60))
    admin.record_export(name)
    admin.drop(name)
    entries = admin.audit(name)
    acts = ["drop", "export", "limit", "token revoke", "token add", "add"]
    assert [entry.act for entry in entries] == acts
    assert {entry.role for entry in entries} == {roles.owner.partition("@")[0].rpartition("/")[2]}
    assert entries[-2].details["token"] == token.id
    assert admin.audit("nobody") == []
    assert len(admin.audit(limit=2)) == 2


def test_L3_commands(roles: Roles, tmp_path: Path) -> None:
    def muisti(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "muisti", "tenants", *args, "--store", roles.owner]
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)

    def parse(*args: str) -> Any:
        done = muisti(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert parse("add", "shop", "--memories", "2K", "--bytes", "1G")["limits"]["bytes"] == 10**9
    assert parse("limit", "shop", "--bytes", "none", "--requests", "60")["limits"] == {
        "memories": 2000, "bytes": None, "requests": 60,
    }  # fmt: skip
    made = parse("token", "add", "shop", "--scope", "read", "--days", "7")
    assert made["token"].startswith("muisti_")
    assert [one["id"] for one in parse("token", "list", "shop")] == [made["id"]]
    assert made["token"] not in muisti("token", "list", "shop").stdout
    parse("token", "revoke", made["id"])
    assert "shop" in [one["name"] for one in parse("list")]
    assert "2,000" in muisti("list").stdout
    [number] = [one["number"] for one in parse("list") if one["name"] == "shop"]
    with Muisti.open(name_tenant(roles.owner, number)) as memory:
        saved = memory.save("The shop opens at nine.")
    assert parse("export", "shop", str(tmp_path / "copy"))["files"] >= 1
    with Muisti.open(tmp_path / "copy") as memory:
        assert memory.get(saved.id) is not None
    refused = muisti("drop", "shop")
    assert (refused.returncode, "--yes" in refused.stderr) == (1, True)
    assert parse("drop", "shop", "--yes")["rows"] > 0
    assert parse("audit", "shop")[0]["act"] == "drop"
    gone = muisti("drop", "shop", "--yes")
    assert (gone.returncode, "no tenant has this name" in gone.stderr) == (1, True)
    assert "is not a number" in muisti("add", "x", "--memories", "many").stderr
