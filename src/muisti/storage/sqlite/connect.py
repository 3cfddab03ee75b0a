"""Connections to the current index file.

Each build of the index is a separate file, `index-XXXX.db`; the small file `current` (the pointer)
names the one in use. A rebuild creates a new file and changes the pointer. Readers of the old file
continue until their next call, and no two databases share a write-ahead log.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from muisti.errors import (
    IndexBusy,
    IndexCorrupt,
    IndexProblem,
    InvalidRequest,
    VaultError,
    VaultFull,
    VaultReadOnly,
)
from muisti.filesystem import Tree, UnsafeFile
from muisti.model import KINDS, RATES
from muisti.model.salience import IDLE_DAYS
from muisti.processes import is_running
from muisti.storage.clock import SystemClock
from muisti.storage.row_values import to_int
from muisti.storage.salience_sql import salience_sql
from muisti.storage.sqlite.filters import Condition, build_condition
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.migrations import NEWEST
from muisti.storage.sqlite.owner import COMPLETE, IndexOwner
from muisti.storage.sqlite.salience_sql import ARITHMETIC, NOW, RECORDED
from muisti.storage.sqlite.snapshot.keeper import PATTERN, SnapshotKeeper
from muisti.storage.sqlite.validity import Chains

if TYPE_CHECKING:
    from muisti.model import Filter, Kind, Sector
    from muisti.ports import Clock, Words
    from muisti.storage.snapshot.search import SnapshotSearch
    from muisti.storage.snapshot.table import SearchTable

OLDEST_SQLITE = (3, 51, 3)
"""Earlier versions can lose commits if several processes use a write-ahead log."""
POINTER = "current"
_NAME = re.compile(r"index-[0-9a-f]{8}\.db")
_SIGNS_OF_DAMAGE = (
    "malformed",
    "no such",
    "already exists",
    "duplicate column",
    "has no column",
    "values were supplied",
    "unsupported file format",
    "fts5 file format",
)


@contextmanager
def sqlite_errors() -> Iterator[None]:
    """Translate SQLite and OS errors into IndexProblem, VaultError or InvalidRequest."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise IndexBusy(
            "the index is locked by another process; the files are safe, try again"
        ) from error
    except (
        apsw.CorruptError,
        apsw.NotADBError,
        apsw.ConstraintError,
        apsw.MismatchError,
        UnicodeDecodeError,
    ) as error:
        raise IndexCorrupt(
            f"the index is damaged ({error}); `muisti reindex` rebuilds it from the files"
        ) from error
    except apsw.FullError as error:
        raise VaultFull("the disk is full; free some space, the files are intact") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise VaultReadOnly(f"the index cannot be written ({error})") from error
    except (apsw.CantOpenError, apsw.IOError) as error:
        # Creating this file is the first write when an index is opened.
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            raise VaultFull("the disk is full; free some space, the files are intact") from error
        raise IndexProblem(
            f"the index cannot be used ({error}); check the folder .muisti"
        ) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "text", error.object[error.start], "contains half of a surrogate pair; remove it"
        ) from error
    except apsw.SQLError as error:
        # A damaged schema, or one of another version than it says, shows as a missing table or
        # column, as one that exists already, or as invalid SQL.
        if any(sign in str(error) for sign in _SIGNS_OF_DAMAGE):
            raise IndexCorrupt(
                f"the index is damaged ({error}); `muisti reindex` rebuilds it"
            ) from error
        raise
    except OSError as error:  # from moving and removing index files
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise VaultFull("the disk is full; free some space, the files are intact") from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise VaultReadOnly(f"the index cannot be written ({error})") from error
        raise IndexProblem(
            f"the index cannot be used ({error}); check the folder .muisti"
        ) from error


def connect(path: Path, timeout: float, *, make: bool = True) -> apsw.Connection:
    """Open an index file; with `make`, create it if it is missing. Raises IndexProblem."""
    if tuple(int(part) for part in apsw.sqlite_lib_version().split(".")) < OLDEST_SQLITE:
        raise IndexProblem(
            f"SQLite {apsw.sqlite_lib_version()} is too old; run pip install --upgrade apsw"
        )
    db = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if make else 0)
    )
    db.set_busy_timeout(int(timeout * 1000))
    # Without this, SQLite plans a statement again for each value, as a partial index may fit it.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    db.pragma("journal_mode", "wal")
    # A power cut may lose the last rows; the next sync reads them from the files again.
    db.pragma("synchronous", "normal")
    db.pragma("secure_delete", True)
    db.pragma("temp_store", "memory")
    db.pragma("cache_size", -16_000)
    return db


def connect_immutable(path: Path) -> apsw.Connection:
    """Open an index file that has no space beside it for a write-ahead log, only to read.

    Raises VaultFull if there is a log that would have to be read too.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise VaultFull("the disk is full, and the index was not closed; free some space")
    uri = f"{path.absolute().as_uri()}?immutable=1"
    db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.pragma("temp_store", "memory")
    db.pragma("cache_size", -16_000)
    return db


class Held(threading.local):
    """What a thread holds during a read transaction."""

    db: apsw.Connection | None = None
    chains: Chains
    rows: dict[str, tuple[Sequence[Any], Words | None]]
    """Memories as `decode_memory` takes them, and their words, which this transaction has read."""
    table: SearchTable | None = None
    has_table = False  # whether `table` was looked for
    search: SnapshotSearch | None = None
    reads_with_writer = False
    """Whether reads use the connection for writing."""

    def find_replaced_at(self, *values: Any) -> int | None:
        """Return when a memory was replaced: the SQL function `replaced_at(id, known_at)`."""
        return self.chains.find_replaced_at(*values)

    def add_functions(self, db: apsw.Connection, clock: Clock) -> None:
        """Define the SQL functions that statements for reading use."""
        # "deterministic" makes SQLite call it once per statement, not per row.
        db.create_scalar_function("now_us", lambda *_: to_int(clock.now()), 0, deterministic=True)
        db.create_scalar_function("replaced_at", self.find_replaced_at, 2)

    @contextmanager
    def hold(self, db: apsw.Connection) -> Iterator[None]:
        """Read with a connection in a transaction."""
        self.db, self.chains, self.rows = db, Chains(db), {}
        try:
            db.execute("BEGIN")
            yield
        finally:
            self.db = self.table = self.search = None
            self.has_table = False
            del self.chains, self.rows
            if db.in_transaction:
                db.execute("ROLLBACK")


class Database:
    """The current index file: one connection for writing, one for each reading thread."""

    def __init__(
        self,
        folder: Path,
        timeout: float,
        clock: Clock | None = None,
        kinds: Mapping[str, Kind] = KINDS,
        rates: Mapping[Sector, float] = RATES,
        identify_vault: Callable[[], int] | None = None,
        grace_days: float = IDLE_DAYS,
        *,
        background: bool = False,
    ) -> None:  # shape: one argument for each setting
        """`background`: build search snapshots in a thread when they are due."""
        self._folder = folder
        self._pointer_path = folder / POINTER
        self.snapshots = SnapshotKeeper(folder, self, background=background)
        self.scans_vectors = True
        """Whether vectors are searched by a scan of their signs, as a snapshot does."""
        self.owner = IndexOwner(identify_vault)
        self.timeout = timeout
        self._clock = clock or SystemClock()
        self.salience = salience_sql(ARITHMETIC, kinds, rates, NOW, grace_days)
        self.salience_recorded = salience_sql(ARITHMETIC, kinds, rates, RECORDED, grace_days)
        """The SQL expression for the salience at the time up to which decay was recorded."""
        self._writing = threading.RLock()
        """Held while the connection for writing is used. Taken before `_guard`."""
        self._guard = threading.RLock()
        """Held for a moment, to take or put back a connection for reading, and while all change."""
        self.held = Held()
        self._idle: list[apsw.Connection] = []
        self._writer: apsw.Connection | None = None
        self._pointer: tuple[int, int] | None = None
        self._complete = False
        self._immutable = False
        """Whether the disk is so full that the file was opened without a log. Only for reading, and
        for one call: others may write.
        """
        self.moved = False
        """Whether the open file was filled from another folder: from this vault before it was moved
        or copied, or from another vault.
        """
        self.path: Path | None = None

    def is_current(self) -> bool:
        """Return whether the open file is the one that the pointer names."""
        if self._pointer is None or self._immutable:
            return False
        return _read_stamp(self._pointer_path) == self._pointer

    def open(self) -> bool:
        """Open the current file, or a new one if it is missing or damaged.

        Return whether the index must be filled.
        """
        with self._writing, self._guard:
            if not self.is_current():
                target = _read_pointer(self._folder)
                if not self._immutable or target is None:
                    self.close()  # else other threads read from it until there is a better one
                try:
                    self._open_file(target) if target else self._make()
                except IndexCorrupt:
                    self.quarantine()
                    self._make()
            return not self._complete

    def open_complete(self) -> bool:
        """Open the current file if it is complete and has the latest schema. Needs no lock.

        Return whether it is open.
        """
        with self._writing, self._guard:
            if self.is_current():
                return self._complete
            pointer, target = _read_stamp(self._folder / POINTER), _read_pointer(self._folder)
            if target is None:
                return False
            immutable = False
            try:
                try:
                    with sqlite_errors():
                        writer = connect(target, self.timeout, make=False)
                except VaultFull:
                    with sqlite_errors():
                        writer = connect_immutable(target)
                    immutable = True
            except (IndexProblem, VaultError):
                return False
            try:
                with sqlite_errors():
                    usable = (
                        writer.pragma("user_version") == NEWEST
                        and writer.pragma("application_id") == COMPLETE
                        and self.owner.owns(writer)
                    )
            except (IndexProblem, VaultError):
                usable = False
            if not usable or pointer != _read_stamp(self._folder / POINTER):
                writer.close()
                return False
            self.close()
            self.held.add_functions(writer, self._clock)
            self._writer, self.path, self._pointer, self._complete = writer, target, pointer, True
            self.moved, self._immutable = False, immutable
            return True

    def accept(self) -> None:
        """Use a file that was filled from another folder: it is of this vault."""
        with self._writing, self._guard:
            self.owner.accepted = self.path
            self.mark_complete()
            self._complete, self.moved = True, False  # also if that could not be written

    def _make(self) -> None:
        with sqlite_errors():
            made = self.build_path()
            db = connect(made, self.timeout)
            migrate(db)
            db.close()
        self.adopt(made)

    def mark_complete(self) -> None:
        """Mark the index as filled from this vault.

        If it is busy or the disk is full, the next process that opens it syncs again.
        """
        with self._writing, suppress(IndexBusy, VaultFull), sqlite_errors():
            if self._writer is not None and not self._complete:
                self.owner.stamp(self._writer)
                self._complete, self.moved = True, False

    def _open_file(self, target: Path) -> None:
        with sqlite_errors():
            writer = connect(target, self.timeout)
            try:
                migrate(writer)
                is_filled = writer.pragma("application_id") == COMPLETE
                self.moved = is_filled and not self.owner.owns(writer)
                self._complete = is_filled and not self.moved
            except BaseException:
                writer.close()
                raise
        self.close()
        self.held.add_functions(writer, self._clock)
        self._writer, self.path, self._immutable = writer, target, False
        self._pointer = _read_stamp(self._folder / POINTER)

    def build_path(self) -> Path:
        """Return a path for a new index. It names this process, so that others keep the file."""
        return self._folder / f"build-{os.getpid()}-{os.urandom(4).hex()}.db"

    def adopt(self, built: Path) -> None:
        """Make a finished, closed index file the current one and delete the others."""
        with self._writing, self._guard, sqlite_errors():
            target = built.with_name(f"index-{os.urandom(4).hex()}.db")
            os.replace(built, target)
            pointer = self._folder / f"{POINTER}-{os.urandom(4).hex()}"
            pointer.write_text(target.name, "ascii")
            os.replace(pointer, self._folder / POINTER)
            self.close()
            self._open_file(target)
            self._sweep("index-*.db*", "build-*.db*", PATTERN)

    def sweep(self) -> None:
        """Delete all index files but the current one, including quarantined ones."""
        self._sweep("index-*.db*", "build-*.db*", "damaged-*", "vectors-*.hnsw")

    def _sweep(self, *patterns: str) -> None:
        if self.path is None:
            return
        for pattern in patterns:
            for old in self._folder.glob(pattern):
                owner = re.match(r"build-(\d+)-", old.name)
                in_use = owner is not None and is_running(int(owner[1]))
                if not old.name.startswith(self.path.name) and not in_use:
                    with suppress(OSError):
                        old.unlink()

    def quarantine(self) -> None:
        """Rename a damaged index file, so that it can be inspected, and remove the pointer."""
        with self._writing, self._guard, sqlite_errors():
            damaged = self.path or _read_pointer(self._folder)
            self.close()
            (self._folder / POINTER).unlink(missing_ok=True)
            for earlier in self._folder.glob("damaged-*"):
                earlier.unlink(missing_ok=True)
            if damaged is not None and damaged.exists():
                damaged.rename(damaged.with_name(f"damaged-{damaged.name}"))
                for suffix in ("-wal", "-shm"):
                    damaged.with_name(damaged.name + suffix).unlink(missing_ok=True)

    def conditions(self, where: Filter) -> Condition:
        """Return the SQL condition for a filter."""
        return build_condition(where, self.salience)

    @contextmanager
    def read_with_writer(self) -> Iterator[None]:
        """Within the context, this thread reads with the connection for writing.

        A write empties the page cache of all other connections. So a change that is decided by
        what the index has reads a hundred pages less. Other threads wait to write meanwhile.
        """
        before = self.held.reads_with_writer
        self.held.reads_with_writer = True
        try:
            yield
        finally:
            self.held.reads_with_writer = before

    @contextmanager
    def read_transaction(self) -> Iterator[apsw.Connection]:
        """Yield a connection that sees one state. Nested calls of a thread share it."""
        if self.held.db is not None:
            yield self.held.db
            return
        if self.held.reads_with_writer:
            with self._writing:
                writer = self._writer
                if writer is not None and not writer.in_transaction:
                    with sqlite_errors(), self.held.hold(writer):
                        yield writer
                    return
        with self._guard:
            path = self.path
            db = self._idle.pop() if self._idle else None
        if path is None:
            raise IndexProblem("the index is closed")
        with sqlite_errors():
            if db is None:
                db = connect_immutable(path) if self._immutable else connect(path, self.timeout)
                self.held.add_functions(db, self._clock)
            try:
                with self.held.hold(db):
                    yield db
            finally:
                with self._guard:
                    if self.path == path and len(self._idle) < 8:
                        self._idle.append(db)
                    else:
                        db.close()

    @contextmanager
    def write_transaction(self) -> Iterator[apsw.Connection]:
        """Yield the write connection in a transaction: committed at the end, or rolled back."""
        with self._writing, sqlite_errors():
            if self._writer is None:
                raise IndexProblem("the index is closed")
            if self._immutable:
                raise VaultFull("the disk is full; free some space, the files are intact")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def checkpoint(self, *, rewrite: bool = False) -> bool:
        """Move the write-ahead log into the database. Return False if a reader prevented it."""
        with self._writing, sqlite_errors():
            if self._writer is None:
                return False
            if rewrite:  # SQLite zeroes deleted rows, but not copies left by moving rows
                self._writer.execute("VACUUM")
            busy, _, _ = next(iter(self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
            return not busy

    def size(self) -> int:
        """Return the size on disk in bytes, with the search snapshot."""
        path = self.path
        if path is None:
            return 0
        files = (path, path.with_name(path.name + "-wal"), *self._folder.glob(PATTERN))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close every connection."""
        with self._writing, self._guard:
            for db in (*self._idle, *([self._writer] if self._writer else [])):
                with suppress(apsw.Error):
                    db.close()
            self._idle, self._writer, self._pointer, self.path = [], None, None, None


def _read_stamp(path: Path) -> tuple[int, int] | None:
    """Return inode and modification time, or None if the file is missing."""
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        return status.st_ino, status.st_mtime_ns
    return None


def _read_pointer(folder: Path) -> Path | None:
    """Return the index file that the pointer names; None if it is missing, or not a file."""
    tree = Tree(folder)
    with suppress(FileNotFoundError, UnicodeDecodeError, UnsafeFile):
        name = tree.read(POINTER, 1000)[0].decode("ascii").strip()
        files = [tree.lstat(name + suffix) for suffix in ("-wal", "-shm")]
        is_safe = all(status is None or stat.S_ISREG(status.st_mode) for status in files)
        if _NAME.fullmatch(name) and tree.is_file(name) and is_safe:
            return folder / name
    return None
