"""Row-level security: the catalog says that no table is forgotten, and raw SQL shows it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from muisti.storage.clock import SystemClock
from muisti.storage.postgres import migrate
from muisti.storage.postgres.connect import Database
from tests.postgres.roles import Roles, make_roles, migrate_as_owner, run

WITHOUT_TENANT = {
    "migrations": "numbers of migrations; no data of a tenant",
    "models": "names of embedding models, which all tenants share",
    "audit": "acts of administrators, which outlive tenants; only the owner reads it",
}
CONDITION = (
    "tenant = ( SELECT (NULLIF(current_setting('muisti.tenant'::text, true), ''::text))::integer "
    'AS "nullif")'
)
TABLES = """SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity,
    EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant'
            AND a.attnotnull)
    FROM pg_class c WHERE c.relnamespace = 'muisti'::regnamespace AND c.relkind IN ('r', 'p')"""


@pytest.fixture(scope="module")
def roles() -> Iterator[Roles]:
    with make_roles() as roles:
        run(roles.owner, "INSERT INTO muisti.tenants (tenant, name) VALUES (2, 'second')", 2)
        for tenant in (1, 2):
            fill(roles, tenant)
        yield roles


MADE = {
    "text": "'t{tenant}'",
    "bytea": "decode('0{tenant}', 'hex')",
    "bool": "true",
    "date": "'2026-01-01'",
    "timestamptz": "now()",
    "_text": "'{{}}'",
    "bit": "B'00000000'",
    "xid8": "'1'",
}
"""A value for a column, by its type; numbers are 1."""


def fill(roles: Roles, tenant: int) -> None:
    """Give a tenant a row in every table."""
    columns = """SELECT c.table_name, quote_ident(c.column_name), c.udt_name
        FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE c.table_schema = 'muisti' AND t.table_type = 'BASE TABLE'
        AND c.is_nullable = 'NO' AND c.is_identity = 'NO' AND c.is_generated = 'NEVER'
        AND c.column_name <> 'tenant'"""
    rows: dict[str, dict[str, str]] = {}
    for table, name, kind in run(roles.superuser, columns):
        value = MADE.get(str(kind), "1").format(tenant=tenant)
        rows.setdefault(str(table), {})[str(name)] = "'read'" if name == "scope" else value
    for table, values in rows.items():
        if table not in WITHOUT_TENANT and table != "tenants":
            names = ", ".join(["tenant", *values])
            sql = f"INSERT INTO muisti.{table} ({names}) VALUES ({tenant}, {', '.join(values.values())})"
            run(roles.superuser, f"{sql} ON CONFLICT DO NOTHING", tenant)


def list_tables(roles: Roles) -> list[str]:
    return [str(name) for name, *_ in run(roles.superuser, TABLES)]


def test_L3_every_table_has_a_tenant_and_a_policy_for_the_owner_too(roles: Roles) -> None:
    policies: dict[object, list[tuple[object, ...]]] = {}
    sql = """SELECT tablename, policyname, cmd, permissive, roles::text, qual, with_check
             FROM pg_policies WHERE schemaname = 'muisti'"""
    for table, *policy in run(roles.superuser, sql):
        policies.setdefault(table, []).append(tuple(policy))
    found = run(roles.superuser, TABLES)
    assert len(found) > 30
    owner = roles.owner.partition("@")[0].rpartition("/")[2]
    for table, enabled, forced, has_tenant in found:
        if table in ("migrations", "models"):
            continue
        assert (table, enabled, forced) == (table, True, True)
        assert has_tenant or table in WITHOUT_TENANT, f"{table} has no tenant"
        for name, command, permissive, for_roles, using, check in policies[table]:
            if name == "tenant_rows":
                assert (command, permissive, for_roles) == ("ALL", "PERMISSIVE", "{public}")
                assert using == check == f"({CONDITION})"
            else:  # further policies are only for the owner of the registry
                assert (table in ("tenants", "tokens", "audit"), for_roles) == (
                    True,
                    f"{{{owner}}}",
                )
        assert has_tenant == any(name == "tenant_rows" for name, *_ in policies[table])


def test_L3_every_view_has_the_rights_of_its_user_and_the_condition(roles: Roles) -> None:
    sql = """SELECT relname, 'security_invoker=true' = ANY(reloptions), pg_get_viewdef(oid)
             FROM pg_class WHERE relnamespace = 'muisti_tenant'::regnamespace AND relkind = 'v'"""
    found = {str(name): (invoker, str(text)) for name, invoker, text in run(roles.superuser, sql)}
    assert set(found) == set(list_tables(roles)) - set(WITHOUT_TENANT)
    for name, (invoker, text) in found.items():
        assert (name, invoker) == (name, True)
        assert CONDITION in " ".join(text.split())


def test_L3_the_application_owns_nothing_and_makes_nothing(roles: Roles) -> None:
    role = roles.application_name
    owned = f"""SELECT relname::text FROM pg_class WHERE relowner = '{role}'::regrole
        UNION ALL SELECT nspname::text FROM pg_namespace WHERE nspowner = '{role}'::regrole
        UNION ALL SELECT proname::text FROM pg_proc WHERE proowner = '{role}'::regrole"""
    assert run(roles.superuser, owned) == []
    flags = f"SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = '{role}'"
    assert run(roles.superuser, flags) == [(False, False, False, False)]
    for sql in (
        "CREATE TABLE muisti.x (n int)",
        "ALTER TABLE muisti.memories NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE muisti.memories DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant_rows ON muisti.memories",
        "TRUNCATE muisti.memories",
        "CREATE OR REPLACE VIEW muisti_tenant.memories AS SELECT * FROM muisti.memories",
        "SELECT muisti.unprotect_tables()",
        "SELECT muisti.protect_tables()",
        "SELECT muisti.grant_application('x')",
        "SELECT * FROM muisti.tokens",
        "SELECT * FROM muisti.audit",
        "INSERT INTO muisti.tenants (tenant, name) VALUES (3, 'third')",
        "UPDATE muisti.stored SET bytes = 0",
        "DELETE FROM muisti.models",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(roles.application, sql, 1)


@pytest.mark.parametrize("who", ["application", "owner"])
def test_L3_a_forgotten_tenant_sees_and_writes_nothing(roles: Roles, who: str) -> None:
    dsn: str = getattr(roles, who)
    for table in set(list_tables(roles)) - set(WITHOUT_TENANT):
        if who == "application" and table in ("tokens", "requests"):
            continue  # no right at all
        everything = f"SELECT * FROM muisti.{table}"
        assert len(run(roles.superuser, everything)) >= 2, table
        seen = run(dsn, f"SELECT DISTINCT tenant FROM muisti.{table}", 1)
        assert seen == [(1,)], table
        for forgotten in ("", "SET LOCAL muisti.tenant = ''; "):
            assert run(dsn, everything) == []
            with psycopg.connect(dsn) as db:
                db.execute(forgotten.encode())
                assert db.execute(everything.encode()).fetchall() == []
                if who == "owner" or table not in ("tenants", "stored"):
                    assert db.execute(f"DELETE FROM muisti.{table}".encode()).rowcount == 0
                    sql = f"UPDATE muisti.{table} SET tenant = tenant"
                    assert db.execute(sql.encode()).rowcount == 0
                    db.rollback()


def test_L3_a_row_of_another_tenant_cannot_be_written(roles: Roles) -> None:
    written = 0
    for table in sorted(
        set(list_tables(roles)) - set(WITHOUT_TENANT) - {"tenants", "stored", "tokens", "requests"}
    ):
        columns = run(
            roles.superuser,
            f"""SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
                WHERE table_schema = 'muisti' AND table_name = '{table}' AND column_name <> 'tenant'
                AND is_generated = 'NEVER'""",
        )[0][0]
        # Its own row, under the number of the other tenant.
        copied = f"INSERT INTO muisti.{table} (tenant, {columns}) SELECT 2, {columns} FROM muisti.{table}"
        for sql in (copied, f"UPDATE muisti.{table} SET tenant = 2"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                run(roles.application, sql, 1)
            written += 1
        assert (
            run(roles.application, f"DELETE FROM muisti.{table} WHERE tenant = 2 RETURNING 1", 1)
            == []
        )
        # Without a tenant, the default of the column fails or the policy does.
        with pytest.raises(
            psycopg.Error, match="row-level security|muisti.tenant|invalid input syntax"
        ):
            run(roles.application, f"INSERT INTO muisti.{table} (tenant) VALUES (2)", None)
    assert written > 60


def test_L3_the_tables_of_a_new_model_are_protected_too(roles: Roles) -> None:
    run(roles.application, "SELECT muisti.create_vector_table('another', 16, '')", 1)
    found = {name: flags for name, *flags in run(roles.superuser, TABLES)}
    for table in ("vectors_2", "signs_2"):
        assert found[table] == [True, True, True]
        assert run(roles.application, f"SELECT * FROM muisti_tenant.{table}", 1) == []
    run(
        roles.superuser,
        "DROP TABLE muisti.vectors_2, muisti.signs_2 CASCADE; DELETE FROM muisti.models WHERE space = 2",
    )


def test_L3_the_tenant_is_read_once_and_not_for_each_row(roles: Roles) -> None:
    for role in (roles.application, roles.superuser):  # the latter is not subject to policies
        for table in ("memories", "postings", "signs_1"):
            plan = str(run(role, f"EXPLAIN SELECT * FROM muisti_tenant.{table}", 1))
            assert "tenant = (InitPlan 1)" in plan
            assert "current_setting" not in plan


def test_L3_a_database_of_an_earlier_version_migrates(monkeypatch: pytest.MonkeyPatch) -> None:
    every = migrate.load_migrations()
    with make_roles(migrate=False) as roles:
        app = roles.application_name
        with psycopg.connect(roles.owner, autocommit=True) as db:
            db.execute("CREATE SCHEMA muisti")
            db.execute(
                "CREATE TABLE muisti.migrations (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
            )
            db.execute("SET search_path = muisti, public")
            db.execute(every[1].encode())
            db.execute("INSERT INTO muisti.migrations (number) VALUES (1)")
            db.execute("SET muisti.tenant = 7")
            db.execute("SELECT muisti.create_vector_table('test', 8, '')")
            memory = "INSERT INTO memories (id, archived, path, revision, created_on, file) VALUES ('{0}', {1}, '{2}', 1, now(), 'abc')"
            db.execute(memory.format("a", "false", "a.md").encode())
            db.execute(memory.format("b", "false", ".trash/b.md").encode())
            for schema in ("muisti", "muisti_tenant"):
                db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {app}".encode())
                db.execute(
                    f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {app}".encode()
                )
        seven = f"{roles.owner}&options=-c%20muisti.tenant%3D7"
        for dsn in (seven, seven.replace("_owner@", "_app@")):
            database = Database(dsn, SystemClock())
            with database.write_transaction() as db:
                assert db.execute("SELECT id FROM memories ORDER BY id").fetchall() == [
                    ("a",),
                    ("b",),
                ]
                assert db.execute("SELECT memories, bytes FROM stored").fetchall() == [(1, 6)]
                db.execute("UPDATE memories SET path = path")
                assert db.execute("SELECT memories, bytes FROM stored").fetchall() == [(1, 6)]
                assert db.execute("SELECT name FROM tenants").fetchall() == [("tenant-7",)]
            database.close()
        assert all(flags == [True, True, True] for name, *flags in run(roles.owner, TABLES)
                   if name not in WITHOUT_TENANT)  # fmt: skip

        # A later migration sees the rows of all tenants, and its tables need no further word.
        later = {
            **every,
            900: "UPDATE memories SET path = 'c.md' WHERE id = 'a'; CREATE TABLE later (tenant integer NOT NULL)",
        }
        monkeypatch.setattr("muisti.storage.postgres.migrate.load_migrations", lambda: later)
        migrate_as_owner(roles)
        assert run(roles.application, "SELECT path FROM muisti.memories WHERE id = 'a'", 7) == [
            ("c.md",)
        ]
        assert run(roles.application, "SELECT * FROM muisti.memories") == []
        assert [flags for name, *flags in run(roles.owner, TABLES) if name == "later"] == [
            [True, True, True]
        ]
