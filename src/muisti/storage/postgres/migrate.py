"""Creates the schema and brings it up to date: one numbered SQL file for each migration."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import psycopg
from psycopg import errors

from muisti.errors import (
    IndexTooNew,
    InvalidRequest,
    TenantNotFound,
    VaultReadOnly,
    VaultUnusable,
)

OLDEST_SERVER = 15
"""The first version that runs views with the rights of their user."""
OLDEST_PGVECTOR = (0, 8)
"""The first version that searches an index further if a filter excludes too many rows."""
ENCODING = "UTF8"
"""The only encoding of a database that can store every text."""
FIX_ENCODING = (
    f"muisti needs {ENCODING}: create a database with "
    f"`createdb --template=template0 --encoding={ENCODING} --locale=C NAME`"
)
FIRST_PROTECTED = 2
"""The migration from which on row-level security keeps tenants apart."""
LOCK = 1836412777
"""The first number of every advisory lock of muisti; the second is the tenant, or 0."""
DROP_LOCK = LOCK + 2
"""That of a lock which keeps a tenant from being dropped. Many can hold it."""


class State(NamedTuple):
    """What a session has to know about the database."""

    tenant: int
    tenant_name: str
    extension_schema: str
    """The schema that pgvector is in."""
    writable: bool


@cache
def load_migrations() -> dict[int, str]:
    """Return the SQL of each migration by its number."""
    folder = files("muisti.storage.postgres.migrations")
    found = {}
    for file in folder.iterdir():
        if numbered := re.fullmatch(r"(\d{3})_\w+\.sql", file.name):
            found[int(numbered[1])] = file.read_text("utf-8")
    return dict(sorted(found.items()))


def newest_migration() -> int:
    """Return the number of the schema that this version of muisti uses."""
    return max(load_migrations())


def read_encoding(db: psycopg.Connection) -> str:
    """Return the encoding of the database, such as UTF8."""
    row = db.execute("SHOW server_encoding").fetchone()
    return str(row[0]) if row else ""


def parse_version(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def prepare_schema(
    db: psycopg.Connection, where: str, tenant: int | None = None, *, named: str = ""
) -> State:
    """Create or update the schema if needed, and return the state of the database.

    Tenant: its number; None for the one that the address names, or the server's settings, or the
    first. The owner of the schema makes the tenant of its address, if it is new.

    Raises IndexTooNew if a newer muisti has written it, VaultUnusable if the server or pgvector is
    too old or missing, or the database is not in UTF-8, VaultReadOnly if the schema cannot be
    written, TenantNotFound, and psycopg.Error.
    """
    version = db.info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise VaultUnusable(
            f"{where} is PostgreSQL {version}; muisti needs {OLDEST_SERVER} or later"
        )
    encoding = read_encoding(db)
    if encoding != ENCODING:
        raise VaultUnusable(f"{where} has the encoding {encoding}; {FIX_ENCODING}")
    newest = newest_migration()
    try:
        current = read_version(db)
    except errors.InsufficientPrivilege as error:
        raise VaultUnusable(
            f"{where}: the role {db.info.user} may not use the schema muisti; its owner allows it "
            f"with `muisti tenants grant {db.info.user}`"
        ) from error
    check_version(current, where)
    if current < newest:
        found = db.execute(_OFFERED_PGVECTOR).fetchone()
        if found is not None:
            _check_pgvector(found[0], where)  # before anything is created
        _migrate(db, where)
    row = db.execute(
        """SELECT n.nspname, e.extversion, current_setting('muisti.tenant', true),
               pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean
               OR NOT has_table_privilege('muisti.memories', 'INSERT')
           FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
           WHERE e.extname = 'vector'"""
    ).fetchone()
    if row is None:
        raise VaultUnusable(
            f"{where} has no pgvector any more; run `CREATE EXTENSION vector` there"
        )
    schema, extension, setting, read_only = row
    setting = named or setting
    _check_pgvector(extension, where)
    if setting and not (re.fullmatch(r"[0-9]{1,10}", setting) and 0 < int(setting) < 2**31):
        raise InvalidRequest("muisti.tenant", setting, "must be the number of a tenant")
    number = int(setting or 1) if tenant is None else tenant
    name = _find_tenant(db, number, may_add=tenant is None and not read_only)
    return State(number, name, schema, not read_only)


_OFFERED_PGVECTOR = """SELECT coalesce(installed_version, default_version)
FROM pg_available_extensions WHERE name = 'vector'"""
"""The version that the database uses, or would use."""


def _check_pgvector(version: str, where: str) -> None:
    """Raise VaultUnusable if pgvector is too old."""
    if parse_version(version) < OLDEST_PGVECTOR:
        oldest = ".".join(map(str, OLDEST_PGVECTOR))
        raise VaultUnusable(
            f"{where} has pgvector {version}; muisti needs {oldest} or later: install it, then "
            "run `ALTER EXTENSION vector UPDATE`"
        )


def _find_tenant(db: psycopg.Connection, number: int, *, may_add: bool) -> str:
    """Return the name of a tenant; the owner of the schema adds it if it is new and may_add.

    One that was dropped is not added again: its address may still be in use. Raises TenantNotFound.
    """
    with db.transaction():
        db.execute("SELECT set_config('muisti.tenant', %s, true)", (str(number),))
        known = "SELECT name FROM muisti.tenants WHERE tenant = %s"
        if (found := db.execute(known, (number,)).fetchone()) is not None:
            return str(found[0])
        is_owner = "SELECT has_table_privilege('muisti.tenants', 'INSERT')"
        if not may_add or db.execute(is_owner).fetchone() != (True,):
            raise TenantNotFound()
        db.execute("SELECT set_config('muisti.admin', 'on', true)")
        dropped = "SELECT EXISTS (SELECT 1 FROM muisti.audit WHERE about = %s AND act = 'drop')"
        if db.execute(dropped, (number,)).fetchone() != (False,):
            raise TenantNotFound()
        name = f"tenant-{number}"
        added = db.execute(
            "INSERT INTO muisti.tenants (tenant, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (number, name),
        )
        if added.rowcount:
            db.execute(
                """INSERT INTO muisti.audit (act, about, tenant_name, details)
                   VALUES ('add', %s, %s, '{}')""",
                (number, name),
            )
        return name


def read_version(db: psycopg.Connection) -> int:
    """Return the number of the last migration that was applied; 0 if there is no schema."""
    if db.execute("SELECT to_regclass('muisti.migrations')").fetchone() == (None,):
        return 0
    row = db.execute("SELECT coalesce(max(number), 0) FROM muisti.migrations").fetchone()
    return int(row[0]) if row else 0


def check_version(current: int, where: str) -> None:
    """Raise IndexTooNew if the last migration is one that this version of muisti does not know."""
    newest = newest_migration()
    if current > newest:
        raise IndexTooNew(
            f"{where} was written by a newer muisti (schema {current}, this one knows {newest}); "
            "upgrade muisti"
        )


def _migrate(db: psycopg.Connection, where: str) -> None:
    """Apply the missing migrations in one transaction."""
    try:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
            current = read_version(db)
            if current == newest_migration():
                return  # another process has done it meanwhile, and uses the tables
            if not current:
                db.execute("CREATE SCHEMA IF NOT EXISTS muisti")
                db.execute(
                    """CREATE TABLE IF NOT EXISTS muisti.migrations (number integer PRIMARY KEY,
                       applied_at timestamptz NOT NULL DEFAULT now())"""
                )
            if current >= FIRST_PROTECTED:
                db.execute("SELECT muisti.unprotect_tables()")  # so that it sees all rows
            for number, sql in load_migrations().items():
                if number > current:
                    db.execute("SET LOCAL search_path = muisti, public")
                    db.execute(sql.encode(), prepare=False)
                    db.execute("INSERT INTO muisti.migrations (number) VALUES (%s)", (number,))
            db.execute("SELECT muisti.protect_tables()")
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise VaultUnusable(
            f"{where} has no pgvector: install it on the server (package "
            f"postgresql-{db.info.server_version // 10_000}-pgvector)"
        ) from error
    except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
        needs_extension = """SELECT has_database_privilege(current_database(), 'CREATE')
            AND NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')"""
        fix = "open it once as the owner of the database"
        if isinstance(error, errors.ReadOnlySqlTransaction):
            fix = "connect to the primary server"
        elif db.execute(needs_extension).fetchone() == (True,):
            fix = "let a superuser run `CREATE EXTENSION vector` in the database, then try again"
        raise VaultReadOnly(
            f"{where}: the schema muisti cannot be created or updated by this role "
            f"({error.diag.message_primary}); {fix}"
        ) from error
