"""Connections to the database: a pool, and transactions that belong to a thread."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from muisti.errors import InvalidRequest, TenantNotFound, VaultBusy, VaultReadOnly
from muisti.model import KINDS, RATES, Kind, Sector
from muisti.model.salience import IDLE_DAYS
from muisti.remember.index_rows import to_microseconds
from muisti.storage.postgres.errors import BUSY, make_error, translate_errors
from muisti.storage.postgres.migrate import (
    DROP_LOCK,
    ENCODING,
    LOCK,
    State,
    check_version,
    newest_migration,
    prepare_schema,
)
from muisti.storage.postgres.pooler import Connection as Connection  # noqa: PLC0414  # others import it from here
from muisti.storage.postgres.pooler import connect
from muisti.storage.postgres.pools import (
    CONNECT_SECONDS,
    LAG,
    MOST_CONNECTIONS,
    Pool,
    Pools,
)
from muisti.storage.postgres.quotas import QUOTA, Quota, read_quota
from muisti.storage.postgres.rows import encode_text
from muisti.storage.postgres.salience_sql import ARITHMETIC, NOW, RECORDED
from muisti.storage.salience_sql import salience_sql

if TYPE_CHECKING:
    from muisti.ports import Clock
    from muisti.storage.postgres.nearest_index import NearestIndexes
    from muisti.storage.postgres.search_tables import SearchTables
    from muisti.storage.snapshot.table import SearchTable

DEFAULTS: Mapping[str, object] = {
    "application_name": "muisti",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Parameters of a connection, unless the address has them.

A server that was cut off from the network closes no connection: without keepalives a call would
wait for a quarter of an hour.
"""
READ_ONLY = "this token may only read"
SHARED_ADDRESS = "the database"
"""What errors say instead of its address, which clients of tenants need not know."""
CHANNEL = "muisti_changes"
"""The channel on which every change is announced, with the tenant and who wrote it."""

_WRITABLE = f"""SELECT (SELECT max(number) FROM muisti.migrations), q.*
FROM ({QUOTA.replace("%s", "{tenant:d}")}) q"""
Cell = Any
_TENANT = re.compile(r"(?:-c\s*|--)muisti\.tenant=((?:\\.|\S)*)")
"""A backslash is before a space that belongs to the value."""


class Transaction:
    """A transaction of one thread. It begins with the first statement."""

    def __init__(self, *, writes: bool) -> None:
        self.writes = writes
        self.connection: Connection | None = None
        self.pool: Pool | None = None
        self.rows: dict[str, tuple[Any, ...]] = {}
        """Rows of `PostgresIndex.read_shown` by ID, so that they are read only once."""
        self.is_primary = True
        """False on a replica."""
        self.quota: Quota | None = None
        """What the tenant stored before a transaction that writes."""
        self.table: SearchTable | None = None
        """What `SearchTables.get_table` returned, if `has_table`."""
        self.has_table = False
        self._pipeline: psycopg.Pipeline | None = None
        self._leaving = ExitStack()

    def begin_pipeline(self) -> None:
        """Send statements from now on without waiting for those whose results nobody reads.

        An error of such a statement is raised by a later one, or by the end of the transaction.
        """
        if self.connection is not None and psycopg.capabilities.has_pipeline():
            self._pipeline = self._leaving.enter_context(self.connection.pipeline())

    @contextmanager
    def nest(self, connection: Connection) -> Iterator[None]:
        """Undo what the block wrote if it raises an error."""
        connection.execute("SAVEPOINT nested")
        try:
            yield
        except BaseException:
            # If this fails, too, so does the end of the transaction.
            with suppress(psycopg.Error):
                if self._pipeline is not None:
                    self._pipeline.sync()
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK TO SAVEPOINT nested")
            raise
        connection.execute("RELEASE SAVEPOINT nested")

    def end(self, *, commit: bool) -> None:
        """End the transaction, if it has begun, and give the connection back."""
        connection, self.connection = self.connection, None
        self.rows = {}
        self.table, self.has_table = None, False
        if connection is None or self.pool is None:
            return
        try:
            if not commit:
                self._leaving.close()  # in a pipeline that failed, nothing more is run
            ended = connection.execute("COMMIT" if commit else "ROLLBACK")
            self._leaving.close()
            if commit and ended.statusmessage != "COMMIT":
                raise psycopg.errors.InFailedSqlTransaction("a statement before it failed")
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
        known = {option.keyword.decode() for option in Conninfo.get_defaults()}
        named = [part.partition("=")[0] for part in dsn.partition("?")[2].split("&")]
        unknown = [name for name in named if name.isidentifier() and name not in known]
        if unknown:
            reason = f"has an option that libpq does not know: {unknown[0]}"
            raise InvalidRequest("location", "", reason) from None
        raise InvalidRequest(
            "location",
            "",
            "must be an address such as postgresql://user@host:5432/database; "
            "write special characters of a password as %XX",
        ) from None  # libpq's message quotes the password
    hosts = str(parts.get("host") or parts.get("hostaddr") or "").split(",")
    ports = str(parts.get("port") or "").split(",")
    if any("@" in host and not host.startswith(("/", "@")) for host in hosts):
        raise InvalidRequest("location", "", "has an @ in its host; write @ in a password as %40")
    if any(port and not port.isdecimal() for port in ports):
        raise InvalidRequest("location", "", "must have a number as its port")
    if len(ports) == 1:
        ports *= len(hosts)  # libpq uses one port for all hosts
    servers = ",".join(
        f"{host}:{port}" if port else host
        for host, port in zip(hosts, ports, strict=False)
        if host and not host.startswith("/")
    )
    user = f"{quote(str(parts['user']))}@" if parts.get("user") else ""
    return f"postgresql://{user}{servers}/{quote(str(parts.get('dbname') or ''))}"


def split_tenant(dsn: str) -> tuple[str, str]:
    """Return the options of an address without the tenant, and the tenant; "" if it has none."""
    options = str(conninfo_to_dict(dsn).get("options") or "")
    named = _TENANT.findall(options)
    tenant = re.sub(r"\\(.)", r"\1", named[-1]) if named else ""  # a backslash escapes a space
    return _TENANT.sub("", options).strip(), tenant


def name_tenant(dsn: str, number: int) -> str:
    """Return the address of one tenant's vault, as the one given but for the tenant."""
    options = f"{split_tenant(dsn)[0]} -c muisti.tenant={number:d}".strip()
    base, _, query = dsn.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith("options=")]
    return f"{base}?{'&'.join([*kept, f'options={quote(options)}'])}"


def complete_address(dsn: str) -> str:
    """Return what libpq connects to: the address with our defaults.

    The tenant is left out. It is set in each transaction, and poolers refuse it, or forget it.
    """
    given = {**DEFAULTS, **conninfo_to_dict(dsn), "client_encoding": ENCODING}
    given.pop("options", None)
    if options := split_tenant(dsn)[0]:
        given["options"] = options
    return make_conninfo(**{name: str(value) for name, value in given.items()})


class Shared(NamedTuple):
    """The connections of a server of many tenants, and what one vault may do with them."""

    pools: Pools
    tenant: int
    writable: bool


class Database:
    """The database of one vault, and the transactions of its threads."""

    def __init__(
        self,
        dsn: str,
        clock: Clock,
        *,
        shared: Shared | None = None,
        timeout: float = 30.0,
        replica_lag: float = 0.0,
        kinds: Mapping[str, Kind] = KINDS,
        rates: Mapping[Sector, float] = RATES,
        grace_days: float = IDLE_DAYS,
    ) -> None:
        """Shared: the connections of a server of many tenants, and which of them this one is.

        Replica lag: how many seconds a replica may be behind to serve reads.
        """
        self.address = describe_address(dsn) if shared is None else SHARED_ADDRESS
        self.me = uuid.uuid4().hex
        """Tells the changes of this object from those of others."""
        self.timeout = timeout
        self.salience = salience_sql(ARITHMETIC, kinds, rates, NOW, grace_days)
        self.salience_recorded = salience_sql(ARITHMETIC, kinds, rates, RECORDED, grace_days)
        self.conninfo = complete_address(dsn)
        self._named_tenant = split_tenant(dsn)[1]
        self.index_builder: NearestIndexes | None = None
        """Makes indexes for large tenants; None in a single command."""
        self.tables: SearchTables | None = None
        """Keeps what searching needs in memory; None in a single command."""
        self._shared = shared
        self._closed = False
        self._clock = clock
        self._held = threading.local()
        self._writers = threading.Lock()
        self.pools = Pools(self.conninfo, self.address, timeout=timeout, replica_lag=replica_lag)
        if shared is not None:
            self.pools = shared.pools

    @cached_property
    def state(self) -> State:
        """The state of the database. The first access connects, and migrates if needed."""
        if self._shared is not None:
            pools, tenant, writable = self._shared
            with translate_errors(self.address), pools.primary.connection() as db:
                found = prepare_schema(db, self.address, tenant)
            return found._replace(writable=found.writable and writable)
        with translate_errors(self.address), connect(self.conninfo) as db:
            return prepare_schema(db, self.address, named=self._named_tenant)

    @property
    def is_shared(self) -> bool:
        """Whether it belongs to a server of many tenants."""
        return self._shared is not None

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed or self.pools.is_closed

    def close(self) -> None:
        """Close all connections, unless others share them."""
        self._closed = True
        if self.tables is not None:
            self.tables.stop()
        if self._shared is None:
            self.pools.close()

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
            yield transaction.connection or self._begin(transaction)

    @contextmanager
    def write_transaction(
        self, timeout: float | None = None, *, announce: bool = True, exclusive: bool = True
    ) -> Iterator[Connection]:
        """Write everything in the block or nothing, alone among the writers of the tenant.

        Within another write transaction it becomes a part of that. Announce: tell other processes
        that something changed. Exclusive: False for statements that only lock rows of their own;
        they do not wait for other writers, and no quota is checked. Raises VaultBusy,
        TenantNotFound, QuotaExceeded, IndexTooNew.
        """
        outer = self.transaction
        if outer is not None and outer.writes and outer.connection is not None:
            with translate_errors(self.address), outer.nest(outer.connection):
                yield outer.connection
            return
        tenant = self.state.tenant
        if not exclusive:
            with translate_errors(self.address), self._open(writes=True) as transaction:
                # It excludes only that the tenant is dropped meanwhile.
                lock = f"SELECT pg_advisory_xact_lock_shared({DROP_LOCK:d}, {tenant:d})"
                yield self._begin(transaction, lock)
            return
        if self._shared is not None and not self._shared.writable:
            raise VaultReadOnly(READ_ONLY)
        wait = self.timeout if timeout is None else timeout
        until = time.monotonic() + wait
        if not self._writers.acquire(timeout=wait):
            raise VaultBusy(f"{self.address}: another thread has written for {wait:g} seconds")
        try:
            with translate_errors(self.address), self._open(writes=True) as transaction:
                left = max(1, int(1000 * (until - time.monotonic())))
                db = self._begin(
                    transaction,
                    f"SET LOCAL lock_timeout = {left:d}; "
                    f"SELECT pg_advisory_xact_lock({LOCK:d}, {tenant:d}); "
                    "SET LOCAL lock_timeout = 0",
                )
                transaction.begin_pipeline()
                yield db
                if transaction.quota is not None and transaction.quota.is_limited:
                    transaction.quota.check(read_quota(db, tenant))
                if announce:
                    self.announce(db)
        finally:
            self._writers.release()

    def announce(self, db: Connection) -> None:
        """Tell other processes that something changed, when the transaction is committed."""
        told = f"{self.state.tenant} {self.me}"
        db.execute("SELECT pg_notify(%s, %s)", (CHANNEL, told))

    @contextmanager
    def _open(self, *, writes: bool) -> Iterator[Transaction]:
        """Make a transaction that of this thread, and end it."""
        outer = self.transaction
        with translate_errors(self.address):
            transaction = Transaction(writes=writes)
            self._held.transaction = transaction
            try:
                yield transaction
                transaction.end(commit=True)
            except BaseException:
                transaction.end(commit=False)
                raise
            finally:
                self._held.transaction = outer

    def _begin(self, transaction: Transaction, lock: str = "") -> Connection:
        """Begin a transaction on a server that may serve it. Lock: what one that writes waits for.

        Everything that a statement depends on is set in the transaction, not in the session: a
        pooler in front of the server may give each transaction another session.
        """
        tenant, _, extension, _ = (
            self.state
        )  # a wrong address or password is reported with its reason
        now = to_microseconds(self._clock.now())
        mode = f"ISOLATION LEVEL {'READ COMMITTED' if transaction.writes else 'REPEATABLE READ'}"
        if not transaction.writes or (self._shared is not None and not self._shared.writable):
            mode += " READ ONLY"
        sql = (
            f'BEGIN {mode}; SET LOCAL search_path = muisti_tenant, muisti, "{extension}"; '
            f"SET LOCAL muisti.tenant = '{tenant:d}'; SET LOCAL muisti.now = '{now:d}'; "
            "SET LOCAL standard_conforming_strings = on; "  # psycopg doubles backslashes otherwise
            "SET LOCAL jit = off; SET LOCAL random_page_cost = 1.1; "
            "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 500; "
        )
        if transaction.writes:
            sql += f"{lock}; {_WRITABLE.format(tenant=tenant)}"
            transaction.connection, found = self._begin_on(self.pools.primary, sql)
            transaction.pool = self.pools.primary
            if found is None:
                raise TenantNotFound()
            version, *quota = found
            check_version(version, self.address)  # a newer process may have updated the schema
            transaction.quota = Quota._make(quota)
            return transaction.connection
        sql += f"SELECT tenant, ({LAG}) FROM muisti.tenants WHERE tenant = {tenant:d}"
        servers = [(self.pools.primary, sql)]
        if self.pools.replica_lag:
            has_schema = f"(SELECT max(number) FROM muisti.migrations) >= {newest_migration():d}"
            servers.insert(0, (self.pools.replica, f"{sql} AND {has_schema}"))
        for pool, sql in servers:
            try:
                transaction.connection, found = self._begin_on(pool, sql)
            except psycopg.errors.UndefinedTable:
                if pool is self.pools.primary:
                    raise
                continue  # a replica that does not have the schema yet
            transaction.pool = pool
            if found and self.pools.may_read(found[1]):
                transaction.is_primary = found[1] is None
                return transaction.connection
            transaction.end(commit=False)
        raise TenantNotFound()

    def _begin_on(self, pool: Pool, sql: str) -> tuple[Connection, tuple[Any, ...] | None]:
        """Run statements on a connection that works, which the server may have closed.

        Return it with the last row.
        """
        for _ in range(MOST_CONNECTIONS + 1):
            connection = pool.getconn()
            try:
                cursor = connection.execute(sql.encode(), prepare=False)
                while cursor.nextset():
                    pass
                return connection, cursor.fetchone() if cursor.description else None
            except psycopg.Error as error:
                if not isinstance(error, psycopg.OperationalError) or isinstance(error, BUSY):
                    connection.rollback()
                    pool.putconn(connection)
                    raise
                connection.close()
                pool.putconn(connection)
                failure = error
                if self.tables is not None:
                    self.tables.drop()  # the server may have been restored from a backup
        raise make_error(failure, self.address)


def fetch(
    db: Connection,
    sql: str,
    values: Sequence[Cell] | Mapping[str, Cell] = (),
    *,
    binary: bool = False,
) -> list[tuple[Any, ...]]:
    """Return all rows of a statement. A NUL in a value, which no stored text has, matches none.

    Binary: cells are sent as bytes, which are shorter for vectors.
    """
    try:
        return db.execute(sql.encode(), values, binary=binary).fetchall()
    except psycopg.DataError as error:
        if error.sqlstate is not None:  # the server refused it
            raise
        if isinstance(values, Mapping):
            encoded: Any = {name: _encode(value) for name, value in values.items()}
        else:
            encoded = [_encode(value) for value in values]
        return db.execute(sql.encode(), encoded, binary=binary).fetchall()


def _encode(value: Cell) -> Cell:
    if isinstance(value, list):
        return [_encode(one) for one in value]
    return encode_text(value) if isinstance(value, str) else value
