"""Durable file operations.

All changes to the disk go through one `Disk`, which calls `step` before each of them. Tests use a
disk that fails or dies at the k-th step, and so try every crash point.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from muisti.errors import VaultError, VaultFull, VaultNotFound, VaultReadOnly

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Translate errors of the operating system into VaultError and its subclasses."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise VaultFull(
                f"{path}: {reason}; nothing was changed, free some space and try again"
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise VaultReadOnly(f"{path}: {reason}; make it writable for this user") from error
        if error.errno == errno.ENOENT:
            raise VaultNotFound(f"{path}: {reason}; is the vault still there?") from error
        raise VaultError(f"{path}: {reason}") from error


def escape_path(path: str) -> str:
    """Return a path as text: bytes that are not UTF-8 become backslash escapes, for messages."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


class Disk:
    """Changes files on the real disk."""

    def step(self, what: str, path: Path) -> None:
        """Do nothing. Called before each change; tests override it."""

    def write_new(self, path: Path, data: bytes) -> None:
        """Create a file that must not exist yet, and sync it."""
        self.write_unsynced(path, data)
        try:
            self.sync_file(path)
        except BaseException:
            self.discard(path)
            raise

    def write_unsynced(self, path: Path, data: bytes) -> None:
        """Create a file that must not exist yet, without syncing it. On failure nothing remains."""
        self.step("create", path)
        fd = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            try:
                self._write_all(fd, data, path)
            finally:
                os.close(fd)
        except BaseException:
            self.discard(path)
            raise

    def _write_all(self, fd: int, data: bytes, path: Path) -> None:
        view = memoryview(data)
        while view:
            self.step("write", path)
            view = view[os.write(fd, view) :]

    def sync_file(self, path: Path) -> None:
        """Sync a file's bytes. A failed sync is never repeated on the same descriptor."""
        self._sync(path, os.O_RDONLY)

    def sync_folder(self, path: Path) -> None:
        """Sync a folder's entries."""
        self._sync(path, os.O_RDONLY | os.O_DIRECTORY)

    def _sync(self, path: Path, flags: int) -> None:
        self.step("fsync", path)
        fd = os.open(path, flags | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def publish(self, temporary: Path, final: Path, *, keep: bool = False) -> None:
        """Give a finished file its name; `keep` keeps the temporary name too.

        Raises FileExistsError instead of overwriting a file.
        """
        self.step("publish", final)
        try:
            os.link(temporary, final, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if os.path.lexists(final):
                raise FileExistsError(errno.EEXIST, "exists", str(final)) from None
            os.rename(temporary, final)
        else:
            if not keep:
                self.discard(temporary)

    def replace(self, temporary: Path, final: Path) -> None:
        """Replace a file with a finished one atomically, and keep its permissions."""
        self.step("replace", final)
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(final).st_mode))
        os.replace(temporary, final)

    def move(self, source: Path, target: Path) -> None:
        """Rename a file. Raises FileExistsError if the new name is taken."""
        self.step("move", target)
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        """Remove one file."""
        self.step("remove", path)
        os.unlink(path)

    def discard(self, path: Path) -> None:
        """Remove a temporary file; ignores errors."""
        with suppress(OSError):
            self.remove(path)

    def make_folder(self, path: Path) -> None:
        """Create a folder and its missing parents, durably."""
        if path.is_dir():
            return
        self.make_folder(path.parent)
        self.step("mkdir", path)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        self.sync_folder(path.parent)

    def append(self, path: Path, data: bytes, *, durable: bool) -> None:
        """Append bytes to a file, which is created if missing. Durable: sync it."""
        self.step("append", path)
        fd = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            size = os.fstat(fd).st_size
            try:
                self._write_all(fd, data, path)
                if durable:
                    self.step("fsync", path)
                    os.fsync(fd)
            except OSError:
                # Undo a partial write: the next writer must not append to half a line.
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file off at this size."""
        self.step("truncate", path)
        os.truncate(path, size)


class ReadOnlyDisk(Disk):
    """Refuses every change, even one that the operating system would allow."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def step(self, what: str, path: Path) -> None:
        """Raise VaultReadOnly."""
        raise VaultReadOnly(
            f"{self._root} is not writable for this user: searching works, saving does not"
        )
