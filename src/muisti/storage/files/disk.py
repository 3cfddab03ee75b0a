"""Durable file operations: every write is whole-old or whole-new.

All changes to the disk go through one `Disk`, which announces each step before it takes it. Tests
bring a disk that fails or dies at the k-th step, and so walk through every crash point.
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
    """Translate what the operating system says into what a person can act on."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise VaultFull(
                f"{path}: {reason}; free some space and try again, nothing was changed"
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise VaultReadOnly(
                f"{path}: {reason}; make it writable for this user to save"
            ) from error
        if error.errno == errno.ENOENT:
            raise VaultNotFound(f"{path}: {reason}; is the vault still there?") from error
        raise VaultError(f"{path}: {reason}") from error


def escape_path(path: str) -> str:
    """A path as text: bytes that are no UTF-8 become escapes with a backslash, which lead nowhere, but can be told of."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


class Disk:
    """The real disk."""

    def step(self, what: str, path: Path) -> None:
        """Called before each change; does nothing here."""

    def write_new(self, path: Path, data: bytes) -> None:
        """Create a file that must not exist yet, and bring its bytes to the disk."""
        self.write_unsynced(path, data)
        try:
            self.sync_file(path)
        except BaseException:
            self.discard(path)
            raise

    def write_unsynced(self, path: Path, data: bytes) -> None:
        """Create a file that must not exist yet. On failure nothing is left behind."""
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
        """Bring a file's bytes to the disk. A failed sync is never repeated on the same descriptor."""
        self._sync(path, os.O_RDONLY)

    def sync_folder(self, path: Path) -> None:
        """Bring a folder's entries to the disk."""
        self._sync(path, os.O_RDONLY | os.O_DIRECTORY)

    def _sync(self, path: Path, flags: int) -> None:
        self.step("fsync", path)
        fd = os.open(path, flags | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def publish(self, temporary: Path, final: Path, *, keep: bool = False) -> None:
        """Give a finished file its name. Raises FileExistsError rather than overwrite. Keep: the old name stays too."""
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
        """Put a finished file in the place of another, in one step."""
        self.step("replace", final)
        with suppress(FileNotFoundError):
            os.chmod(
                temporary, stat.S_IMODE(os.stat(final).st_mode)
            )  # who may read a person's file is theirs to say
        os.replace(temporary, final)

    def move(self, source: Path, target: Path) -> None:
        """Rename to a name that is free."""
        self.step("move", target)
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        """Remove one file."""
        self.step("remove", path)
        os.unlink(path)

    def discard(self, path: Path) -> None:
        """Remove a file of our own that nobody needs; that it is gone already, or stays, does no harm."""
        with suppress(OSError):
            self.remove(path)

    def make_folder(self, path: Path) -> None:
        """Create a folder and what is missing above it, durably."""
        if path.is_dir():
            return
        self.make_folder(path.parent)
        self.step("mkdir", path)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        self.sync_folder(path.parent)

    def append(self, path: Path, data: bytes, *, durable: bool) -> None:
        """Add bytes at the end of a file with one write."""
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
                # Take back what may have been written in part: a half line must not greet the next writer.
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file's tail off."""
        self.step("truncate", path)
        os.truncate(path, size)


class ReadOnlyDisk(Disk):
    """The disk of a vault whose lock cannot be had: nothing is changed, even where the operating system would allow it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def step(self, what: str, path: Path) -> None:
        """Raises VaultReadOnly."""
        raise VaultReadOnly(
            f"{self._root} cannot be written by this user: search works, saving needs write permission"
        )
