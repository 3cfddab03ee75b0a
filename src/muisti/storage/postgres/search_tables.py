"""What searching needs of a vault, kept in memory by a process that runs on.

The table of one vault is made from one state of the database, in the background. Rows in `changed`
say which texts changed in transactions that this state does not have; each search reads those. All
tables of a process together have a limit: the least recently used one is dropped. A vault that is
too large for it is searched in the database.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import psycopg

from muisti.errors import MuistiError
from muisti.processes import measure_memory
from muisti.storage.postgres.claims import TRIM_CHANGES
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.pooler import IS_OWN

if TYPE_CHECKING:
    from muisti.storage.snapshot.source import Array
    from muisti.storage.snapshot.table import SearchTable

log = logging.getLogger("muisti")
LEAST_BYTES = 256 * 2**20
"""Bytes that tables may always use, however small the machine's memory is."""
BYTES_OF_A_TEXT = 1300
"""Bytes of a table for each text, with a vector of 384 dimensions."""
SMALL = 300
"""The table of a vault with at most this many texts is made by the search that needs it."""
MAX_RECENT = 2000
"""With more changed rows, reading them takes longer than a search without a table."""
DUE, DUE_SHARE = 500, 0.05
"""A table is made again once this many rows changed, or this share if that is more."""
MOST_LOOKS = 5
"""How often a search retries if other threads read changes; then it does without a table."""
MAX_DISAGREEMENTS = 20
"""How often a table may disagree with the database before it is made again."""
_STATE = "SELECT pg_current_snapshot()::text, (SELECT space FROM spaces WHERE serving)"
_CHANGES = f"""
SELECT pg_current_snapshot()::text, (SELECT space FROM spaces WHERE serving),
    pg_snapshot_xmin(pg_current_snapshot()) > pg_snapshot_xmin(s.seen),
    EXISTS (SELECT 1 FROM changes_trimmed t
        WHERE {IS_OWN.format("t")} AND NOT pg_visible_in_snapshot(t.xid, s.seen)),
    ARRAY(SELECT c.n FROM changed c WHERE c.xid >= pg_snapshot_xmin(s.seen)
        AND {IS_OWN.format("c")} AND NOT pg_visible_in_snapshot(c.xid, s.seen)
        LIMIT {2 * MAX_RECENT})
FROM (SELECT %s::pg_snapshot AS seen) s
"""


class SearchTables:
    """Keeps the table of one vault. Implements Distrust. Thread-safe."""

    def __init__(self, database: Database, megabytes: int) -> None:
        """`megabytes`: the most that the tables of all vaults in the process may have.

        0: a tenth of the machine's memory.
        """
        self._db = database
        self.most_bytes = megabytes * 2**20 or max(LEAST_BYTES, measure_memory() // 10)
        self._lock = threading.Lock()
        """Guards the next two, for a moment."""
        self._extending = threading.Lock()
        """Is held by the thread that reads changed texts."""
        self._table: SearchTable | None = None
        self._seen = ""
        """The state of the database that the table has, as PostgreSQL writes a snapshot."""
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self._has_failed = False
        self._disagreements = 0

    def get_table(self) -> SearchTable | None:
        """Return the table; None if a search must do without.

        Call within a transaction, which gets the same table each time. One that writes gets none:
        it sees rows that no other sees. Nor does one on a replica: it cannot tell what it sees.
        """
        held = self._db.transaction
        if held is None or held.writes:
            return None
        with self._db.read_transaction() as db:
            if not held.has_table:
                held.has_table = True
                held.table = self._find_table(db) if held.is_primary else None
        return held.table

    def reject(self, error: Exception) -> None:
        """Use the table no more: it turned out to be damaged."""
        log.warning("what is kept for searches is damaged and is read again: %s", error)
        self.drop()
        self._forget_here()

    def distrust(self) -> None:
        """Do not use the table in this transaction: it does not agree with the database.

        The table may only be newer than the transaction. One that often disagrees is wrong.
        """
        self._forget_here()
        self._disagreements += 1
        if self._disagreements > MAX_DISAGREEMENTS:
            self.reject(ValueError("it does not agree with the database"))

    def _forget_here(self) -> None:
        if self._db.transaction is not None:
            self._db.transaction.table = None

    def _find_table(self, db: Connection) -> SearchTable | None:
        table = self._update(db)
        if table is not None:
            _KEPT.touch(self)
        elif self._table is None:
            self._request_build()
        return table

    def _read_small(self, db: Connection) -> SearchTable | None:
        """Make the table of a small vault; None if it is not small."""
        from muisti.storage.postgres.snapshot_source import PostgresSource
        from muisti.storage.snapshot.build import make_empty_columns
        from muisti.storage.snapshot.table import SearchTable

        numbers = [n for (n,) in fetch(db, "SELECT n FROM entries LIMIT %s", (SMALL + 1,))]
        if len(numbers) > SMALL:
            return None
        source = PostgresSource(self._db)
        space = source.read_space()
        columns = make_empty_columns(space.dimensions)
        [(seen, _)] = fetch(db, _STATE)
        table = SearchTable(columns, space.number, 0).extend(source, numbers)
        return self._set(table, seen)

    def _set(self, table: SearchTable | None, seen: str = "") -> SearchTable | None:
        with self._lock:
            self._table, self._seen = table, seen
        return table

    def _update(self, db: Connection) -> SearchTable | None:
        """Return the table with what changed since; None if it has to be made.

        No lock is held while the database is asked what changed. Threads that find changes wait
        for the one that reads them, and then look again.
        """
        from muisti.storage.postgres.snapshot_source import PostgresSource

        for _ in range(MOST_LOOKS):
            with self._lock:
                table, known = self._table, self._seen
            if table is None:
                break
            [(seen, space, is_newer, is_trimmed, numbers)] = fetch(db, _CHANGES, (known,))
            changed = list(dict.fromkeys(numbers))
            if not changed and not is_trimmed and space == table.space:
                with self._lock:
                    if is_newer and self._seen == known:
                        self._seen = seen
                return table
            with self._extending:
                if self._table is not table or self._seen != known:
                    continue  # another thread has read them
                count = table.recent_count + len(changed)
                if is_trimmed or space != table.space or count > MAX_RECENT:
                    self._set(None)
                    break
                if count > max(DUE, DUE_SHARE * table.size) and table.size:
                    self._request_build()
                return self._set(table.extend(PostgresSource(self._db), changed), seen)
        with self._extending:
            is_large = self._has_failed  # then it was too large, or could not be read
            return None if self._table is not None or is_large else self._read_small(db)

    # -- Building

    def _request_build(self) -> None:
        """Make the table in the background, unless that is being done, or failed before."""
        is_running = self._builder is not None and self._builder.is_alive()
        if not is_running and not self._has_failed and not self._stop.is_set():
            self._builder = threading.Thread(
                target=self._build_in_background, name="muisti-snapshot", daemon=True
            )
            self._builder.start()

    def _build_in_background(self) -> None:
        try:
            self.build()
        except (MuistiError, psycopg.Error, OSError, MemoryError) as error:
            # Searches work without it; the next process tries again.
            self._has_failed = True
            log.info("searches keep nothing in memory: %s", error)

    def build(self) -> None:
        """Make the table of the current state. Raises StoreUnavailable, psycopg.Error."""
        from muisti.storage.postgres.snapshot_source import PostgresSource
        from muisti.storage.snapshot.build import Stopped, write_snapshot
        from muisti.storage.snapshot.source import MemoryWriter, Shapes, Values
        from muisti.storage.snapshot.table import SearchTable

        written: list[MemoryWriter] = []

        def make_writer(shapes: Shapes, values: Values) -> MemoryWriter:
            written.append(MemoryWriter(shapes, values))
            return written[0]

        with self._db.read_transaction() as db:
            rows = fetch(db, "SELECT texts FROM totals")
            needed = rows[0][0] * BYTES_OF_A_TEXT if rows else 0
            if needed > self.most_bytes:
                self._has_failed = True
                is_shared, tenant = self._db.is_shared, self._db.state.tenant
                log.warning(
                    "%s is searched in the database: search_memory = %d would make it faster",
                    f"tenant {tenant}" if is_shared else self._db.address,
                    -(-needed // 2**20),
                )
                return
            [(seen, _)] = fetch(db, _STATE)
            try:
                write_snapshot(PostgresSource(self._db), make_writer, self._stop.is_set)
            except Stopped:
                return
        columns, values = written[0].columns, written[0].values
        with self._extending:
            if self._stop.is_set():
                return
            self._set(SearchTable(columns, values["space"], values["tokens"]), seen)
            self._disagreements = 0
        _KEPT.add(self, columns)
        if self._db.state.writable:
            with self._db.write_transaction(announce=False, exclusive=False) as db:
                db.execute(TRIM_CHANGES)

    def wait(self) -> None:
        """Wait for a build in the background."""
        if self._builder is not None:
            self._builder.join()

    def drop(self) -> None:
        """Forget the table. It is made again when a search needs it."""
        with self._lock:
            self._table = None
        _KEPT.remove(self)

    def stop(self) -> None:
        """Cancel a build in the background, and forget the table."""
        self._stop.set()
        if self._builder is not threading.current_thread():
            self.wait()
        self.drop()


class _KeptTables:
    """How many bytes the tables of all vaults have, the least recently used first."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._bytes: OrderedDict[SearchTables, int] = OrderedDict()

    def add(self, tables: SearchTables, columns: dict[str, Array]) -> None:
        """Count a table, and drop others until all have room."""
        dropped: list[Any] = []
        with self._guard:
            self._bytes.pop(tables, None)
            self._bytes[tables] = sum(column.nbytes for column in columns.values())
            while sum(self._bytes.values()) > tables.most_bytes:
                dropped.append(self._bytes.popitem(last=False)[0])
        for one in dropped:
            one.drop()

    def touch(self, tables: SearchTables) -> None:
        """Count a table as used now."""
        with self._guard:
            if tables in self._bytes:
                self._bytes.move_to_end(tables)

    def remove(self, tables: SearchTables) -> None:
        """Count a table no more."""
        with self._guard:
            self._bytes.pop(tables, None)


_KEPT = _KeptTables()
