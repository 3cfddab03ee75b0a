"""Creates the schema and brings it up to date: one numbered SQL file for each migration."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import psycopg
from psycopg import errors

from muisti.errors import IndexTooNew, VaultReadOnly, VaultUnusable

OLDEST_SERVER = 15
"""The first version that runs views with the rights of their user."""
OLDEST_PGVECTOR = (0, 8)
"""The first version that searches an index further if a filter excludes too many rows."""
LOCK = 1836412777
"""The first number of every advisory lock of muisti; the second is the tenant, or 0."""


class State(NamedTuple):
    """What a session has to know about the database."""

    tenant: int
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


def prepare_schema(db: psycopg.Connection, where: str) -> State:
    """Create or update the schema if needed, and return the state of the database.

    Raises IndexTooNew if a newer muisti has written it, VaultUnusable if the server or pgvector is
    too old or missing, VaultReadOnly if the schema cannot be written, and psycopg.Error.
    """
    version = db.info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise VaultUnusable(
            f"{where} is PostgreSQL {version}; muisti needs {OLDEST_SERVER} or later"
        )
    newest = max(load_migrations())
    current = read_version(db)
    if current > newest:
        raise IndexTooNew(
            f"{where} was written by a newer muisti (schema {current}, this one knows {newest}); "
            "upgrade muisti"
        )
    if current < newest:
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
    schema, extension, tenant, read_only = row
    if tuple(int(part) for part in re.findall(r"\d+", extension)[:2]) < OLDEST_PGVECTOR:
        oldest = ".".join(map(str, OLDEST_PGVECTOR))
        raise VaultUnusable(
            f"{where} has pgvector {extension}; muisti needs {oldest} or later: install it, then "
            "run `ALTER EXTENSION vector UPDATE`"
        )
    return State(int(tenant or 1), schema, not read_only)


def read_version(db: psycopg.Connection) -> int:
    """Return the number of the last migration that was applied; 0 if there is no schema."""
    if db.execute("SELECT to_regclass('muisti.migrations')").fetchone() == (None,):
        return 0
    row = db.execute("SELECT coalesce(max(number), 0) FROM muisti.migrations").fetchone()
    return int(row[0]) if row else 0


def _migrate(db: psycopg.Connection, where: str) -> None:
    """Apply the missing migrations in one transaction."""
    try:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
            current = read_version(db)  # another process may have done it meanwhile
            if not current:
                db.execute("CREATE SCHEMA IF NOT EXISTS muisti")
                db.execute(
                    """CREATE TABLE IF NOT EXISTS muisti.migrations (number integer PRIMARY KEY,
                       applied_at timestamptz NOT NULL DEFAULT now())"""
                )
            for number, sql in load_migrations().items():
                if number > current:
                    db.execute("SET LOCAL search_path = muisti, public")
                    db.execute(sql.encode(), prepare=False)
                    db.execute("INSERT INTO muisti.migrations (number) VALUES (%s)", (number,))
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise VaultUnusable(
            f"{where} has no pgvector: install it on the server (package postgresql-N-pgvector)"
        ) from error
    except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
        raise VaultReadOnly(
            f"{where}: the schema muisti cannot be created or updated by this role "
            f"({error.diag.message_primary}); open it once as the owner of the database"
        ) from error
