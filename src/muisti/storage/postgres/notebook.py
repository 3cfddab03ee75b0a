"""Notes of an agent in PostgreSQL: rows of `files`, with the paths that they have in a folder.

Earlier versions and deleted notes are kept below `.history/` and `.trash/`. A folder is a row whose
path ends with a slash, or has a note.
"""

from __future__ import annotations

import os
import stat
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from muisti.errors import Conflict
from muisti.ports.location import NotebookEntry
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.row_values import to_int

if TYPE_CHECKING:
    from muisti.ports.store import Clock
    from muisti.storage.postgres.store import PostgresStore

_STAMP = "%Y%m%dT%H%M%S%fZ"
_FOLDER_SIZE = 4096
"""Shown as the size of a folder, as most file systems do."""


class PostgresNotebook:
    """Notes in one folder of a vault; implements the port Notebook."""

    def __init__(self, database: Database, store: PostgresStore, clock: Clock, folder: str) -> None:
        self._db = database
        self._store = store
        self._clock = clock
        self._folder = folder

    @property
    def place(self) -> Path:
        """The folder, relative to the vault."""
        return Path(self._folder)

    def lock(self) -> AbstractContextManager[None]:
        """Begin a transaction. Raises VaultBusy, VaultReadOnly."""
        return self._store.lock()

    # -- Reading

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a note or folder, or None."""
        sql = """SELECT (SELECT octet_length(file) FROM files WHERE path = %(path)s),
                 EXISTS (SELECT 1 FROM files WHERE path ^@ %(folder)s)"""
        full = self._resolve(path)
        with self._db.read_transaction() as db:
            [(size, is_folder)] = fetch(db, sql, {"path": full, "folder": f"{full}/"})
        if size is None and not is_folder:
            return None
        mode = stat.S_IFDIR | 0o755 if size is None else stat.S_IFREG | 0o644
        size = _FOLDER_SIZE if size is None else size
        return os.stat_result((mode, 0, 0, 1, 0, 0, size, 0, 0, 0))

    def entries(self, path: str) -> list[NotebookEntry]:
        """Return the entries of a folder by name, without hidden files."""
        above = f"{self._resolve(path)}/"
        with self._db.read_transaction() as db:
            sql = "SELECT path, octet_length(file) FROM files WHERE path ^@ %s"
            rows = fetch(db, sql, (above,))
        found: dict[str, NotebookEntry] = {}
        for full, size in rows:
            name, slash, _ = full.removeprefix(above).partition("/")
            if name and not name.startswith("."):
                entry_size = _FOLDER_SIZE if slash else size
                found[name] = NotebookEntry(name, entry_size, is_folder=bool(slash))
        return sorted(found.values(), key=lambda entry: entry.name)

    def read(self, path: str, most: int) -> bytes:
        """Return up to `most` + 1 bytes of a note. Raises FileNotFoundError."""
        sql = "SELECT substr(file, 1, %s) FROM files WHERE path = %s"
        with self._db.read_transaction() as db:
            rows = fetch(db, sql, (most + 1, self._resolve(path)))
        if not rows:
            raise FileNotFoundError(path)
        return bytes(rows[0][0])

    # -- Writing, under the lock

    def prepare(self) -> None:
        """Create the folder."""
        with self._db.write_transaction() as db:
            self._make_folders(db, f"{self._folder}/x")

    def create(self, path: str, data: bytes) -> None:
        """Create a note and the folders above it. Never replaces one. Raises Conflict."""
        full = self._resolve(path)
        with self._db.write_transaction() as db:
            self._insert(db, full, data)
            self._make_folders(db, full)
            self._store.documents.update_paths([full])

    def replace(self, path: str, data: bytes) -> None:
        """Replace a note's bytes. The earlier ones are kept as a version."""
        full = self._resolve(path)
        with self._db.write_transaction() as db:
            rows = fetch(db, "SELECT file FROM files WHERE path = %s", (full,))
            suffix = PurePosixPath(path).suffix
            for (before,) in rows:
                version = self._find_free_path(db, f".history/{full}/", suffix)
                self._insert(db, version, before)
            sql = "UPDATE files SET file = %s, changed_at = %s WHERE path = %s"
            db.execute(sql, (data, to_int(self._clock.now()), full))
            self._store.documents.update_paths([full])

    def move(self, path: str, target: str) -> None:
        """Rename a note or a folder. The new name must be free."""
        with self._db.write_transaction() as db:
            self._move(db, self._resolve(path), self._resolve(target))
            self._make_folders(db, self._resolve(target))

    def trash(self, path: str) -> str:
        """Move a note or a folder to the trash. Returns its new path, relative to the vault."""
        full = self._resolve(path)
        with self._db.write_transaction() as db:
            is_note = fetch(db, "SELECT 1 FROM files WHERE path = %s", (full,))
            suffix = PurePosixPath(full).suffix if is_note else ""
            target = self._find_free_path(db, f".trash/{full.removesuffix(suffix)}.", suffix)
            self._move(db, full, target)
        return target

    def _insert(self, db: Connection, path: str, data: bytes) -> None:
        sql = """INSERT INTO files (path, file, changed_at) VALUES (%s, %s, %s)
                 ON CONFLICT (tenant, path) DO NOTHING RETURNING 1"""
        if not fetch(db, sql, (path, data, to_int(self._clock.now()))):
            raise Conflict(f"{path} exists already")

    def _make_folders(self, db: Connection, path: str) -> None:
        """Create the folders above a path, from that of the notebook on."""
        folders = [f"{above}/" for above in map(str, PurePosixPath(path).parents) if above != "."]
        sql = """INSERT INTO files (path, file) SELECT path, '' FROM unnest(%s::text[]) f (path)
                 ON CONFLICT (tenant, path) DO NOTHING"""
        db.execute(sql, (folders,))

    def _move(self, db: Connection, path: str, target: str) -> None:
        """Give a note or folder, and what is in it, another path. The folder above stays."""
        self._make_folders(db, path)
        sql = """UPDATE files
                 SET path = %(target)s::text || substr(path, length(%(path)s::text) + 1)
                 WHERE path = %(path)s OR path ^@ %(folder)s
                 RETURNING substr(path, length(%(target)s::text) + 1)"""
        rows = fetch(db, sql, {"path": path, "target": target, "folder": f"{path}/"})
        moved = [path + rest for (rest,) in rows] + [target + rest for (rest,) in rows]
        self._store.documents.update_paths(moved)

    def _find_free_path(self, db: Connection, prefix: str, suffix: str) -> str:
        """Return a free path with the current time, or later: the clock may have been set back."""
        at = self._clock.now()
        sql = "SELECT 1 FROM files WHERE path = %(path)s OR path ^@ (%(path)s::text || '/')"
        while fetch(db, sql, {"path": f"{prefix}{at:{_STAMP}}{suffix}"}):
            at += timedelta(microseconds=1)
        return f"{prefix}{at:{_STAMP}}{suffix}"

    def _resolve(self, path: str) -> str:
        """Return a path relative to the vault."""
        return str(PurePosixPath(self._folder, path))
