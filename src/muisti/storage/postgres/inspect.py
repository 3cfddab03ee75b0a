"""Look at a database without changing it: no schema is created, no migration is run."""

from __future__ import annotations

from typing import NamedTuple

from muisti.model import Problem
from muisti.storage.postgres.claims import find_given_up
from muisti.storage.postgres.connect import complete_address, describe_address, split_tenant
from muisti.storage.postgres.errors import translate_errors
from muisti.storage.postgres.migrate import (
    ENCODING,
    OLDEST_PGVECTOR,
    OLDEST_SERVER,
    newest_migration,
    parse_version,
    read_encoding,
    read_version,
)
from muisti.storage.postgres.pooler import connect
from muisti.storage.postgres.pools import MOST_CONNECTIONS

NEEDED = ["SELECT", "INSERT", "UPDATE", "DELETE"]


class ServerState(NamedTuple):
    """What `muisti doctor` needs to know about a database."""

    address: str
    """Without password."""
    role: str
    server: int
    """The major version."""
    pgvector: str
    """The version that the database uses; empty if it does not."""
    pgvector_available: str
    """The version that is installed on the server; empty if none is."""
    schema: int
    """The number of the last migration; 0 if there is no schema."""
    may_create: bool
    """Whether the role may create a schema."""
    is_read_only: bool
    missing_rights: tuple[str, ...]
    """Such as `INSERT on muisti.events`."""
    encoding: str
    """Of the database."""
    connections: int
    most_connections: int
    memories: int
    is_partial: bool
    """Whether a push is not complete."""

    newest_schema: int
    problems: tuple[str, ...] = ()
    """What failed too often and is not tried again."""
    oldest_server: int = OLDEST_SERVER
    needed_encoding: str = ENCODING
    pool: int = MOST_CONNECTIONS

    @property
    def is_pgvector_old(self) -> bool:
        """Whether pgvector is too old."""
        return parse_version(self.pgvector) < OLDEST_PGVECTOR


def inspect_database(dsn: str) -> ServerState:
    """Return the state of a database. Raises StoreUnavailable, InvalidRequest."""
    address = describe_address(dsn)
    with translate_errors(address), connect(complete_address(dsn)) as db:
        row = db.execute(_STATE).fetchone()
        assert row is not None
        version, newest = read_version(db), newest_migration()
        rights: tuple[str, ...] = ()
        memories, is_partial = 0, False
        problems: list[Problem] = []
        if version:
            rows = db.execute(_RIGHTS, [NEEDED]).fetchall()
            rights = tuple(f"{right} on {name}" for name, right in rows)
            if not rights and version == newest:
                with db.transaction():  # a pooler may give the next one another session
                    db.execute(_TENANT, (split_tenant(dsn)[1],))
                    [(memories, is_partial)] = db.execute(_COUNTS).fetchall()
                    problems = find_given_up(db)
        role, used, available, may_create, read_only, count, most = row
        return ServerState(
            address=address,
            role=role,
            server=db.info.server_version // 10_000,
            pgvector=used or "",
            pgvector_available=available or "",
            schema=version,
            may_create=may_create,
            is_read_only=read_only,
            missing_rights=rights,
            encoding=read_encoding(db),
            connections=count,
            most_connections=most,
            memories=memories,
            is_partial=is_partial,
            newest_schema=newest,
            problems=tuple(problem.reason for problem in problems),
        )


_STATE = """SELECT current_user,
(SELECT extversion FROM pg_extension WHERE extname = 'vector'),
(SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
has_database_privilege(current_database(), 'CREATE'),
pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
(SELECT count(*)::integer FROM pg_stat_activity WHERE backend_type = 'client backend'),
current_setting('max_connections')::integer
    - current_setting('superuser_reserved_connections')::integer"""
_RIGHTS = """SELECT format('%%I.%%I', relnamespace::regnamespace, relname), needed
FROM pg_class c, unnest(%s::text[]) needed
WHERE relnamespace IN ('muisti'::regnamespace, 'muisti_tenant'::regnamespace)
AND relkind IN ('r', 'v')
AND relname NOT IN ('migrations', 'models', 'tenants', 'stored', 'tokens', 'audit', 'requests')
AND NOT has_table_privilege(c.oid, needed)
UNION ALL SELECT format('muisti.%%I', relname), 'USAGE'
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
WHERE relnamespace = 'muisti'::regnamespace
AND relname NOT IN ('tenant_numbers', 'audit_n_seq', 'models_space_seq')
AND NOT has_sequence_privilege(s.seqrelid, 'USAGE') ORDER BY 1, 2"""
_TENANT = """SELECT set_config('muisti.tenant',
coalesce(nullif(%s, ''), nullif(current_setting('muisti.tenant', true), ''), '1'), true)"""
_COUNTS = """SELECT (SELECT count(*)::integer FROM muisti_tenant.memories WHERE NOT archived),
coalesce((SELECT partial FROM muisti_tenant.vault), false)"""
