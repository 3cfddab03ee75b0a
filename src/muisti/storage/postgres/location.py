"""Where a vault in PostgreSQL is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from muisti.errors import Unsupported
from muisti.storage.postgres.connect import Database, fetch

if TYPE_CHECKING:
    from muisti.ports import ChangeQueue, Clock, FileWatch, Notebook
    from muisti.storage.postgres.store import PostgresStore

NO_FILES = "a vault in a database has no files; open a vault in a folder"


class PostgresLocation:
    """Implements the port Location."""

    def __init__(self, database: Database, store: PostgresStore, clock: Clock) -> None:
        self._db = database
        self._store = store
        self._clock = clock

    def __str__(self) -> str:
        return self.name if self._db.is_shared else self._db.address

    @property
    def name(self) -> str:
        """The name of the database; in a server of many tenants, that of the tenant."""
        if self._db.is_shared:
            return self._db.state.tenant_name
        return self._db.address.rpartition("/")[2] or "postgresql"

    @property
    def is_writable(self) -> bool:
        """Whether the vault was writable when it was opened."""
        return self._db.state.writable

    def check_available(self) -> None:
        """Do nothing: each call says itself whether the database can be reached.

        Servers check on the thread of all requests, which must not wait for a connection.
        """

    def disk_usage(self) -> int:
        """Return the bytes of memories, versions, conversations, notes and documents."""
        sql = """SELECT (SELECT coalesce(sum(octet_length(file)), 0) FROM memories)
                 + (SELECT coalesce(sum(octet_length(file)), 0) FROM versions)
                 + (SELECT coalesce(sum(octet_length(content)), 0) FROM lines)
                 + (SELECT coalesce(sum(octet_length(file)), 0) FROM files)"""
        with self._db.read_transaction() as db:
            return int(fetch(db, sql)[0][0])

    def watch(self, stop: threading.Event) -> FileWatch:
        """Return a watch for the changes of other processes."""
        from muisti.storage.postgres.watch import PostgresWatch

        return PostgresWatch(self._db, stop)

    def queue_changes(self) -> ChangeQueue:
        """Raise Unsupported."""
        raise Unsupported("queue_changes", NO_FILES)

    def notebook(self, folder: str) -> Notebook:
        """Return the notebook in a folder of the vault."""
        from muisti.storage.postgres.notebook import PostgresNotebook  # rarely needed

        return PostgresNotebook(self._db, self._store, self._clock, folder)
