"""Connections to the current index file.

Each build of the index is a file of its own, `index-XXXX.db`; the small file `current` names the one in
use. A rebuild makes a new file and moves the pointer: readers of the old one go on undisturbed until
their next call, and no two databases ever share a write-ahead log.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

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
from muisti.model import KINDS, RATES, Filter, Kind, Sector
from muisti.storage.clock import SystemClock
from muisti.storage.sqlite.filters import Condition, build_condition
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.migrations import NEWEST
from muisti.storage.sqlite.rows import to_int
from muisti.storage.sqlite.salience_sql import RECORDED, salience_sql

if TYPE_CHECKING:
    from muisti.ports import Clock

OLDEST_SQLITE = (3, 51, 3)
"""Earlier ones can lose committed writes when several processes use a write-ahead log."""
POINTER = "current"
COMPLETE = 0x6D756973
"""The `application_id` of an index that has been filled once. A process may die between making one and filling it."""
_NAME = re.compile(r"index-[0-9a-f]{8}\.db")


@contextmanager
def sqlite_errors() -> Iterator[None]:
    """Translate SQLite's errors into ours."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise IndexBusy(
            "another process holds the index; the files are safe, try again in a moment"
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
        # The first thing that needs space when an index is opened.
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            raise VaultFull("the disk is full; free some space, the files are intact") from error
        raise IndexProblem(
            f"the index cannot be used ({error}); check the folder .muisti"
        ) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "text", error.object[error.start], "half of a surrogate pair is no text; remove it"
        ) from error
    except apsw.SQLError as error:
        # A damaged schema page shows as a missing table or as text that is no SQL.
        if any(
            sign in str(error)
            for sign in ("malformed", "no such", "unsupported file format", "fts5 file format")
        ):
            raise IndexCorrupt(
                f"the index is damaged ({error}); `muisti reindex` rebuilds it"
            ) from error
        raise
    except OSError as error:  # of the files that are moved and removed around SQLite
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise VaultFull("the disk is full; free some space, the files are intact") from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise VaultReadOnly(f"the index cannot be written ({error})") from error
        raise IndexProblem(
            f"the index cannot be used ({error}); check the folder .muisti"
        ) from error


def connect(path: Path, timeout: float, *, make: bool = True) -> apsw.Connection:
    """Open an existing or, unless told not to, a new index file. Raises IndexProblem."""
    if tuple(int(part) for part in apsw.sqlite_lib_version().split(".")) < OLDEST_SQLITE:
        raise IndexProblem(
            f"SQLite {apsw.sqlite_lib_version()} is too old to be safe: pip install --upgrade apsw"
        )
    db = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if make else 0)
    )
    db.set_busy_timeout(int(timeout * 1000))
    db.pragma("journal_mode", "wal")
    db.pragma(
        "synchronous", "normal"
    )  # a power cut may take the last rows; the next open reads them from the files
    db.pragma("secure_delete", True)
    db.pragma("temp_store", "memory")
    db.pragma("cache_size", -16_000)
    return db


class Database:
    """The current index file with its connections: one for writing, as many for reading as there are threads."""

    def __init__(
        self,
        folder: Path,
        timeout: float,
        clock: Clock | None = None,
        kinds: Mapping[str, Kind] = KINDS,
        rates: Mapping[Sector, float] = RATES,
    ) -> None:
        self._folder = folder
        self._timeout = timeout
        self._clock = clock or SystemClock()
        self.salience = salience_sql(kinds, rates)
        self.salience_recorded = salience_sql(kinds, rates, now=RECORDED)
        """At the time up to which decay was recorded."""
        self._guard = threading.RLock()
        self._held = threading.local()
        self._idle: list[apsw.Connection] = []
        self._writer: apsw.Connection | None = None
        self._pointer: tuple[int, int] | None = None
        self._complete = False
        self.path: Path | None = None

    def is_current(self) -> bool:
        """Whether the open file is the one that the pointer names."""
        return self._pointer is not None and _stamp(self._folder / POINTER) == self._pointer

    def open(self) -> bool:
        """Follow the pointer, past a damaged index to a new one. True if the index has not been filled yet."""
        with self._guard:
            if not self.is_current():
                self.close()
                target = _target(self._folder)
                try:
                    self._follow(target) if target else self._make()
                except IndexCorrupt:
                    self.quarantine()
                    self._make()
            return not self._complete

    def open_complete(self) -> bool:
        """Follow the pointer to an index that is complete and of today's form. Needs no lock. False if there is none such."""
        with self._guard:
            if self.is_current():
                return self._complete
            pointer, target = _stamp(self._folder / POINTER), _target(self._folder)
            if target is None:
                return False
            try:
                with sqlite_errors():
                    writer = connect(target, self._timeout, make=False)
            except (IndexProblem, VaultError):
                return False
            try:
                with sqlite_errors():
                    usable = (
                        writer.pragma("user_version") == NEWEST
                        and writer.pragma("application_id") == COMPLETE
                    )
            except (IndexProblem, VaultError):
                usable = False
            if not usable or pointer != _stamp(self._folder / POINTER):
                writer.close()
                return False
            self.close()
            self._writer, self.path, self._pointer, self._complete = writer, target, pointer, True
            return True

    def _make(self) -> None:
        with sqlite_errors():
            made = self.build_path()
            db = connect(made, self._timeout)
            migrate(db)
            db.close()
        self.adopt(made)

    def mark_complete(self) -> None:
        """Note in the index that it has been filled. If it is busy, whoever opens it next looks once more."""
        with self._guard, suppress(IndexBusy), sqlite_errors():
            if self._writer is not None and not self._complete:
                self._writer.pragma("application_id", COMPLETE)
                self._complete = True

    def _follow(self, target: Path) -> None:
        with sqlite_errors():
            writer = connect(target, self._timeout)
            try:
                migrate(writer)
                self._complete = writer.pragma("application_id") == COMPLETE
            except BaseException:
                writer.close()
                raise
        self._writer, self.path = writer, target
        self._pointer = _stamp(self._folder / POINTER)

    def build_path(self) -> Path:
        """A name for an index that is being built."""
        return self._folder / f"build-{os.getpid()}-{uuid.uuid4().hex[:8]}.db"

    def adopt(self, built: Path) -> None:
        """Make a finished, closed index file the current one, and remove those that nothing points to."""
        with self._guard, sqlite_errors():
            target = built.with_name(f"index-{uuid.uuid4().hex[:8]}.db")
            os.replace(built, target)
            pointer = self._folder / f"{POINTER}-{uuid.uuid4().hex[:8]}"
            pointer.write_text(target.name, "ascii")
            os.replace(pointer, self._folder / POINTER)
            self.close()
            self._follow(target)
            self._sweep("index-*.db*", "build-*.db*")

    def sweep(self) -> None:
        """Remove every index file but the current one, damaged ones that were kept included."""
        self._sweep("index-*.db*", "build-*.db*", "damaged-*", "vectors-*.hnsw")

    def _sweep(self, *patterns: str) -> None:
        if self.path is None:
            return
        for old in (path for pattern in patterns for path in self._folder.glob(pattern)):
            owner = re.match(r"build-(\d+)-", old.name)
            alive = owner is not None and _is_running(int(owner[1]))
            if not old.name.startswith(self.path.name) and not alive:
                with suppress(OSError):
                    old.unlink()

    def quarantine(self) -> None:
        """Keep a damaged file for whoever wants to look at it, and forget it."""
        with self._guard, sqlite_errors():
            damaged = self.path or _target(self._folder)
            self.close()
            (self._folder / POINTER).unlink(missing_ok=True)
            for earlier in self._folder.glob("damaged-*"):
                earlier.unlink(missing_ok=True)
            if damaged is not None and damaged.exists():
                damaged.rename(damaged.with_name(f"damaged-{damaged.name}"))
                for suffix in ("-wal", "-shm"):
                    damaged.with_name(damaged.name + suffix).unlink(missing_ok=True)

    def conditions(self, where: Filter) -> Condition:
        """A filter as SQL."""
        return build_condition(where, self.salience)

    def _connect_reader(self, path: Path) -> apsw.Connection:
        db = connect(path, self._timeout)
        # Called deterministic, so that SQLite asks once for each statement and not for each row.
        db.create_scalar_function("now_us", _moment_of(self._clock), 0, deterministic=True)
        return db

    @contextmanager
    def read_transaction(self) -> Iterator[apsw.Connection]:
        """A connection that sees one consistent state. Within a reading, the same thread goes on reading that state."""
        held: apsw.Connection | None = getattr(self._held, "db", None)
        if held is not None:
            yield held
            return
        with self._guard:
            path = self.path
            db = self._idle.pop() if self._idle else None
        if path is None:
            raise IndexProblem("the index is closed")
        with sqlite_errors():
            self._held.db = db = db or self._connect_reader(path)
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._held.db = None
                if db.in_transaction:
                    db.execute("ROLLBACK")
                with self._guard:
                    if self.path == path and len(self._idle) < 8:
                        self._idle.append(db)
                    else:
                        db.close()

    @contextmanager
    def write_transaction(self) -> Iterator[apsw.Connection]:
        """The writing connection inside a transaction that is committed at the end, or undone."""
        with self._guard, sqlite_errors():
            if self._writer is None:
                raise IndexProblem("the index is closed")
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def vacuum(self) -> None:
        """Write every page anew: SQLite zeroes what is deleted, but not the copies it left when it moved rows about."""
        with self._guard, sqlite_errors():
            if self._writer is not None:
                self._writer.execute("VACUUM")

    def checkpoint(self) -> bool:
        """Empty the write-ahead log into the database. False if a reader was in the way."""
        with self._guard, sqlite_errors():
            if self._writer is None:
                return False
            busy, _, _ = next(iter(self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
            return not busy

    def size(self) -> int:
        """Bytes on disk."""
        path = self.path
        if path is None:
            return 0
        return sum(
            s.stat().st_size for s in (path, path.with_name(path.name + "-wal")) if s.exists()
        )

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            for db in (*self._idle, *([self._writer] if self._writer else [])):
                with suppress(apsw.Error):
                    db.close()
            self._idle, self._writer, self._pointer, self.path = [], None, None, None


def _moment_of(clock: Clock) -> Callable[..., int | None]:
    return lambda *_: to_int(clock.now())


def _stamp(path: Path) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        status = path.stat()
        return status.st_ino, status.st_mtime_ns
    return None


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _target(folder: Path) -> Path | None:
    """The index file that the pointer names, if it is there."""
    with suppress(FileNotFoundError, UnicodeDecodeError):
        name = (folder / POINTER).read_text("ascii").strip()
        if _NAME.fullmatch(name) and (folder / name).is_file():
            return folder / name
    return None
