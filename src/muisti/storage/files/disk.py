"""Durable file operations.

All changes to the disk go through one `Disk`, which calls `step` before each of them. Tests use a
disk that fails or dies at the k-th step, and so try every crash point.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Self

from muisti import filesystem
from muisti.errors import (
    VaultError,
    VaultFull,
    VaultNotFound,
    VaultNotTrusted,
    VaultReadOnly,
    VaultUnusable,
)
from muisti.filesystem import LINK, Tree, UnsafeFile

if TYPE_CHECKING:
    from muisti.atomic_rename import Folder

TOGETHER = 16
"""From this many new files on, they are synced with one call where the system can."""
SYNC_THREADS = 8
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Translate errors of the operating system into VaultError and its subclasses."""
    try:
        yield
    except UnsafeFile as error:
        raise VaultUnusable(str(error)) from error
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
        if error.errno in (errno.EMFILE, errno.ENFILE):
            fix = "close other programs, or raise the limit of open files (`ulimit -n`)"
            raise VaultError(f"{path}: {reason}; {fix}") from error
        raise VaultError(f"{path}: {reason}; check the disk, then try again") from error


def escape_path(path: str) -> str:
    """Return a path as text: bytes that are not UTF-8 become backslash escapes, for messages."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


class ConfinedDisk:
    """Writes many files at once. Below the folders in `trees` it follows no links."""

    trees: tuple[Tree, ...] = ()

    def confine(self, root: Path) -> Self:
        """Follow no links below this folder from now on. Raises UnsafeFile where there is one."""
        if all(tree.root != root for tree in self.trees):
            self.trees = (Tree(root), *self.trees)
        return self

    def step(self, what: str, path: Path) -> None:
        """Do nothing. Called before each change; tests override it."""

    def tree(self, path: Path) -> Tree:
        """Return the tree of a path: a confined folder, or else only the path's own folder."""
        for tree in self.trees:
            if path.parts[: len(tree.root.parts)] == tree.root.parts:
                return tree
        return Tree(path.parent)

    def _enter(self, path: Path) -> AbstractContextManager[tuple[str, Folder]]:
        """Open the folder of a path: a vault's own folder is entered from the one that it is in."""
        tree = self.tree(path)
        is_root = len(path.parts) == len(tree.root.parts)
        return (Tree(path.parent) if is_root else tree).enter(path)

    @contextmanager
    def _enter_for(self, folder: Path, names: Iterable[str]) -> Iterator[tuple[str, Folder]]:
        """Open a folder once for many names in it. Yield what comes before a name, and the folder.

        Nothing comes before it, except where names cannot be relative to an open folder.
        """
        name = next(iter(names))
        with self._enter(folder / name) as (first, opened):
            yield first.removesuffix(name), opened

    def _write_all(self, fd: int, data: bytes, path: Path) -> None:
        view = memoryview(data)
        while view:
            self.step("write", path)
            view = view[os.write(fd, view) :]

    def write_all(self, folder: Path, files: Mapping[str, bytes]) -> list[os.stat_result]:
        """Create files in a folder, by name, and sync them. Return the status of each.

        On failure, the caller removes what was written: no sync is repeated on a descriptor.
        """
        system, tree = filesystem.system, self.tree(folder)
        paths = {name: folder / name for name in files}
        create = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.no_follow
        sync = system.sync_access | system.no_follow | system.never_wait
        statuses = []
        with self._enter_for(folder, files) as (before, opened), ExitStack() as stack:
            whole = None
            if len(files) >= TOGETHER and opened is not None:
                # Opened before a file is written: it then gets to know of every error.
                whole = system.open(".", os.O_RDONLY | system.folder_only, opened)
                stack.callback(os.close, whole)
            for name, data in files.items():
                self.step("create", paths[name])
                fd = system.open(before + name, create, opened)
                try:
                    self._write_all(fd, data, paths[name])
                    statuses.append(os.fstat(fd))
                finally:
                    os.close(fd)
            if whole is not None:
                self.step("fsync", folder)
                if system.sync_all(whole):
                    return statuses
            from concurrent.futures import ThreadPoolExecutor  # slow to import

            for path in paths.values():
                self.step("fsync", path)

            def sync_file(name: str) -> None:
                fd = system.open(before + name, sync, opened)
                try:
                    tree.check_regular(paths[name], os.fstat(fd))
                    system.sync(fd)
                finally:
                    os.close(fd)

            try:
                # The disk takes about as long for several files at once as for one.
                with ThreadPoolExecutor(min(len(files), SYNC_THREADS)) as pool:
                    list(pool.map(sync_file, files))  # raises the first error
            except RuntimeError:  # no threads: the interpreter shuts down, or there are too many
                for name in files:
                    sync_file(name)
        return statuses

    def discard_all(self, folder: Path, names: Sequence[str]) -> None:
        """Remove temporary files of a folder in this order; ignores errors."""
        if not names:
            return
        with suppress(OSError), self._enter_for(folder, names) as (before, opened):
            for name in names:
                with suppress(OSError):
                    self.step("remove", folder / name)
                    filesystem.system.unlink(before + name, opened)


class Disk(ConfinedDisk):
    """Changes files on the real disk."""

    def write_new(self, path: Path, data: bytes) -> os.stat_result:
        """Create a file that must not exist yet, and sync it. On failure nothing remains.

        Return its status.
        """
        return self._create(path, data, synced=True)

    def write_unsynced(self, path: Path, data: bytes) -> None:
        """Create a file that must not exist yet, without syncing it. On failure nothing remains."""
        self._create(path, data, synced=False)

    def _create(self, path: Path, data: bytes, *, synced: bool) -> os.stat_result:
        self.step("create", path)
        with self._enter(path) as (name, folder):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            fd = filesystem.system.open(name, flags | filesystem.system.no_follow, folder)
        try:
            try:
                self._write_all(fd, data, path)
                if synced:
                    self.step("fsync", path)
                    filesystem.system.sync(fd)
                return os.fstat(fd)
            finally:
                os.close(fd)
        except BaseException:
            self.discard(path)
            raise

    def sync_folder(self, path: Path) -> None:
        """Sync a folder's entries."""
        self.step("fsync", path)
        tree = self.tree(path)
        if tree in self.trees:
            tree.sync_folder(path)
        else:
            filesystem.sync_folder(path)

    def publish(self, temporary: Path, final: Path, *, keep: bool = False) -> None:
        """Give a finished file its name; `keep` keeps the temporary name too.

        Raises FileExistsError instead of overwriting a file.
        """
        self.step("publish", final)
        system = filesystem.system
        try:
            with self._enter(temporary) as old, self._enter(final) as new:
                system.link(*old, *new)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if self.tree(final).exists(final):
                raise FileExistsError(errno.EEXIST, "exists", str(final)) from None
            with self._enter(temporary) as old, self._enter(final) as new:
                system.rename(*old, *new)
        else:
            if not keep:
                self.discard(temporary)

    def publish_all(self, folder: Path, files: Mapping[str, Path]) -> None:
        """Give files of a folder, by name, their final name as well. Each is `publish` with keep.

        The folders are opened once for all files in a row that go to the same one.
        """
        link = filesystem.system.link
        for above, group in groupby(files, key=lambda name: files[name].parent):
            names = list(group)
            with (
                self._enter_for(folder, names) as (before, opened),
                self._enter_for(above, [files[name].name for name in names]) as (at, target),
            ):
                for name in names:
                    self.step("publish", files[name])
                    try:
                        link(before + name, opened, at + files[name].name, target)
                    except OSError as error:
                        if error.errno not in _NO_LINKS:
                            raise
                        self.publish(folder / name, files[name], keep=True)

    def replace(self, temporary: Path, final: Path) -> None:
        """Replace a file with a finished one atomically, and keep its permissions."""
        self.step("replace", final)
        replaced = self.tree(final).lstat(final)
        with self._enter(temporary) as (name, folder), self._enter(final) as new:
            if replaced is not None and stat.S_ISREG(replaced.st_mode):
                filesystem.system.chmod(name, stat.S_IMODE(replaced.st_mode), folder)
            filesystem.system.rename(name, folder, *new)

    def exchange(self, temporary: Path, final: Path) -> None:
        """Replace a file as `replace` does, but keep the displaced file under the temporary name.

        Raises FileNotFoundError if there is no file to replace.
        """
        self.step("replace", final)
        system = filesystem.system
        with self._enter(temporary) as mine, self._enter(final) as theirs:
            status = system.lstat(*theirs)
            if stat.S_ISREG(status.st_mode):
                system.chmod(mine[0], stat.S_IMODE(status.st_mode), mine[1])
            if system.exchange(*mine, *theirs):
                return
            # Not atomic: a file that takes the name between these two calls is lost.
            displaced = f"{mine[0]}-displaced", mine[1]
            try:
                system.link(*theirs, *displaced)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                data, _ = self.tree(final).read(final, status.st_size)
                self.write_unsynced(temporary.with_name(f"{temporary.name}-displaced"), data)
            system.rename(*mine, *theirs)
            system.rename(*displaced, *mine)

    def move(self, source: Path, target: Path) -> None:
        """Rename a file. Raises FileExistsError if the new name is taken."""
        self.step("move", target)
        with self._enter(source) as old, self._enter(target) as new:
            if filesystem.system.rename_new(*old, *new):
                return
        if self.tree(target).exists(target):
            raise FileExistsError(errno.EEXIST, "exists", str(target))
        with self._enter(source) as old, self._enter(target) as new:
            filesystem.system.rename(*old, *new)

    def remove(self, path: Path) -> None:
        """Remove one file."""
        self.step("remove", path)
        with self._enter(path) as (name, folder):
            filesystem.system.unlink(name, folder)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        with self._enter(path) as (name, folder):
            filesystem.system.rmdir(name, folder)
        tree = self.tree(path)
        if path != tree.root:
            tree.folders.release(tree.split(path))

    def discard(self, path: Path) -> None:
        """Remove a temporary file; ignores errors."""
        with suppress(OSError):
            self.remove(path)

    def make_folder(self, path: Path) -> None:
        """Create a folder and its missing parents, durably. Raises UnsafeFile for a link."""
        tree = self.tree(path)
        is_inside = tree in self.trees and path != tree.root
        if tree.is_folder(path) if is_inside else path.is_dir():
            return
        self.make_folder(path.parent)
        self.step("mkdir", path)
        with suppress(FileExistsError), self._enter(path) as (name, folder):
            filesystem.system.mkdir(name, folder)
        if is_inside:
            tree.folders.release(tree.split(path))
            with tree.scan(path):  # raises if it is a link or a file
                pass
        self.sync_folder(path.parent)

    def append(self, path: Path, data: bytes, *, durable: bool) -> os.stat_result:
        """Append bytes to a file, which is created if missing. Durable: sync it.

        Return its status after that.
        """
        self.step("append", path)
        fd, status = self.tree(path).open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            try:
                self._write_all(fd, data, path)
                if durable:
                    self.step("fsync", path)
                    filesystem.system.sync(fd)
                return os.fstat(fd)
            except OSError:
                # Undo a partial write: the next writer must not append to half a line.
                with suppress(OSError):
                    os.ftruncate(fd, status.st_size)
                raise
        finally:
            os.close(fd)

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file off at this size."""
        self.step("truncate", path)
        fd, _ = self.tree(path).open(path, os.O_WRONLY)
        try:
            os.ftruncate(fd, size)
        finally:
            os.close(fd)


class ReadOnlyDisk(Disk):
    """Refuses every change, even one that the operating system would allow."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def step(self, what: str, path: Path) -> None:
        """Raise VaultReadOnly."""
        index = self._root / ".muisti"
        if os.path.islink(index):
            raise VaultReadOnly(f"{index} {LINK}; until then only searching works")
        raise VaultReadOnly(
            f"{self._root} is not writable for this user, or has the setting read_only: "
            "searching works, saving does not"
        )


class UntrustedDisk(ReadOnlyDisk):
    """Refuses every change of a vault that is not trusted (contract K6)."""

    def step(self, what: str, path: Path) -> None:
        """Raise VaultNotTrusted."""
        raise VaultNotTrusted(
            f"{self._root} is not trusted, so nothing is written into it; "
            f"if it is yours, run `muisti trust {self._root}`"
        )
