"""Translates errors of PostgreSQL and of its client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from muisti.errors import (
    InvalidRequest,
    MuistiError,
    StoreUnavailable,
    VaultBusy,
    VaultError,
    VaultFull,
    VaultReadOnly,
    VaultUnusable,
)

BUSY = (
    errors.LockNotAvailable,
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.QueryCanceled,
)
_FULL = (errors.DiskFull, errors.OutOfMemory)
_FIXES = {
    r"password": "set the password in PGPASSWORD or ~/.pgpass, and check the user in the address",
    r"database .* does not exist": "create it with `createdb`, or correct its name in the address",
    r"role .* does not exist": "correct the user in the address, or create the role",
    r"too many (connections|clients)|connection slots": (
        "raise max_connections or the limit of the role, or run fewer processes"
    ),
    r"pg_hba\.conf": "allow the user and this machine in pg_hba.conf on the server",
    r"resolve host": "correct the host in the address",
    r"configuration parameter|startup parameter": (
        "correct the options in the address, or set them with `ALTER ROLE … SET`"
    ),
    r"(standby|recovery) mode|session is( not)? read-only": (
        "correct target_session_attrs, or add another host to the address"
    ),
    r"port number": "correct the port in the address",
    r"definition of service": "correct the service in the address, or add it to pg_service.conf",
    r"SSL|sslmode": "correct sslmode in the address, or enable SSL on the server",
}
"""What to do about a connection that failed, by a part of the message.

libpq reports these without a code. In another language of the server the last resort is shown.
"""
_TIMEOUTS = {
    "57014": "statement_timeout",  # also if a user cancels the statement
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
}
"""The setting of the server with which it ends something that takes too long, by code."""
_NOT_OF_CONNECTION = ("54", "55", "58")
"""Classes of errors that psycopg takes for operational, although the connection works: a limit was
exceeded, an object is not in the state that is needed, a file of the server cannot be read.
"""
_CHECK_SERVER = "check that the server runs, and the host and port in the address"


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Raise a MuistiError for an error of the database. Where: its address, without password."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, UnicodeEncodeError) as error:
        raise make_error(error, where) from error


def make_error(error: Exception, where: str) -> MuistiError:
    """Return the error to raise for one of the database or of its client."""
    if isinstance(error, UnicodeEncodeError):
        reason = "contains half of a surrogate pair; remove it"
        return InvalidRequest("text", error.object[error.start], reason)
    if isinstance(error, psycopg.DataError) and "NUL" in str(error):
        return InvalidRequest("text", "\0", "contains a NUL; remove it")
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    # The first line has no values of a statement.
    told = (primary or str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(
            f"{where}: no connection was free or could be made in time; "
            "is the server running, and does it allow more connections?"
        )
    code = getattr(error, "sqlstate", None) or ""
    if code in _TIMEOUTS and "user request" not in told:
        return VaultBusy(
            f"{where}: a time-out of the server was reached ({told}); try again, or raise it "
            f"with `ALTER ROLE … SET {_TIMEOUTS[code]} = …`"
        )
    if isinstance(error, BUSY):
        return VaultBusy(f"{where}: another program holds what this change needs ({told})")
    if isinstance(error, _FULL):
        return VaultFull(f"{where}: the server has no space left ({told})")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return VaultReadOnly(
            f"{where} cannot be written ({told}); connect to the primary server, or set "
            "default_transaction_read_only to off"
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return VaultReadOnly(
            f"{where}: the role lacks rights ({told}); the owner of the schema grants them with "
            "`muisti tenants grant ROLE`"
        )
    if isinstance(error, errors.UndefinedFile):
        return VaultUnusable(
            f"{where}: the server lacks a file ({told}); if it is the library of pgvector, "
            "install its package for this version of PostgreSQL on the server"
        )
    is_operational = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    if is_operational and not code.startswith(_NOT_OF_CONNECTION):
        fixes = (fix for part, fix in _FIXES.items() if re.search(part, told))
        return StoreUnavailable(
            f"{where}: the connection failed ({told}); {next(fixes, _CHECK_SERVER)}"
        )
    return VaultError(f"{where}: the database refused a statement ({told})")
