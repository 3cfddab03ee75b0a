"""Tenants of a database and their tokens, for an administrator: the owner of the schema."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any

from psycopg import errors

from muisti.errors import InvalidRequest, TenantNotFound, VaultBusy
from muisti.model.tenants import (
    FIRST_TENANT,
    SCOPES,
    TOKEN_PREFIX,
    AuditEntry,
    Limits,
    NewToken,
    Tenant,
    Token,
)
from muisti.storage.postgres.connect import (
    Connection,
    complete_address,
    describe_address,
    split_tenant,
)
from muisti.storage.postgres.errors import translate_errors
from muisti.storage.postgres.migrate import DROP_LOCK, LOCK, prepare_schema
from muisti.storage.postgres.pooler import connect

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_KEPT_LAST = ("changed", "stored", "requests", "tokens", "tenants")
"""What is deleted last of a dropped tenant: triggers and keys refer to it."""
_TENANTS = """SELECT t.tenant, t.name, t.created_at, coalesce(s.memories, 0), coalesce(s.bytes, 0),
t.max_memories, t.max_bytes, t.max_requests, (SELECT count(*) FROM muisti.tokens k
    WHERE k.tenant = t.tenant AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true))
FROM muisti.tenants t LEFT JOIN muisti.stored s USING (tenant) WHERE {} ORDER BY t.tenant"""
_TOKENS = """SELECT k.id, t.name, k.label, k.scope, k.created_at, k.expires_at, k.revoked_at
FROM muisti.tokens k JOIN muisti.tenants t USING (tenant) WHERE {} ORDER BY k.created_at, k.id"""


def hash_token(secret: str) -> bytes:
    """Return what is stored of a token. It is random and long, so a fast hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class TenantAdministration:
    """Adds, lists and drops tenants. Each act is one transaction, with its line in the audit."""

    def __init__(self, dsn: str, timeout: float = 30.0) -> None:
        """Timeout: seconds to wait for the writers of a tenant that is dropped."""
        self.address = describe_address(dsn)
        self._dsn = dsn
        self._timeout = timeout

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """Begin a transaction of the administrator. Raises InvalidRequest for any other role."""
        with translate_errors(self.address), connect(complete_address(self._dsn)) as db:
            prepare_schema(db, self.address, named=split_tenant(self._dsn)[1])
            owns = """SELECT pg_has_role(relowner, 'USAGE') FROM pg_class
                      WHERE oid = 'muisti.tenants'::regclass"""
            if db.execute(owns).fetchone() != (True,):
                reason = "must be that of the role that owns the schema muisti"
                raise InvalidRequest("store", self.address, reason)
            with db.transaction():
                db.execute("SELECT set_config('muisti.admin', 'on', true)")
                yield db

    def add(self, name: str, limits: Limits | None = None) -> Tenant:
        """Add a tenant with an empty vault. Raises InvalidRequest if the name is taken."""
        if not _NAME.fullmatch(name):
            reason = "must have 1 to 63 characters of a-z, 0-9, dot, dash and underscore"
            raise InvalidRequest("name", name, reason)
        limits = limits or Limits()
        _check_limits(limits)
        with self._begin() as db:
            number = self._choose_number(db)
            try:
                db.execute(
                    """INSERT INTO muisti.tenants
                       (tenant, name, max_memories, max_bytes, max_requests)
                       VALUES (%s, %s, %s, %s, %s)""",
                    (number, name, limits.memories, limits.bytes, limits.requests),
                )
            except errors.UniqueViolation as error:
                raise InvalidRequest("name", name, "must not be taken") from error
            _record(db, "add", number, name, asdict(limits))
            return _read_tenants(db, "t.tenant = %s", number)[0]

    def _choose_number(self, db: Connection) -> int:
        """Return a number that no tenant has or had."""
        used = """SELECT EXISTS (SELECT 1 FROM muisti.tenants WHERE tenant = %(n)s)
                  OR EXISTS (SELECT 1 FROM muisti.audit WHERE about = %(n)s)"""
        while True:
            [number] = db.execute("SELECT nextval('muisti.tenant_numbers')").fetchone() or [0]
            if db.execute(used, {"n": number}).fetchone() == (False,):
                return int(number)

    def list_tenants(self) -> list[Tenant]:
        """Return all tenants, in the order of their numbers."""
        with self._begin() as db:
            found = _read_tenants(db, "true")
            sizes = {}
            for tenant in found:  # what a tenant stores is its own row
                db.execute("SELECT set_config('muisti.tenant', %s, true)", (str(tenant.number),))
                sizes[tenant.number] = _read_tenants(db, "t.tenant = %s", tenant.number)[0]
            return [sizes[tenant.number] for tenant in found]

    def get(self, name: str) -> Tenant:
        """Return a tenant. Raises TenantNotFound."""
        with self._begin() as db:
            number = _find(db, name)
            return _read_tenants(db, "t.tenant = %s", number)[0]

    def set_limits(self, name: str, limits: Limits) -> Tenant:
        """Replace the limits of a tenant. What it stores stays. Raises TenantNotFound."""
        _check_limits(limits)
        with self._begin() as db:
            number = _find(db, name)
            db.execute(
                """UPDATE muisti.tenants SET max_memories = %s, max_bytes = %s, max_requests = %s
                   WHERE tenant = %s""",
                (limits.memories, limits.bytes, limits.requests, number),
            )
            _record(db, "limit", number, name, asdict(limits))
            return _read_tenants(db, "t.tenant = %s", number)[0]

    def drop(self, name: str) -> int:
        """Delete a tenant with everything that it stores, and return how many rows there were.

        Waits for its writers. A process that uses it gets TenantNotFound from then on. Raises
        TenantNotFound, VaultBusy.
        """
        with self._begin() as db:
            number = _find(db, name)
            if number == FIRST_TENANT:
                reason = "must not be the first tenant, which addresses without one lead to"
                raise InvalidRequest("name", name, reason)
            db.execute(f"SET LOCAL lock_timeout = {max(1, int(1000 * self._timeout))}".encode())
            try:
                for lock in (LOCK, DROP_LOCK):
                    db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (lock, number))
            except errors.LockNotAvailable as error:
                raise VaultBusy(f"{name} has been written for {self._timeout:g} seconds") from error
            tables = [table for (table,) in db.execute(_TABLES)]
            rows = 0
            for table in (*(one for one in tables if one not in _KEPT_LAST), *_KEPT_LAST):
                sql = f"DELETE FROM muisti.{table} WHERE tenant = %s"
                rows += db.execute(sql.encode(), (number,)).rowcount
            _record(db, "drop", number, name, {"rows": rows})
            indexes = [
                index for (index,) in db.execute(_INDEXES, (f"signs\\_%\\_near\\_{number}",))
            ]
        with self._begin() as db:
            for index in indexes:  # apart, as it waits for all who read the table
                db.execute(f"DROP INDEX muisti.{index}".encode())
        return rows

    # -- Tokens

    def add_token(
        self, name: str, scope: str, label: str = "", expires_at: datetime | None = None
    ) -> NewToken:
        """Make a token of a tenant. Its secret is returned, and stored nowhere."""
        if scope not in SCOPES:
            raise InvalidRequest("scope", scope, f"must be one of {', '.join(SCOPES)}")
        if len(label) > 200 or not label.isprintable():
            raise InvalidRequest("label", label, "must be one line of at most 200 characters")
        secret = TOKEN_PREFIX + secrets.token_hex(32)
        id_ = secrets.token_hex(6)
        with self._begin() as db:
            number = _find(db, name)
            db.execute(
                """INSERT INTO muisti.tokens (tenant, hash, id, label, scope, expires_at)
                   VALUES (%s, %s, %s, %s, %s, %s)""",
                (number, hash_token(secret), id_, label, scope, expires_at),
            )
            expires = None if expires_at is None else expires_at.isoformat()
            details = {"token": id_, "scope": scope, "label": label, "expires_at": expires}
            _record(db, "token add", number, name, details)
            [token] = _read_tokens(db, "k.id = %s", id_)
        return NewToken(token, secret)

    def list_tokens(self, name: str) -> list[Token]:
        """Return the tokens of a tenant, also those that are no longer valid."""
        with self._begin() as db:
            return _read_tokens(db, "k.tenant = %s", _find(db, name))

    def revoke_token(self, token_id: str) -> Token:
        """Make a token invalid at once. Raises InvalidRequest if there is none with this ID."""
        with self._begin() as db:
            if "\0" in token_id or not (found := _read_tokens(db, "k.id = %s", token_id)):
                raise InvalidRequest("token", token_id, "must be the ID of a token")
            number = _find(db, found[0].tenant)
            db.execute(
                """UPDATE muisti.tokens SET revoked_at = coalesce(revoked_at, now())
                   WHERE id = %s""",
                (token_id,),
            )
            _record(db, "token revoke", number, found[0].tenant, {"token": token_id})
            return _read_tokens(db, "k.id = %s", token_id)[0]

    # -- Roles and audit

    def grant(self, role: str) -> None:
        """Let a role serve the tenants: it may read and write rows, and owns nothing.

        Raises InvalidRequest if there is no such role, or if it is not subject to row security.
        """
        with self._begin() as db:
            sql = """SELECT rolsuper OR rolbypassrls OR pg_has_role(r.oid, c.relowner, 'MEMBER')
                     FROM pg_roles r, pg_class c
                     WHERE rolname = %s AND c.oid = 'muisti.tenants'::regclass"""
            row = None if "\0" in role else db.execute(sql, (role,)).fetchone()
            if row is None:
                raise InvalidRequest("role", role, "must exist; create it with CREATE ROLE … LOGIN")
            if row[0]:
                reason = "must own nothing here and be subject to row-level security"
                raise InvalidRequest("role", role, reason)
            db.execute("SELECT muisti.grant_application(%s)", (role,))
            _record(db, "grant", None, "", {"role": role})

    def record_export(self, name: str) -> int:
        """Note that a tenant is exported, and return its number. Raises TenantNotFound."""
        with self._begin() as db:
            number = _find(db, name)
            _record(db, "export", number, name, {})
            return number

    def audit(self, name: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return what administrators did, the latest first; also to tenants that are gone."""
        sql = """SELECT at, role, act, tenant_name, details FROM muisti.audit
                 WHERE %(name)s::text IS NULL OR tenant_name = %(name)s
                 ORDER BY n DESC LIMIT %(limit)s"""
        with self._begin() as db:
            rows = db.execute(sql, {"name": name, "limit": limit}).fetchall()
        return [
            AuditEntry(at, role, act, tenant, json.loads(details))
            for at, role, act, tenant, details in rows
        ]


_TABLES = """SELECT quote_ident(c.relname) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'muisti'::regnamespace AND c.relkind IN ('r', 'p') AND a.attname = 'tenant'
AND NOT a.attisdropped ORDER BY 1"""
_INDEXES = """SELECT quote_ident(relname) FROM pg_class
WHERE relnamespace = 'muisti'::regnamespace AND relkind = 'i' AND relname LIKE %s"""


def _find(db: Connection, name: str) -> int:
    """Return the number of a tenant, and make it the one of the transaction."""
    sql = "SELECT tenant FROM muisti.tenants WHERE name = %s"
    row = None if "\0" in name else db.execute(sql, (name,)).fetchone()
    if row is None:
        raise TenantNotFound("no tenant has this name; `muisti tenants list` shows all")
    db.execute("SELECT set_config('muisti.tenant', %s, true)", (str(row[0]),))
    return int(row[0])


def _read_tenants(db: Connection, condition: str, *values: Any) -> list[Tenant]:
    found = db.execute(_TENANTS.format(condition).encode(), values).fetchall()
    return [
        Tenant(number, name, created_at, memories, size, Limits(*limits), tokens)
        for number, name, created_at, memories, size, *limits, tokens in found
    ]


def _read_tokens(db: Connection, condition: str, value: Any) -> list[Token]:
    return [Token(*row) for row in db.execute(_TOKENS.format(condition).encode(), (value,))]


def _check_limits(limits: Limits) -> None:
    for field, value in asdict(limits).items():
        if value is not None and not 0 <= value < (2**31 if field == "requests" else 2**63):
            raise InvalidRequest(field, value, "must be a number from 0 on")


def _record(
    db: Connection, act: str, number: int | None, name: str, details: dict[str, Any]
) -> None:
    """Write a line of the audit."""
    db.execute(
        """INSERT INTO muisti.audit (act, about, tenant_name, details) VALUES (%s, %s, %s, %s)""",
        (act, number, name, json.dumps(details)),
    )
