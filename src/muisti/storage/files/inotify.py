"""Changes of files, as the kernel queues them: asking whether anything changed takes no walk.

An event is in the queue before the write that caused it returns, so an empty queue is certain: no
file was changed since. Only on Linux, and only on a local disk: a change that another machine makes
on a shared one is not reported.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from muisti.filesystem import Tree, read_file

LOCAL_DISKS = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
)
MAX_FOLDERS = 5_000
"""A user may have 8,192 watches or more, for all programs together."""
MAX_MOUNTS = 4_000_000
NOT_WATCHED = frozenset({"archive", "journal", "node_modules"})
"""Only muisti writes here and in hidden folders, and it updates the index itself."""
TRASH = ".trash"
ENDINGS = (".md", ".json", ".jsonl", ".toml")
_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLY_FOLDERS, _DO_NOT_FOLLOW, _IS_FOLDER = 0x0100_0000, 0x0200_0000, 0x4000_0000
_WANTED = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_LOST = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _OVERFLOW | _IGNORED
_HEAD = struct.Struct("iIII")


class FileChanges:
    """The changes of a vault's files since the last look."""

    def __init__(self, root: Path) -> None:
        """Start to queue changes. Raises OSError if the system cannot, or not reliably."""
        if _find_disk(root) not in LOCAL_DISKS:
            raise OSError(f"changes of files in {root} cannot be watched reliably")
        self._root = root
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify cannot be used")
        self._folders: dict[int, str] = {}
        try:
            self._add_folders()
        except BaseException:
            os.close(self._fd)
            raise

    def close(self) -> None:
        """Stop."""
        os.close(self._fd)

    def take(self) -> set[str] | None:
        """Return the paths that changed since the last call; None: any file may have changed.

        Raises OSError if changes can no longer be watched.
        """
        changed: set[str] = set()
        is_certain = True
        for folder, mask, name in self._read_events():
            if mask & (_LOST | _IS_FOLDER):
                is_certain = False
            elif name.endswith(ENDINGS) and name[0] != ".":
                changed.add(f"{folder}/{name}" if folder else name)
        if not is_certain:
            self._add_folders()
            return None
        return changed

    def _read_events(self) -> Iterator[tuple[str, int, str]]:
        """Yield folder, kind and name of each queued event."""
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
                at += length
                if mask & _IGNORED:
                    self._folders.pop(watch, None)
                yield self._folders.get(watch, ""), mask, name

    def _add_folders(self) -> None:
        """Watch all folders that may have files of the vault. Raises OSError."""
        tree = Tree(self._root)
        folders = [""]
        for folder in folders:  # grows while it is read
            path = self._root / folder
            flags = _WANTED | _ONLY_FOLDERS | _DO_NOT_FOLLOW if folder else _WANTED | _ONLY_FOLDERS
            watch = self._libc.inotify_add_watch(self._fd, os.fsencode(path), flags)
            if watch < 0:
                if not os.path.lexists(path):
                    continue  # deleted meanwhile
                raise OSError(ctypes.get_errno(), f"{path} cannot be watched")
            self._folders[watch] = folder
            with suppress(OSError), tree.scan(folder) as entries:
                for entry in entries:
                    name = entry.name
                    is_watched = folder or name not in NOT_WATCHED
                    if name.startswith("."):
                        is_watched = name == TRASH and not folder
                    if is_watched and entry.is_dir(follow_symlinks=False):
                        folders.append(f"{folder}/{name}" if folder else name)
            if len(folders) > MAX_FOLDERS:
                raise OSError(f"{self._root} has too many folders to watch")


def _find_disk(root: Path) -> str:
    """Return the type of the file system that a folder is on; "" if it is not known."""
    place = os.path.realpath(root)
    best = found = ""
    with suppress(OSError):
        for line in read_file(Path("/proc/self/mounts"), MAX_MOUNTS)[0].decode().splitlines():
            _, point, kind, *_ = line.split(" ")
            point = point.replace("\\040", " ")
            is_above = place == point or place.startswith(point.rstrip("/") + "/")
            if is_above and len(point) >= len(best):
                best, found = point, kind
    return found
