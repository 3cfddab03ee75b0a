"""The connections of a process: a pool for the primary, and one for reads from a replica."""

from __future__ import annotations

import threading

from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from muisti.errors import StoreUnavailable
from muisti.model.reports import DatabaseStatus
from muisti.storage.postgres.pooler import Connection, configure_statements

MOST_CONNECTIONS = 10
"""Connections of one pool. Writers of a process wait for each other before they take one."""
CONNECT_SECONDS = 10
"""How long connecting may take, unless the address says otherwise."""
REPLICA_SECONDS = 60.0
"""How long a connection for reads is kept: after that a replica that is back serves them again."""
PRIMARY_SECONDS = 3600.0
"""How long a connection to the primary is kept."""

NEXT_SECONDS = 0.5
"""How long callers wait for a connection after another one has waited in vain."""

LAG = """CASE WHEN pg_is_in_recovery() THEN coalesce(
extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 'Infinity')::float8 END"""
"""How old the last change is that a replica has applied, in seconds; NULL on the primary.

If nobody writes, it grows although nothing is missing; then the primary serves the reads.
"""


class Pool(ConnectionPool[Connection]):
    """A pool whose callers do not all wait, one after the other, for a server that is down."""

    _has_failed = False

    def getconn(self, timeout: float | None = None) -> Connection:
        """Return a connection. Raises PoolTimeout."""
        if self._has_failed:
            timeout = min(NEXT_SECONDS, self.timeout if timeout is None else timeout)
        try:
            connection = super().getconn(timeout)
        except PoolTimeout:
            self._has_failed = True
            raise
        self._has_failed = False
        return connection


class Pools:
    """Opens pools when they are first needed."""

    def __init__(
        self, conninfo: str, address: str, *, timeout: float = 30.0, replica_lag: float = 0.0
    ) -> None:
        """Replica lag: how many seconds a replica may be behind; 0 for none."""
        self.replica_lag = replica_lag
        self.read_lag: float | None = None
        """The lag of the replica that served the last read; None if the primary did.

        It is only told, so that no lock guards it.
        """
        self._address = address
        self._timeout = timeout
        replica = make_conninfo(conninfo, target_session_attrs="prefer-standby")
        self._servers = {
            "primary": (conninfo, PRIMARY_SECONDS),
            "replica": (replica, REPLICA_SECONDS),
        }
        self._opening = threading.Lock()
        self._pools: dict[str, Pool] = {}
        self._closed = False

    @property
    def primary(self) -> Pool:
        """The pool for writes. Raises StoreUnavailable if it was closed."""
        return self._open("primary")

    @property
    def replica(self) -> Pool:
        """The pool for reads from a replica; without one it leads to the primary."""
        return self._open("replica")

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _open(self, name: str) -> Pool:
        with self._opening:
            if self._closed:
                raise StoreUnavailable(f"{self._address} has been closed; open it again")
            if name not in self._pools:
                conninfo, lifetime = self._servers[name]
                timeout = max(CONNECT_SECONDS, self._timeout)
                pool = self._pools[name] = Pool(
                    conninfo,
                    kwargs={"autocommit": True},
                    configure=configure_statements,
                    max_lifetime=lifetime,
                    min_size=1,
                    max_size=MOST_CONNECTIONS,
                    timeout=timeout,
                    reconnect_timeout=timeout,  # pauses between attempts double until then
                    num_workers=1,
                    open=False,
                )
                pool.open()
            return self._pools[name]

    def may_read(self, lag: float | None) -> bool:
        """Return whether a server with this lag (None: the primary) may serve a read."""
        is_fresh = lag is None or not self.replica_lag or lag <= self.replica_lag
        if is_fresh:
            self.read_lag = lag
        return is_fresh

    def status(self, db: Connection) -> DatabaseStatus:
        """Return the state of the server behind a connection, and of the pools."""
        row = db.execute(_STATUS).fetchone()
        assert row is not None
        is_primary, replicas, lag_bytes, sees_replicas = row
        with self._opening:
            pools = [pool.get_stats() for pool in self._pools.values()]
        return DatabaseStatus(
            is_primary=is_primary,
            replicas=replicas if sees_replicas else None,
            lag_bytes=int(lag_bytes) if sees_replicas and lag_bytes is not None else None,
            read_lag_seconds=self.read_lag,
            connections=sum(pool["pool_size"] for pool in pools),
            connections_used=sum(pool["pool_size"] - pool["pool_available"] for pool in pools),
            waiting_requests=sum(pool["requests_waiting"] for pool in pools),
        )

    def close(self) -> None:
        """Close all connections."""
        with self._opening:
            pools, self._pools = self._pools, {}
            self._closed = True
        for pool in pools.values():
            pool.close()


_STATUS = """SELECT NOT pg_is_in_recovery(),
(SELECT count(*)::integer FROM pg_stat_replication),
(SELECT max(pg_wal_lsn_diff(sent_lsn, replay_lsn)) FROM pg_stat_replication),
pg_has_role(current_user, 'pg_monitor', 'USAGE')
    OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"""
