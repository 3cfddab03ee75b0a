"""Check a vault in a database without changing it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muisti.bootstrap_postgres import inspect_store
from muisti.errors import MuistiError
from muisti.surfaces.setup.findings import Finding, Level, count_noun

if TYPE_CHECKING:
    from muisti.storage.postgres.inspect import ServerState

OK, NOTE, PROBLEM = Level.OK, Level.NOTE, Level.PROBLEM


def check_store(address: str) -> Iterator[Finding]:
    """Check the server, pgvector, the schema, the rights of the role and the connections."""
    try:
        state = inspect_store(address)
    except MuistiError as error:
        what, _, fix = str(error).rpartition("; ")
        yield Finding("store", PROBLEM, what or fix, fix if what else "")
        return
    is_old = state.server < state.oldest_server
    yield Finding(
        "store",
        PROBLEM if is_old else OK,
        f"{state.address}: PostgreSQL {state.server}",
        f"upgrade the server to PostgreSQL {state.oldest_server} or later" if is_old else "",
    )
    if state.encoding != state.needed_encoding:
        what = f"the encoding of the database is {state.encoding}, not {state.needed_encoding}"
        fix = "create another one with `createdb --template=template0 --encoding=UTF8 --locale=C`"
        yield Finding("store", PROBLEM, what, fix)
    yield _check_pgvector(state)
    yield from _check_schema(state)
    free = state.most_connections - state.connections
    yield Finding(
        "store",
        OK if free >= state.pool else NOTE,
        f"{state.connections} of {state.most_connections} connections in use; "
        f"a process of muisti uses up to {state.pool}",
        "" if free >= state.pool else "raise max_connections, or put a pooler before the server",
    )
    for problem in state.problems:
        what, _, fix = problem.rpartition("; ")
        yield Finding("store", PROBLEM, what, fix)
    if state.is_partial:
        what = "only a part of a vault was pushed to it"
        yield Finding("store", PROBLEM, what, "run the same `muisti push` again")
    elif state.schema == state.newest_schema:
        yield Finding("vault", OK, count_noun(state.memories, "memory", "memories"))


def _check_pgvector(state: ServerState) -> Finding:
    if state.pgvector and not state.is_pgvector_old:
        return Finding("store", OK, f"pgvector {state.pgvector}")
    if state.pgvector:
        return Finding(
            "store",
            PROBLEM,
            f"pgvector {state.pgvector} is too old",
            "install pgvector 0.8 or later, then run ALTER EXTENSION vector UPDATE",
        )
    if not state.pgvector_available:
        fix = f"install it on the server: the package postgresql-{state.server}-pgvector"
        return Finding("store", PROBLEM, "pgvector is not installed", fix)
    level = NOTE if state.may_create and not state.schema else PROBLEM
    fix = "run CREATE EXTENSION vector in the database, as a role that may"
    return Finding("store", level, "the extension vector is not in the database yet", fix)


def _check_schema(state: ServerState) -> Iterator[Finding]:
    if state.is_read_only:
        what = "read-only: a replica, or default_transaction_read_only; only searching works"
        yield Finding("store", NOTE, what, "connect to the primary server to save")
    if not state.schema and not state.may_create:
        what = f"no schema yet, and the role {state.role} may not create it"
        fix = f"GRANT CREATE ON DATABASE … TO {state.role}, or open it once as the owner"
        yield Finding("store", PROBLEM, what, fix)
    elif not state.schema:
        yield Finding("store", NOTE, "no schema yet", "the next command creates it")
    elif state.schema > state.newest_schema:
        what = f"schema {state.schema} is newer than this muisti ({state.newest_schema})"
        yield Finding("store", PROBLEM, what, "upgrade muisti")
    elif state.schema < state.newest_schema:
        what = f"schema {state.schema} of {state.newest_schema}"
        yield Finding("store", NOTE, what, "the next command of the owner updates it")
    else:
        yield Finding("store", OK, f"schema {state.schema}")
    if state.missing_rights:
        more = len(state.missing_rights) - 3
        shown = ", ".join(state.missing_rights[:3]) + (f" and {more} more" if more > 0 else "")
        yield Finding(
            "store",
            PROBLEM,
            f"the role {state.role} lacks rights: {shown}",
            f"the owner of the schema runs `muisti tenants grant {state.role}`",
        )
