"""Connections to the database: a pool, and transactions that belong to a thread."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from muisti.errors import InvalidRequest, StoreUnavailable, VaultBusy
from muisti.model import KINDS, RATES, Kind, Sector
from muisti.model.salience import IDLE_DAYS
from muisti.remember.index_rows import to_microseconds
from muisti.storage.postgres.errors import make_error, translate_errors
from muisti.storage.postgres.migrate import LOCK, State, prepare_schema
from muisti.storage.postgres.rows import encode_text
from muisti.storage.postgres.salience_sql import NOW, RECORDED, salience_sql

if TYPE_CHECKING:
    from muisti.ports import Clock

MOST_CONNECTIONS = 10
"""Connections of one process. Writers of a process wait for each other before they take one."""
CONNECT_SECONDS = 10
"""How long connecting may take, unless the address says otherwise."""
CHANNEL = "muisti_changes"
"""The channel on which every change is announced, with the tenant and who wrote it."""

Connection = psycopg.Connection[tuple[Any, ...]]
Cell = Any


class Transaction:
    """A transaction of one thread. It begins with the first statement."""

    def __init__(self, pool: ConnectionPool[Connection], *, writes: bool) -> None:
        self.pool = pool
        self.writes = writes
        self.connection: Connection | None = None

    def end(self, *, commit: bool) -> None:
        """End the transaction, if it has begun, and give the connection back."""
        connection, self.connection = self.connection, None
        if connection is None:
            return
        try:
            connection.execute("COMMIT" if commit else "ROLLBACK")
        except psycopg.Error:
            connection.close()
            if commit:
                raise
        finally:
            self.pool.putconn(connection)


def describe_address(dsn: str) -> str:
    """Return an address without password and options, for messages. Raises InvalidRequest."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise InvalidRequest(
            "location",
            "",
            "must be an address such as postgresql://user@host:5432/database; "
            "write special characters of a password as %XX",
        ) from None  # libpq's message quotes the password
    host = str(parts.get("host") or parts.get("hostaddr") or "")
    host = "" if host.startswith("/") else host
    port = f":{parts['port']}" if host and parts.get("port") else ""
    user = f"{quote(str(parts['user']))}@" if parts.get("user") else ""
    return f"postgresql://{user}{host}{port}/{quote(str(parts.get('dbname') or ''))}"


class Database:
    """The database of one vault, and the transactions of its threads."""

    def __init__(
        self,
        dsn: str,
        clock: Clock,
        *,
        timeout: float = 30.0,
        kinds: Mapping[str, Kind] = KINDS,
        rates: Mapping[Sector, float] = RATES,
        grace_days: float = IDLE_DAYS,
    ) -> None:
        self.address = describe_address(dsn)
        self.me = uuid.uuid4().hex
        """Tells the changes of this object from those of others."""
        self.timeout = timeout
        self.salience = salience_sql(kinds, rates, NOW, grace_days)
        self.salience_recorded = salience_sql(kinds, rates, RECORDED, grace_days)
        given = conninfo_to_dict(dsn)
        given.setdefault("connect_timeout", CONNECT_SECONDS)
        given.setdefault("application_name", "muisti")
        self.conninfo = make_conninfo(**{name: str(value) for name, value in given.items()})
        self._clock = clock
        self._held = threading.local()
        self._writers = threading.Lock()
        self._opening = threading.Lock()
        self._pool: ConnectionPool[Connection] | None = None
        self._closed = False

    @cached_property
    def state(self) -> State:
        """The state of the database. The first access connects, and migrates if needed."""
        with (
            translate_errors(self.address),
            psycopg.connect(self.conninfo, autocommit=True) as db,
        ):
            return prepare_schema(db, self.address)

    def _get_pool(self) -> ConnectionPool[Connection]:
        """Return the pool of connections. Raises StoreUnavailable if it was closed."""
        _ = self.state  # a wrong address or password is reported with its reason
        with self._opening:
            if self._closed:
                raise StoreUnavailable(f"{self.address} has been closed; open it again")
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.conninfo,
                    kwargs={"autocommit": True},
                    min_size=1,
                    max_size=MOST_CONNECTIONS,
                    timeout=max(CONNECT_SECONDS, self.timeout),
                    num_workers=1,
                    open=False,
                )
                self._pool.open()
            return self._pool

    def close(self) -> None:
        """Close all connections."""
        with self._opening:
            pool, self._pool = self._pool, None
            self._closed = True
        if pool is not None:
            pool.close()

    # -- Transactions

    @property
    def transaction(self) -> Transaction | None:
        """The open transaction of this thread."""
        return getattr(self._held, "transaction", None)

    @contextmanager
    def hold(self) -> Iterator[Transaction]:
        """Let all reads in the block see one state of the database, from the first one on.

        Within an open transaction they see what that sees.
        """
        if self.transaction is not None:
            yield self.transaction
            return
        with self._open(writes=False) as transaction:
            yield transaction

    @contextmanager
    def release(self) -> Iterator[None]:
        """Hold no connection in the block. Reads after it see the state of that time.

        A transaction that writes is not interrupted.
        """
        held = self.transaction
        if held is None or held.writes:
            yield
            return
        with translate_errors(self.address):
            held.end(commit=True)
        self._held.transaction = None
        try:
            yield
        finally:
            self._held.transaction = held

    @contextmanager
    def read_transaction(self) -> Iterator[Connection]:
        """Read one state of the database; within an open transaction, what that sees."""
        with self.hold() as transaction, translate_errors(self.address):
            if transaction.connection is None:
                mode = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
                transaction.connection = self._begin(transaction.pool, mode)
            yield transaction.connection

    @contextmanager
    def write_transaction(
        self, timeout: float | None = None, *, announce: bool = True
    ) -> Iterator[Connection]:
        """Write everything in the block or nothing, alone among the writers of the tenant.

        Within another write transaction it becomes a part of that. Announce: tell other processes
        that something changed. Raises VaultBusy.
        """
        outer = self.transaction
        if outer is not None and outer.writes and outer.connection is not None:
            with translate_errors(self.address), outer.connection.transaction():
                yield outer.connection
            return
        wait = self.timeout if timeout is None else timeout
        until = time.monotonic() + wait
        if not self._writers.acquire(timeout=wait):
            raise VaultBusy(f"{self.address}: another thread has written for {wait:g} seconds")
        try:
            with translate_errors(self.address), self._open(writes=True) as transaction:
                db = transaction.connection = self._begin(transaction.pool, "")
                left = max(1, int(1000 * (until - time.monotonic())))
                db.execute(f"SET LOCAL lock_timeout = {left}", prepare=False)
                db.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCK, self.state.tenant))
                db.execute("SET LOCAL lock_timeout = 0", prepare=False)
                yield db
                if announce:
                    told = f"{self.state.tenant} {self.me}"
                    db.execute("SELECT pg_notify(%s, %s)", (CHANNEL, told))
        finally:
            self._writers.release()

    @contextmanager
    def _open(self, *, writes: bool) -> Iterator[Transaction]:
        """Make a transaction that of this thread, and end it."""
        outer = self.transaction
        with translate_errors(self.address):
            transaction = Transaction(self._get_pool(), writes=writes)
            self._held.transaction = transaction
            try:
                yield transaction
                transaction.end(commit=True)
            except BaseException:
                transaction.end(commit=False)
                raise
            finally:
                self._held.transaction = outer

    def _begin(self, pool: ConnectionPool[Connection], mode: str) -> Connection:
        """Begin a transaction on a connection that works, which the server may have closed.

        Everything that a statement depends on is set in the transaction, not in the session: a
        pooler in front of the server may give each transaction another session.
        """
        tenant, extension, _ = self.state
        now = to_microseconds(self._clock.now())
        sql = (
            f'BEGIN {mode}; SET LOCAL search_path = muisti_tenant, muisti, "{extension}"; '
            f"SET LOCAL muisti.tenant = '{tenant:d}'; SET LOCAL muisti.now = '{now:d}'; "
            "SET LOCAL jit = off; SET LOCAL hnsw.iterative_scan = relaxed_order; "
            "SET LOCAL hnsw.ef_search = 500"
        )
        for _ in range(MOST_CONNECTIONS + 1):
            connection = pool.getconn()
            try:
                connection.execute(sql.encode(), prepare=False)
                return connection
            except psycopg.OperationalError as error:
                connection.close()
                pool.putconn(connection)
                failure = error
        raise make_error(failure, self.address)


def fetch(
    db: Connection, sql: str, values: Sequence[Cell] | Mapping[str, Cell] = ()
) -> list[tuple[Any, ...]]:
    """Return all rows of a statement. A NUL in a value, which no stored text has, matches none."""
    try:
        return db.execute(sql.encode(), values).fetchall()
    except psycopg.DataError as error:
        if error.sqlstate is not None:  # the server refused it
            raise
        if isinstance(values, Mapping):
            encoded: Any = {name: _encode(value) for name, value in values.items()}
        else:
            encoded = [_encode(value) for value in values]
        return db.execute(sql.encode(), encoded).fetchall()


def _encode(value: Cell) -> Cell:
    if isinstance(value, list):
        return [_encode(one) for one in value]
    return encode_text(value) if isinstance(value, str) else value
