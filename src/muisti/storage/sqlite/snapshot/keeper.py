"""Which snapshot is current, and when a new one is built."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from muisti.errors import IndexProblem, VaultError
from muisti.logs import get_log
from muisti.processes import is_running, release_memory
from muisti.storage.sqlite.rows import fetch

if TYPE_CHECKING:
    from muisti.storage.snapshot.table import SearchTable
    from muisti.storage.sqlite.connect import Database

MAX_RECENT = 2000
"""With more changed rows, reading them takes longer than a search without a snapshot."""
DUE, DUE_SHARE = 500, 0.05
"""A snapshot is built again once this many rows changed, or this share if that is more."""
MAX_DISAGREEMENTS = 20
"""How often a table may disagree with the index before it is built again."""
SMALL = 300
"""An index with at most this many rows needs no snapshot: all rows are read."""
PATTERN = "snapshot-*.bin"


class SnapshotKeeper:
    """The table for searches in one process. Thread-safe."""

    def __init__(self, folder: Path, database: Database, *, background: bool) -> None:
        """`background`: build snapshots in a thread when they are due."""
        self._database = database
        self._folder = folder
        self._background = background
        self._lock = threading.Lock()
        self._key: tuple[str, str] = ("", "")
        self._table: SearchTable | None = None
        self._base = 0
        """The last change that the snapshot contains."""
        self._seq = 0
        """The last change that the table contains."""
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self._failed = ""
        """The index for which building failed: it is not tried again."""
        self._rejected = ""
        """The snapshot that turned out to be damaged."""
        self._searches = 0
        self._disagreements = 0

    def get_table(self) -> SearchTable | None:
        """Return the table; None if a search must do without.

        Call within a transaction, which gets the same table each time. In a process that searches
        once, importing numpy would take longer than the search.
        """
        held, path = self._database.held, self._database.path
        if held.db is None or path is None:
            return None
        if not held.has_table:
            held.has_table = True
            if os.path.basename(held.db.filename) == path.name:
                held.table = self._find_table(held.db, path.name)
        return held.table

    def reject(self, error: Exception) -> None:
        """Use the snapshot no more: it turned out to be damaged."""
        get_log().warning("the search snapshot is damaged and is built again: %s", error)
        with self._lock:
            self._rejected = self._key[1]
            self._table = self._database.held.table = None

    def distrust(self) -> None:
        """Do not use the table in this transaction: it does not agree with the index.

        The table may only be newer than the transaction. A snapshot that often disagrees is wrong.
        """
        self._database.held.table = None
        self._disagreements += 1
        if self._disagreements > MAX_DISAGREEMENTS:
            self.reject(ValueError("it does not agree with the index"))

    def _find_table(self, db: apsw.Connection, index: str) -> SearchTable | None:
        self._searches += 1
        if "numpy" not in sys.modules and self._searches == 1:
            return None
        with self._lock:
            [(name, base, newest)] = fetch(db, _STATE)
            if self._key == (index, self._key[1]) and base < self._base:
                return None  # a transaction that began before the current snapshot was made
            if self._key != (index, name) or (not name and self._lacks_vectors(db)):
                self._open(db, name, index, base)
            if self._table is None:
                self._request_build(index)
                return None
            if newest <= self._seq:
                return self._table
            sql = "SELECT DISTINCT n FROM changed WHERE seq > ? LIMIT ?"
            changed = [n for (n,) in fetch(db, sql, (self._seq, MAX_RECENT + 1))]
            if self._table.recent_count + len(changed) > MAX_RECENT:
                self._request_build(index)
                return None
            if changed:
                from muisti.storage.sqlite.snapshot.build import SqliteSource  # numpy

                self._table = self._table.extend(SqliteSource(db), changed)
                self._seq = newest
                if self._table.recent_count > max(DUE, DUE_SHARE * self._table.size):
                    self._request_build(index)
            return self._table

    def _lacks_vectors(self, db: apsw.Connection) -> bool:
        """Return whether the table was read before the index had any vectors."""
        has_none = self._table is not None and self._table.space is None
        return has_none and bool(fetch(db, "SELECT 1 FROM spaces WHERE serving"))

    def _open(self, db: apsw.Connection, name: str, index: str, base: int) -> None:
        """Map the snapshot. An index that has none and is small is read whole."""
        from muisti.storage.snapshot.build import make_empty_columns
        from muisti.storage.snapshot.table import SearchTable
        from muisti.storage.sqlite.snapshot.build import SqliteSource
        from muisti.storage.sqlite.snapshot.file import UnusableSnapshot, map_snapshot

        self._table, self._key, self._base, self._seq = None, (index, name), base, base
        self._disagreements = 0
        if name and name == self._rejected:
            return
        if name:
            try:
                columns, values = map_snapshot(self._folder, name, index)
                if columns.keys() != make_empty_columns(0).keys():
                    raise UnusableSnapshot(f"{name} has other arrays")
                self._table = SearchTable(columns, values["space"], values["tokens"])
            except UnusableSnapshot as error:
                get_log().info("the search snapshot is built again: %s", error)
            return
        numbers = [n for (n,) in fetch(db, "SELECT n FROM entries LIMIT ?", (SMALL + 1,))]
        if len(numbers) <= SMALL:
            space = db.execute("SELECT space, dimensions FROM spaces WHERE serving").fetchone()
            columns = make_empty_columns(space[1] if space else 0)
            table = SearchTable(columns, space[0] if space else None, 0)
            self._table = table.extend(SqliteSource(db), numbers)
            [(self._seq,)] = fetch(db, "SELECT coalesce(max(seq), 0) FROM changed")

    # -- Building

    def request_build(self) -> None:
        """Build a snapshot of the current index in the background."""
        path = self._database.path
        if path is not None:
            with self._lock:
                self._request_build(path.name)

    def _request_build(self, index: str) -> None:
        """Build a snapshot in the background, unless that is being done, or failed before."""
        is_running = self._builder is not None and self._builder.is_alive()
        if self._background and not is_running and self._failed != index:
            self._stop.clear()
            self._builder = threading.Thread(
                target=self._build, args=(index,), name="muisti-snapshot", daemon=True
            )
            self._builder.start()

    def _build(self, index: str) -> None:
        try:
            self.build()
        except (IndexProblem, VaultError, apsw.Error, OSError) as error:
            # Searches work without it; the next process tries again.
            self._failed = index
            get_log().info("no search snapshot was built: %s", error)

    def build(self) -> None:
        """Build a snapshot of the current index and make it the current one.

        Raises OSError, apsw.Error, IndexProblem, VaultError.
        """
        from muisti.storage.sqlite.connect import connect
        from muisti.storage.sqlite.snapshot.build import Stopped, build_snapshot

        index = self._database.path
        if index is None:
            return

        unique = os.urandom(4).hex()
        path = self._folder / f"building-{os.getpid()}-{unique}.bin"
        name = f"snapshot-{unique}.bin"
        try:
            db = connect(index, self._database.timeout, make=False)
            try:
                db.pragma("cache_size", -2000)  # every row is read once
                db.execute("BEGIN")
                purges = fetch(db, _PURGES)
                seq = build_snapshot(db, path, index.name, self._stop.is_set)
            finally:
                db.close()
            self._register(path, name, seq, index.name, purges)
        except Stopped:
            pass
        finally:
            _unlink(path)
            release_memory()

    def _register(
        self, path: Path, name: str, seq: int, index: str, purges: list[tuple[int]]
    ) -> None:
        """Make a snapshot the current one, unless it contains text that was deleted since."""
        with self._database.write_transaction() as writer:
            is_same = Path(writer.filename).name == index  # not if it was rebuilt meanwhile
            if not is_same or fetch(writer, _PURGES) != purges:
                return
            os.replace(path, self._folder / name)
            writer.execute("DELETE FROM snapshots")
            writer.execute("INSERT INTO snapshots VALUES (?, ?)", (name, seq))
            writer.execute("DELETE FROM changed WHERE seq <= ?", (seq,))
            # Within the transaction: another process may make the next one current right after.
            self._sweep(keep=name)

    def _sweep(self, keep: str = "") -> None:
        """Remove all snapshots but one, and what dead processes were building."""
        for file in self._folder.glob(PATTERN):
            if file.name != keep:
                _unlink(file)
        for file in self._folder.glob("building-*.bin"):
            process = file.name.split("-")[1]
            if not keep or not (process.isdigit() and is_running(int(process))):
                _unlink(file)

    def wait(self) -> None:
        """Wait for a build in the background."""
        if self._builder is not None:
            self._builder.join()

    def stop(self) -> None:
        """Cancel a build in the background."""
        self._stop.set()
        self.wait()
        self._drop_table()

    def remove(self, writer: apsw.Connection) -> None:
        """Remove all snapshots: texts were permanently deleted. Within a write transaction."""
        writer.execute("DELETE FROM snapshots")
        writer.execute("UPDATE purges SET count = count + 1")
        self._drop_table()
        self._sweep()

    def _drop_table(self) -> None:
        with self._lock:  # a search in another thread may be using both
            self._table, self._key = None, ("", "")


def _unlink(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


_PURGES = "SELECT count FROM purges"
_STATE = """
SELECT coalesce((SELECT name FROM snapshots), ''), coalesce((SELECT seq FROM snapshots), 0),
    coalesce((SELECT max(seq) FROM changed), 0)
"""
"""The current snapshot, the last change that it contains, and the last change."""
