"""No tenant sees or changes a row of another: every verb, every surface, and raw SQL (contract L3).

Each tenant has texts in random scopes; each text has a word that is in no other. A tenant asks with
the IDs, sessions and words of another tenant, and the answer must have none of that tenant's words.
A failure names its seed.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from muisti import Muisti
from muisti.bootstrap_postgres import administer_tenants, name_tenant
from muisti.bootstrap_tenants import TenantVaults
from muisti.errors import MuistiError
from muisti.surfaces.cli.group import cli
from muisti.surfaces.rest.app import create_app
from muisti.surfaces.rest.config import ServerConfig
from tests import tiers
from tests.acceptance.scope import asking
from tests.acceptance.scope.surfaces import Rest
from tests.acceptance.scope.world import TOPIC, Item, Scope, Sight, World, build_world
from tests.postgres.roles import Roles, make_roles, run
from tests.postgres.test_L3_server import bearer, call_mcp
from tests.rest.conftest import BASE

TRIES = tiers.amount(quick=120, all=600, long=20_000)
FEW = 200
"""Up to so many tries of one kind, it may happen that none returns a text."""
TENANTS = 3
_SECRET = re.compile(r"qz[bcdfghjklmnpqrstvwz]{11}")


class Blind(Sight):
    """What a tenant sees of another one: nothing."""

    def sees(self, item: Item) -> bool:
        return False


class Foreign(World):
    """The texts of another tenant, asked for in the caller's own vault."""

    def look(self, scope: Scope, **more: object) -> Sight | None:
        return None if scope.session is not None else Blind()


@dataclass
class Tenant:
    """A tenant with its texts, and how it can be reached."""

    number: int
    address: str
    token: str
    memory: Muisti
    world: World
    secrets: frozenset[str]


@pytest.fixture(scope="module")
def roles() -> Iterator[Roles]:
    with make_roles() as roles:
        yield roles


@pytest.fixture(scope="module")
def seed() -> str:
    return os.environ.get("MUISTI_SCOPE_SEED") or str(random.SystemRandom().randrange(10**9))


@pytest.fixture(scope="module")
def tenants(roles: Roles, seed: str) -> Iterator[list[Tenant]]:
    admin = administer_tenants(roles.owner)
    made = []
    with ExitStack() as stack:
        for number in range(TENANTS):
            name = f"tenant-{number}"
            added = admin.add(name)
            address = name_tenant(roles.application, added.number)
            options: dict[str, Any] = {"embedder": "hashing", "record_recall": False}
            memory = stack.enter_context(Muisti.open(address, **options))
            world = build_world(memory, f"{seed} {number}", None, size=40, prefix=f"t{number}-")
            memory.reindex_missing()
            token = admin.add_token(name, "admin").secret
            secrets = frozenset(item.secret for item in world.items)
            made.append(Tenant(added.number, address, token, memory, world, secrets))
        yield made


@pytest.fixture(scope="module")
def client(roles: Roles, tenants: list[Tenant]) -> Iterator[TestClient]:
    settings = {"embedder": "hashing", "record_recall": False}
    vaults = TenantVaults(roles.application, settings=settings)
    try:
        app = create_app(vaults, ServerConfig(tenants=True, write_rate=0))
        with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
            yield client
    finally:
        vaults.close()


def read_rows(roles: Roles, number: int) -> dict[object, object]:
    """Return a digest of every table's rows of a tenant."""
    sql = """SELECT table_name FROM information_schema.columns
             WHERE table_schema = 'muisti' AND column_name = 'tenant'"""
    found: dict[object, object] = {}
    for (table,) in run(roles.superuser, sql):
        digest = f"""SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text))
                     FROM muisti.{table} t WHERE tenant = {number}"""
        found[table] = run(roles.superuser, digest)
    return found


# -- Ways to ask: each returns everything that the caller reads


def ask_python(own: Tenant, other: Tenant, chance: random.Random, _: TestClient) -> str:
    world = make_foreign(own, other)
    name = chance.choice([*asking.PYTHON])
    return asking.PYTHON[name](world, chance, other.world.random_scope(chance)).text


def ask_own(own: Tenant, other: Tenant, chance: random.Random, _: TestClient) -> str:
    """Without a foreign ID: the other's texts match the words, too."""
    name = chance.choice(["search", "search_compact", "list", "export_memories", "context"])
    return asking.PYTHON[name](own.world, chance, Scope("*", "*")).text


def ask_rest(own: Tenant, other: Tenant, chance: random.Random, client: TestClient) -> str:
    client.headers["Authorization"] = bearer(own.token)["Authorization"]
    world = replace(make_foreign(own, other), conversations=[*other.world.sessions])
    return Rest(client).ask_random(world, chance, other.world.random_scope(chance)).text


def ask_page(own: Tenant, other: Tenant, chance: random.Random, client: TestClient) -> str:
    item = chance.choice(other.world.of("memory"))
    session = chance.choice([*other.world.sessions])
    named = chance.choice(other.world.conversations)
    path = chance.choice([
        f"/?q={TOPIC}", f"/?q={item.key}", f"/memory/{item.id}", f"/memory/{item.id}/edit",
        f"/memory/{item.id}/versions", f"/memory/{item.id}/graph", f"/timeline?id={item.id}", "/graph",
        "/stats", "/trash", "/sessions", f"/sessions/{session}", f"/conversations/{named}", "/core",
        "/review", "/status",
    ])  # fmt: skip
    return client.get(path, headers=bearer(own.token)).text


def ask_mcp(own: Tenant, other: Tenant, chance: random.Random, client: TestClient) -> str:
    item = chance.choice(other.world.of("memory"))
    name, given = chance.choice([
        ("memory_search", {"query": chance.choice([TOPIC, item.key]), "scope": "everywhere"}),
        ("memory_get", {"ids": [item.id]}),
        ("memory_timeline", {"id": item.id, "before": 20, "after": 20}),
        ("memory_update", {"id": item.id, "title": "mine"}),
        ("memory_forget", {"id": item.id}),
        ("memory_link", {"source": item.id, "target": item.id, "type": "RELATED_TO"}),
        ("memory_core_get", {}),
    ])  # fmt: skip
    return json.dumps(call_mcp(client, bearer(own.token), "tools/call", name=name, arguments=given))


def ask_command(own: Tenant, other: Tenant, chance: random.Random, _: TestClient) -> str:
    item = chance.choice(other.world.of("memory"))
    command = chance.choice([
        ["search", TOPIC, "--all"], ["show", item.id], ["list", "--all"], ["history", item.id],
        ["timeline", item.id], ["related", item.id], ["export"], ["delete", item.id],
        ["context", item.key], ["explain", TOPIC, item.id], ["core", "show"], ["trash"],
    ])  # fmt: skip
    done = CliRunner().invoke(cli, [*command, "--vault", own.address])
    return f"{done.output} {done.exception}"


WRITES: list[Callable[[Muisti, str, Tenant], object]] = [
    lambda memory, id_, _: memory.update(id_, title="mine"),
    lambda memory, id_, _: memory.delete(id_),
    lambda memory, id_, _: memory.delete(id_, hard=True),
    lambda memory, id_, _: memory.restore(id_),
    lambda memory, id_, _: memory.touch(id_),
    lambda memory, id_, _: memory.reinforce(id_),
    lambda memory, id_, _: memory.deemphasize(id_),
    lambda memory, id_, _: memory.confirm(id_),
    lambda memory, id_, _: memory.unmerge(id_),
    lambda memory, id_, other: memory.link(id_, other.world.items[0].id, "RELATED_TO"),
    lambda memory, id_, other: memory.supersede(id_, other.world.of("memory")[0].id),
    lambda memory, id_, other: memory.delete_conversation(other.world.conversations[0]),
    lambda memory, id_, other: memory.end_session(next(iter(other.world.sessions)), "mine"),
    lambda memory, id_, other: memory.link_to_session(id_, next(iter(other.world.sessions))),
    lambda memory, id_, _: memory.save("x", replaces=id_),
]


def ask_write(own: Tenant, other: Tenant, chance: random.Random, _: TestClient) -> str:
    """Changes of another's memories: each is refused. The rows are compared afterwards."""
    item = chance.choice(other.world.of("memory"))
    try:
        return str(chance.choice(WRITES)(own.memory, item.id, other))
    except MuistiError as error:
        return str(error)


def ask_sql(own: Tenant, other: Tenant, chance: random.Random, _: TestClient) -> str:
    """Raw SQL of the application's role: with its tenant, with a forgotten one, with nonsense."""
    address = own.address.partition("&options")[0]
    setting = chance.choice([str(own.number), str(own.number), None, "", "-1", "0"])
    schema = chance.choice(["muisti", "muisti_tenant"])
    tables = [table for table in TABLES if schema == "muisti" or table not in SHARED_TABLES]
    table = f"{schema}.{chance.choice(tables)}"
    named = chance.choice(other.world.items).secret
    where = chance.choice([
        "true", f"tenant = {other.number}", f"tenant <> {own.number}", "tenant IS NOT NULL OR true",
        "pg_temp.tell(t::text)", f"tenant = {other.number} AND pg_temp.tell(t::text)",
        f"t::text LIKE '%{named}%'",
        f"1 / (CASE WHEN tenant = {other.number} THEN 0 ELSE 1 END) = 1",
    ])  # fmt: skip
    sql = chance.choice([
        f"SELECT t::text FROM {table} t WHERE {where}",
        f"WITH x AS MATERIALIZED (SELECT * FROM {table} t WHERE {where}) SELECT x::text FROM x",
        f"SELECT string_agg(t::text, ' ') FROM {table} t WHERE {where}",
        f"SELECT t::text FROM {table} t, muisti.entries e WHERE {where.replace('tenant', 't.tenant')}",
        f"UPDATE {table} t SET tenant = tenant WHERE {where} RETURNING t::text",
        f"DELETE FROM {table} t WHERE tenant = {other.number} AND {where} RETURNING t::text",
        f"INSERT INTO {table} SELECT * FROM {table} t WHERE tenant = {other.number} RETURNING 'x'",
        f"COPY (SELECT * FROM {table} t WHERE {where}) TO STDOUT",
        "SELECT most_common_vals::text FROM pg_stats WHERE schemaname = 'muisti'",
        f"EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM {table} t WHERE {where}",
    ])  # fmt: skip
    told: list[str] = []
    with psycopg.connect(address) as db:
        db.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        db.execute(
            """CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001
               AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$"""
        )
        if setting is not None:
            db.execute("SELECT set_config('muisti.tenant', %s, true)", (setting,))
        try:
            if sql.startswith("COPY"):
                with db.cursor().copy(sql.encode()) as copy:
                    rows: list[Any] = [bytes(part) for part in copy]
            else:
                cursor = db.execute(sql.encode())
                rows = cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            assert "division by zero" not in str(error), "a row of another tenant was looked at"
            rows = [str(error)]
        db.rollback()
    if setting != str(own.number) and "pg_stats" not in sql and not sql.startswith("EXPLAIN"):
        shown = [row for row in rows if str(row) not in ("(None,)",) and _SECRET.search(str(row))]
        assert not shown, f"rows without a tenant: {sql} {shown}"
        assert not told, f"rows without a tenant were looked at: {sql}"
    return f"{rows} {told}".replace(named, "")  # plans and errors quote the caller's statement


SHARED_TABLES = ("audit", "migrations", "models")
TABLES: list[str] = []
"""Filled from the catalog."""
SURFACES: dict[str, tuple[Callable[..., str], float]] = {
    "python": (ask_python, 30),
    "python, own": (ask_own, 5),
    "rest": (ask_rest, 20),
    "page": (ask_page, 8),
    "mcp": (ask_mcp, 5),
    "command line": (ask_command, 2),
    "writes": (ask_write, 10),
    "sql": (ask_sql, 20),
}


def make_foreign(own: Tenant, other: Tenant) -> Foreign:
    """Return the world of another tenant, with the caller's vault."""
    theirs = other.world
    return Foreign(
        own.memory,
        theirs.items,
        theirs.sessions,
        theirs.conversations,
        theirs.superseded,
        theirs.linking,
        theirs.words,
    )


@pytest.mark.exhaustive
def test_L3_no_tenant_reaches_another(
    roles: Roles, tenants: list[Tenant], client: TestClient, seed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("MUISTI_EMBEDDER", "hashing")
    monkeypatch.setenv("MUISTI_RECORD_RECALL", "false")  # of commands
    sql = """SELECT relname FROM pg_class WHERE relnamespace = 'muisti'::regnamespace AND relkind = 'r'"""
    TABLES[:] = [str(name) for (name,) in run(roles.superuser, sql) if name not in SHARED_TABLES]
    before = {tenant.number: read_rows(roles, tenant.number) for tenant in tenants}
    chance = random.Random(f"tries {seed}")
    counts: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for number in range(TRIES):
        own, other = chance.sample(tenants, 2)
        [name] = chance.choices([*SURFACES], [weight for _, weight in SURFACES.values()])
        try:
            text = SURFACES[name][0](own, other, chance, client)
            found = frozenset(_SECRET.findall(text))
            assert not found - own.secrets, "words of another tenant"
        except BaseException as error:
            error.add_note(f"seed {seed!r}, try {number}: {name}, {own.number} asks {other.number}")
            raise
        counts[name] += 1
        shown[name] += bool(found)
        if number % 1000 == 999:
            print(f"seed {seed}: {number + 1} tries", flush=True)
    after = {tenant.number: read_rows(roles, tenant.number) for tenant in tenants}
    for tenant in tenants:  # `save(replaces=…)` and the like must not have changed anything either
        assert after[tenant.number] == before[tenant.number]
    assert sum(counts.values()) == TRIES
    print(f"seed {seed}: {dict(counts)}, with texts of their own: {dict(shown)}")
    for name in ("python, own", "rest", "page", "sql"):
        is_enough = counts[name] < FEW or shown[name] > 0
        assert is_enough, f"{name}: no answer has a text, so that nothing is checked"
