"""Connections behind a pooler, such as PgBouncer.

A pooler in transaction mode may give each transaction another session of the server. Prepared
statements, LISTEN, session settings and session locks then belong to the client that gets the
session next.
"""

from __future__ import annotations

import logging
import uuid
from typing import Any

import psycopg
from psycopg import pq

Connection = psycopg.Connection[tuple[Any, ...]]

log = logging.getLogger("muisti")
CLOSES_STATEMENTS = 170_000
"""The first libpq that closes a prepared statement with a message, which poolers understand."""
IS_OWN = "{}.xid < pg_snapshot_xmax(pg_current_snapshot())"
"""SQL: whether a row names a transaction of this server. `pg_dump` copies those of another one,
whose numbers may not have been reached here.
"""
POLLS = (
    "%s is behind a pooler, which may lose notifications: checking for changes by other processes "
    "every %g seconds; the address of the server itself reports them at once"
)


def connect(conninfo: str) -> Connection:
    """Return a connection for a few statements, which works behind a pooler."""
    return psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)


def is_pooled(db: Connection) -> bool:
    """Return whether a pooler is in between: it tells clients another process than the server's."""
    row = db.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row != (db.info.backend_pid,)


def configure_statements(db: Connection) -> None:
    """Prepare no statements on a new connection, if a pooler would lose them."""
    if is_pooled(db) and not (pq.version() >= CLOSES_STATEMENTS and _renames_statements(db)):
        db.prepare_threshold = None


def _renames_statements(db: Connection) -> bool:
    """Return whether the pooler gives prepared statements names of its own.

    PgBouncer does since 1.21, unless `max_prepared_statements` is 0, and then prepares them in
    every session where they are used.
    """
    name = f"muisti_{uuid.uuid4().hex}"
    with db.transaction():
        db.pgconn.prepare(name.encode(), b"SELECT 1")
        sql = "SELECT 1 FROM pg_prepared_statements WHERE name = %s"
        is_kept = db.execute(sql, (name,), prepare=False).fetchone() is not None
        if is_kept:
            db.execute(f"DEALLOCATE {name}".encode(), prepare=False)
    return not is_kept


def read_last_change(db: Connection, tenant: int) -> tuple[object, ...] | None:
    """Return a value that differs after each change of a tenant's vault."""
    with db.transaction():
        db.execute("SELECT set_config('muisti.tenant', %s, true)", (str(tenant),))
        return db.execute(
            f"""SELECT (SELECT max(n) FROM muisti_tenant.events),
                    (SELECT c.xid::text FROM muisti_tenant.changed c
                     WHERE {IS_OWN.format("c")} ORDER BY c.xid DESC LIMIT 1)""".encode()
        ).fetchone()
