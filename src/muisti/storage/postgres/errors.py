"""Translates errors of PostgreSQL and of its client."""

from __future__ import annotations

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
)

_BUSY = (
    errors.LockNotAvailable,
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.QueryCanceled,
)
_FULL = (errors.DiskFull, errors.OutOfMemory)
_DENIED = (errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege)


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
    if isinstance(error, _BUSY):
        return VaultBusy(f"{where}: another program holds what this change needs ({told})")
    if isinstance(error, _FULL):
        return VaultFull(f"{where}: the server has no space left ({told})")
    if isinstance(error, _DENIED):
        return VaultReadOnly(
            f"{where} cannot be written ({told}); connect to the primary server, as a role that "
            "may write to the schema muisti"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnavailable(f"{where}: the connection failed ({told})")
    return VaultError(f"{where}: the database refused a statement ({told})")
