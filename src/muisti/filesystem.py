"""The file system, the same on every platform. No other module opens files with flags of `os`.

A `Tree` is a folder that no path leaves: links below it are not followed, neither the file itself
nor a folder on the way. FIFOs, sockets and devices are not opened, and files that are larger than
the caller expects are not read. Each is an `UnsafeFile`, which names the path and the fix.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path

from muisti.atomic_rename import Folder, exchange_names, rename_exclusive

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_JUNCTION = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 0xA0000003)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
LINK = (
    "is a symbolic link, which muisti does not follow: replace it with the file or folder itself"
    " (docs/vault.md, Links)"
)


class UnsafeFile(OSError):
    """A link, a named pipe, a device or a too large file, where muisti expects a regular one."""

    def __init__(self, code: int, path: str, reason: str) -> None:
        super().__init__(code, reason, path)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class FileSystem:
    """The calls of the operating system. What a platform lacks is left out; tests use a variant."""

    no_follow: int = getattr(os, "O_NOFOLLOW", 0)
    never_wait: int = getattr(os, "O_NONBLOCK", 0)
    """A FIFO that was put in the place of a file after it was checked must not block."""
    folder_only: int = getattr(os, "O_DIRECTORY", 0)
    search: int = getattr(os, "O_PATH", os.O_RDONLY)
    """Enough to look up names in a folder, even in one that cannot be listed."""
    common: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    sync_access: int = os.O_RDWR if os.name == "nt" else os.O_RDONLY
    can_walk: bool = (
        bool(no_follow and folder_only)
        and {os.open, os.stat, os.mkdir, os.rename, os.unlink, os.rmdir, os.link}
        <= os.supports_dir_fd
        and os.scandir in os.supports_fd
    )
    """Whether names can be relative to an open folder, so that nobody can swap in a link."""
    can_sync_folders: bool = os.name != "nt"

    def open(self, name: str, flags: int, folder: Folder = None, mode: int = 0o600) -> int:
        """Open a file and return its descriptor."""
        return os.open(name, flags | self.common, mode, dir_fd=folder)

    def lstat(self, name: str, folder: Folder = None) -> os.stat_result:
        """Return the status of a file, or of a link itself."""
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def mkdir(self, name: str, folder: Folder = None) -> None:
        """Create a folder that only its owner can use."""
        os.mkdir(name, 0o700, dir_fd=folder)

    def rmdir(self, name: str, folder: Folder = None) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=folder)

    def unlink(self, name: str, folder: Folder = None) -> None:
        """Remove a file or a link."""
        os.unlink(name, dir_fd=folder)

    def link(self, name: str, folder: Folder, new: str, new_folder: Folder) -> None:
        """Give a file a second name, which must be free."""
        follow = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=new_folder, **follow)

    def rename(self, name: str, folder: Folder, new: str, new_folder: Folder) -> None:
        """Rename a file; replaces a file with the new name."""
        os.replace(name, new, src_dir_fd=folder, dst_dir_fd=new_folder)

    def rename_new(self, name: str, folder: Folder, new: str, new_folder: Folder) -> bool:
        """Rename a file. Raises FileExistsError if the name is taken; False if not supported."""
        return rename_exclusive(name, folder, new, new_folder)

    def exchange(self, name: str, folder: Folder, other: str, other_folder: Folder) -> bool:
        """Give each of two files the name of the other at once. False if not supported."""
        return exchange_names(name, folder, other, other_folder)

    def chmod(self, name: str, mode: int, folder: Folder = None) -> None:
        """Set the permissions of a file."""
        os.chmod(name, mode, dir_fd=folder)

    def scandir(self, folder: int | str) -> list[os.DirEntry[str]]:
        """Return the entries of a folder."""
        with os.scandir(folder) as entries:
            return list(entries)

    def sync(self, fd: int) -> None:
        """Write a file's bytes to the disk, also past the disk's own cache where needed."""
        full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync leaves them in the disk's cache
        if full is not None:
            with suppress(OSError):  # some file systems do not support it
                fcntl.fcntl(fd, full)
                return
        os.fsync(fd)

    def sync_all(self, folder: int) -> bool:
        """Write all files to the disk of a folder that was opened before. False: do it singly."""
        from muisti.whole_sync import sync_file_system  # only a large batch needs it

        return sync_file_system(folder)


system = FileSystem()


_MOST_HELD = 64
"""Folders that are kept open at once, well below the limit of open files."""


class HeldFolders(threading.local):
    """Folders of a tree that a thread keeps open, for work on many files of a few folders.

    A folder that is replaced by a link meanwhile is not followed: its descriptor stays that of the
    folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[tuple[str, ...], int] | None = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Open each folder only once until the end of the block."""
        if self._known is not None or not system.can_walk:
            yield
            return
        self._known = {}
        try:
            yield
        finally:
            folders, self._known = self._known, None
            for fd in folders.values():
                os.close(fd)

    def open(self, names: tuple[str, ...]) -> int | None:
        """Return the descriptor of a folder; None outside of a block, or if too many are open."""
        known = self._known
        if known is None:
            return None
        fd = known.get(names)
        if fd is None and len(known) < _MOST_HELD:
            if not names:
                fd = system.open(str(self._root), system.search | system.folder_only)
            elif (above := self.open(names[:-1])) is not None:
                fd = _open_folder(names[-1], above, names, system.search)
            if fd is not None:
                known[names] = fd
        return fd

    def release(self, names: Sequence[str]) -> None:
        """Open a folder and those below it again at the next use: it was made or removed."""
        known = self._known or {}
        for below in [one for one in known if one[: len(names)] == tuple(names)]:
            os.close(known.pop(below))


class Tree:
    """A folder, which may be reached through a link itself, and everything below it.

    Paths are relative to the folder, with slashes, or absolute paths below it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._parts = root.parts
        self._depth = len(self._parts)
        self.folders = HeldFolders(root)

    def split(self, path: str | Path) -> Sequence[str]:
        """Return the names on the way to a path. Raises UnsafeFile if it leads elsewhere."""
        if isinstance(path, str):
            names = path.split("/") if path else []
        else:
            parts = path.parts
            if parts[: self._depth] != self._parts:
                raise UnsafeFile(errno.EXDEV, str(path), f"is not in {self.root}")
            names = list(parts[self._depth :])
        if ".." in names or "" in names or (os.name == "nt" and any(map(os.path.isabs, names[:1]))):
            raise UnsafeFile(errno.EXDEV, str(path), f"is not in {self.root}")
        return names

    def enter(self, path: str | Path) -> AbstractContextManager[tuple[str, Folder]]:
        """Open the folder of a path without following a link. Yield the name in it, and the folder.

        Raises UnsafeFile, FileNotFoundError, NotADirectoryError.
        """
        names = self.split(path)
        held = self.folders.open(tuple(names[:-1])) if system.can_walk else None
        if held is not None:
            return nullcontext((names[-1] if names else ".", held))
        return self._walk(names)

    @contextmanager
    def _walk(self, names: Sequence[str]) -> Iterator[tuple[str, Folder]]:
        """Open one folder after the other. Yield the last name, and its folder."""
        if not system.can_walk:
            place = str(self.root)
            for depth in range(1, len(names)):
                place = os.path.join(place, names[depth - 1])
                _check_folder(system.lstat(place), names[:depth])
            yield os.path.join(place, *names[-1:]), None
            return
        folder = system.open(str(self.root), system.search | system.folder_only)
        try:
            for depth, name in enumerate(names[:-1], start=1):
                below = _open_folder(name, folder, names[:depth], system.search)
                os.close(folder)
                folder = below
            yield names[-1] if names else ".", folder
        finally:
            os.close(folder)

    # -- Looking

    def lstat(self, path: str | Path) -> os.stat_result | None:
        """Return the status of a file or of a link itself; None if there is none, or none safe."""
        try:
            with self.enter(path) as (name, folder):
                return system.lstat(name, folder)
        except (FileNotFoundError, NotADirectoryError, UnsafeFile):
            return None

    def exists(self, path: str | Path) -> bool:
        """Return whether there is anything, even a link, below folders that are no links."""
        return self.lstat(path) is not None

    def is_file(self, path: str | Path) -> bool:
        """Return whether there is a regular file."""
        status = self.lstat(path)
        return status is not None and stat.S_ISREG(status.st_mode)

    def is_folder(self, path: str | Path) -> bool:
        """Return whether there is a folder, which is not a link."""
        status = self.lstat(path)
        return status is not None and stat.S_ISDIR(status.st_mode) and not is_link(status)

    @contextmanager
    def scan(self, path: str | Path = "") -> Iterator[list[os.DirEntry[str]]]:
        """Yield the entries of a folder, whose status can be read until the end of the block.

        Raises UnsafeFile for a link, FileNotFoundError, NotADirectoryError.
        """
        with self.enter(path) as (name, folder):
            names = self.split(path)
            if folder is None:
                if names:
                    _check_folder(system.lstat(name), names)
                yield system.scandir(name)
                return
            fd = _open_folder(name, folder, names, os.O_RDONLY)
        try:
            yield system.scandir(fd)
        finally:
            os.close(fd)

    def list_names(self, path: str | Path = "") -> list[str]:
        """Return the sorted names in a folder; none if there is no folder, or it is a link."""
        try:
            with self.scan(path) as entries:
                return sorted(entry.name for entry in entries)
        except (FileNotFoundError, NotADirectoryError, UnsafeFile):
            return []

    def list_files(self, path: str | Path, suffix: str) -> list[str]:
        """Return the sorted names of the regular files with this suffix in a folder."""
        try:
            with self.scan(path) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False)
                )
        except (FileNotFoundError, NotADirectoryError, UnsafeFile):
            return []

    # -- Names as the file system has them

    @cached_property
    def ignores_case(self) -> bool:
        """Whether `Notes` and `notes` are the same folder."""
        with suppress(OSError), self.scan() as entries:
            for entry in entries:
                other = entry.name.swapcase()
                if other != entry.name and other.swapcase() == entry.name:
                    return self._is_same(entry.name, other)
        return False

    def _is_same(self, one: str, other: str) -> bool:
        mine, theirs = self.lstat(one), self.lstat(other)
        return mine is not None and theirs is not None and os.path.samestat(mine, theirs)

    def make_known_name(self, folder: str, name: str) -> str:
        """Return a listed name in form NFC, if the file is found by that too.

        Some file systems list names in another form than the one they were created with.
        """
        composed = name if name.isascii() else unicodedata.normalize("NFC", name)
        if composed == name:
            return name
        prefix = f"{folder}/" if folder else ""
        return composed if self._is_same(prefix + name, prefix + composed) else name

    def find_listed_path(self, path: str) -> str:
        """Return a path with the case in which the file system lists each name that exists."""
        if not self.ignores_case:
            return path
        found: list[str] = []
        for name in self.split(path):
            folded = fold_name(name)
            listed = self.list_names("/".join(found))
            same = [one for one in listed if fold_name(one) == folded]
            known = unicodedata.normalize("NFC", same[0]) if same else name
            found.append(name if name in same else known)
        return "/".join(found)

    # -- Opening

    def open(self, path: str | Path, flags: int) -> tuple[int, os.stat_result]:
        """Open a regular file. Return its descriptor and status.

        Raises UnsafeFile for anything else. Creates a file if the flags say so.
        """
        with self.enter(path) as (name, folder):
            with suppress(FileNotFoundError):
                self.check_regular(path, system.lstat(name, folder))
            try:
                fd = system.open(name, flags | system.no_follow | system.never_wait, folder)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise _make_error(self, errno.ELOOP, path, LINK) from error
                raise
        try:
            status = os.fstat(fd)
            self.check_regular(path, status)
        except BaseException:
            os.close(fd)
            raise
        return fd, status

    def check_regular(self, path: str | Path, status: os.stat_result) -> None:
        """Raise UnsafeFile if a status is not that of a regular file."""
        if stat.S_ISREG(status.st_mode):
            return
        if is_link(status):
            raise _make_error(self, errno.ELOOP, path, LINK)
        for test, kind in _KINDS:
            if test(status.st_mode):
                reason = f"is {kind}, not a regular file: remove it, or move it elsewhere"
                raise _make_error(self, errno.EINVAL, path, reason)

    def read(self, path: str | Path, limit: int) -> tuple[bytes, os.stat_result]:
        """Return a file's bytes and its status. Raises UnsafeFile if it has more than `limit`."""
        fd, status = self.open(path, os.O_RDONLY)
        try:
            size = status.st_size
            data = b"" if size > limit else _read(fd, size + 1)
            if size < len(data) <= limit:  # it grew meanwhile
                data += _read(fd, limit + 1 - len(data))
        finally:
            os.close(fd)
        if status.st_size > limit or len(data) > limit:
            size = max(status.st_size, len(data))
            reason = f"has {size} bytes, the limit is {limit}: make it smaller, or split it"
            raise _make_error(self, errno.EFBIG, path, reason)
        return data, status

    def sync_folder(self, path: str | Path) -> None:
        """Write a folder's entries to the disk."""
        if not system.can_sync_folders:
            return
        with self.enter(path) as (name, folder):
            fd = _open_folder(name, folder, self.split(path), os.O_RDONLY)
            try:
                system.sync(fd)
            finally:
                os.close(fd)


def _read(fd: int, size: int) -> bytes:
    data = os.read(fd, size)
    while data and len(data) < size and (more := os.read(fd, size - len(data))):
        data += more
    return data


def _open_folder(name: str, folder: Folder, names: Sequence[str], access: int) -> int:
    try:
        return system.open(name, access | system.folder_only | system.no_follow, folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            _check_folder(system.lstat(name, folder), names)
        raise


def _check_folder(status: os.stat_result, names: Sequence[str]) -> None:
    if is_link(status):
        raise UnsafeFile(errno.ELOOP, "/".join(names), LINK)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", "/".join(names))


def _make_error(tree: Tree, code: int, path: str | Path, reason: str) -> UnsafeFile:
    return UnsafeFile(code, "/".join(tree.split(path)) or str(tree.root), reason)


def is_link(status: os.stat_result) -> bool:
    """Return whether a status is that of a link, or on Windows of a junction."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def read_file(path: Path, limit: int) -> tuple[bytes, os.stat_result]:
    """Return the bytes and the status of a regular file. Links on the way to it are followed.

    Raises UnsafeFile for a link, a named pipe, a device, and more than `limit` bytes.
    """
    return Tree(path.parent).read(path.name, limit)


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, or create it if the flags say so. Raises UnsafeFile, as `read_file`."""
    return Tree(path.parent).open(path.name, flags)[0]


def open_to_lock(path: Path) -> int:
    """Open a file to lock it; creates it if it is missing."""
    return open_file(path, os.O_RDWR | os.O_CREAT)


def open_to_append(path: Path) -> int:
    """Open a file to append to it; creates it if it is missing."""
    return open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def create_file(path: Path, mode: int = 0o600) -> int:
    """Create a file that must not exist yet, and open it for writing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.no_follow
    return system.open(str(path), flags, None, mode)


def sync_folder(path: Path) -> None:
    """Write a folder's entries to the disk. The folder may be reached through a link."""
    Tree(path).sync_folder("")


def is_occupied(path: Path) -> bool:
    """Return whether there is something other than a folder. A link is not followed."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


_RESERVED = r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|\Z)"


def is_portable_name(name: str) -> bool:
    """Return whether every file system can have a file or folder of this name."""
    return not re.match(_RESERVED, name.strip()) and not name.endswith((".", " "))


def fold_name(name: str) -> str:
    """Return a name such that two which some file system takes for the same are equal."""
    if name.isascii():
        return name.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
