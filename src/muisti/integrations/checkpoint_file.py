"""An SQLite file with checkpoints: states of programs that are saved to be resumed later.

It lies outside `.muisti/`, which can be deleted at any time, and is not indexed: searches do not
find what is in it. What is stored is bytes; this module does not read them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from muisti.errors import VaultError

SCHEMA = 1
_CREATE = f"""
CREATE TABLE IF NOT EXISTS checkpoints (
    thread TEXT, namespace TEXT, id TEXT, parent TEXT, run TEXT,
    type TEXT, data BLOB, metadata_type TEXT, metadata BLOB,
    PRIMARY KEY (thread, namespace, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writes (
    thread TEXT, namespace TEXT, id TEXT, task TEXT, position INTEGER, path TEXT,
    channel TEXT, type TEXT, data BLOB,
    PRIMARY KEY (thread, namespace, id, task, position)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS checkpoints_by_run ON checkpoints (run);
PRAGMA user_version = {SCHEMA};
"""
_TABLES = ("writes", "checkpoints")
_PLACES = ", ".join("?" * 9)
Key = tuple[str, str, str]
"""Thread, namespace and ID of a checkpoint."""
Typed = tuple[str, bytes]
"""How a value was serialized, and its bytes."""


class CheckpointRow(NamedTuple):
    """A stored checkpoint."""

    thread: str
    namespace: str
    id: str
    parent: str | None
    run: str | None
    type: str
    data: bytes
    metadata_type: str
    metadata: bytes

    @property
    def key(self) -> Key:
        """What identifies the checkpoint."""
        return self[:3]


class WriteRow(NamedTuple):
    """What a task wrote after a checkpoint."""

    thread: str
    namespace: str
    id: str
    """The ID of the checkpoint."""
    task: str
    position: int
    """Negative for a write that replaces the one before, such as an error."""
    path: str
    channel: str
    type: str
    data: bytes


class CheckpointFile:
    """A file that several threads and processes can use at the same time.

    Raises VaultError if it cannot be opened or is a symbolic link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        if path.is_symlink():
            raise VaultError(f"{path} is a symbolic link; remove it or use another path")
        try:
            path.touch(mode=0o600)
            self._db = sqlite3.connect(path, timeout=30, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            [version] = self._db.execute("PRAGMA user_version").fetchone()
            if version <= SCHEMA:
                self._db.executescript(_CREATE)
        except (OSError, sqlite3.Error) as error:
            raise VaultError(f"{path} cannot be opened as a checkpoint file ({error})") from error
        if version > SCHEMA:
            self._db.close()
            raise VaultError(f"{path} was written by a later version; update muisti")

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        self._db.close()

    def select(self, conditions: Mapping[str, object]) -> list[CheckpointRow]:
        """Return checkpoints, the latest first.

        Conditions: values by a test such as `thread = ?`. One whose value is None is left out.
        """
        given = {test: value for test, value in conditions.items() if value is not None}
        where = " AND ".join(given) or "1"
        rows = self._read(f"SELECT * FROM checkpoints WHERE {where} ORDER BY id DESC", given)
        return [CheckpointRow(*row) for row in rows]

    def select_writes(self, key: Key) -> list[WriteRow]:
        """Return what tasks wrote after a checkpoint, in the order in which it is applied."""
        given = {"thread = ?": key[0], "namespace = ?": key[1], "id = ?": key[2]}
        where = " AND ".join(given)
        order = "path, task, position"
        rows = self._read(f"SELECT * FROM writes WHERE {where} ORDER BY {order}", given)
        return [WriteRow(*row) for row in rows]

    def _read(self, sql: str, given: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, tuple(given.values())).fetchall()

    def put(self, row: CheckpointRow) -> None:
        """Store a checkpoint. It is on disk when this returns."""
        self._write([(f"INSERT OR REPLACE INTO checkpoints VALUES ({_PLACES})", row)])

    def put_writes(self, rows: Sequence[WriteRow]) -> None:
        """Store what a task wrote. What it wrote before stays, unless its position is negative."""
        kinds = ["REPLACE" if row.position < 0 else "IGNORE" for row in rows]
        inserts = [f"INSERT OR {kind} INTO writes VALUES ({_PLACES})" for kind in kinds]
        self._write(zip(inserts, rows, strict=True))

    def delete(self, keys: Iterable[Key]) -> None:
        """Delete checkpoints with their writes."""
        where = "thread = ? AND namespace = ? AND id = ?"
        self._write((f"DELETE FROM {name} WHERE {where}", key) for key in keys for name in _TABLES)

    def delete_thread(self, thread: str) -> None:
        """Delete all checkpoints of a thread."""
        self._write((f"DELETE FROM {name} WHERE thread = ?", (thread,)) for name in _TABLES)

    def copy_thread(self, source: str, target: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        rows = [row._replace(thread=target) for row in self.select({"thread = ?": source})]
        found = self._read("SELECT * FROM writes WHERE thread = ?", {"thread": source})
        writes = [WriteRow(*row)._replace(thread=target) for row in found]
        self._write(
            [
                *((f"INSERT OR REPLACE INTO checkpoints VALUES ({_PLACES})", row) for row in rows),
                *((f"INSERT OR REPLACE INTO writes VALUES ({_PLACES})", row) for row in writes),
            ]
        )

    def _write(self, statements: Iterable[tuple[str, Sequence[object]]]) -> None:
        """Run all statements or none. Raises VaultError."""
        try:
            with self._lock, self._db:
                for sql, values in statements:
                    self._db.execute(sql, values)
        except sqlite3.Error as error:
            raise VaultError(f"{self.path} cannot be written ({error})") from error


__all__ = ["CheckpointFile", "CheckpointRow", "Key", "Typed", "WriteRow"]
