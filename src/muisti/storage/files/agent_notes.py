"""A folder of the vault in which an agent keeps notes: plain text files, as many folders deep as it likes.

The notes are documents, not memories: they have no front matter of ours, and stay as they are written. What was there
before a change is kept, in `.history/` and `.trash/`, below the same names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath

from muisti.ports import Clock, NotebookEntry
from muisti.settings import Settings
from muisti.storage.clock import SystemClock
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.memory_codec import TRASH
from muisti.storage.files.vault import FileVault, has_memory_id
from muisti.storage.files.versions import HISTORY

_STAMP = "%Y%m%dT%H%M%S%fZ"


class FileNotebook:
    """Notes below one folder of a vault. Paths are relative to that folder, with forward slashes; "" is the folder itself.

    Whoever calls has checked that a path stays below the folder. Links are never followed.
    """

    def __init__(
        self,
        root: Path,
        folder: str,
        settings: Settings,
        *,
        disk: Disk | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.folder = folder
        self._root = root
        self._disk = disk or Disk()
        self._clock = clock or SystemClock()
        self._vault = FileVault(root, settings, self._clock, self._disk)
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)

    @property
    def place(self) -> Path:
        """The folder."""
        return self._root / self.folder

    def lock(self) -> AbstractContextManager[None]:
        """Hold the vault for writing, across processes and threads. Raises VaultBusy, VaultReadOnly, VaultNotFound."""
        return self._vault.lock()

    # -- Reading

    def status(self, path: str) -> os.stat_result | None:
        """What is there; None if nothing is. If a link is on the way, it is the link's."""
        place, found = self._root, None
        for name in PurePosixPath(self.folder, path).parts:
            place /= name
            try:
                found = place.lstat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(found.st_mode):
                return found
        return found

    def entries(self, path: str) -> list[NotebookEntry]:
        """What a folder holds, by name, without hidden files and links. Nothing if it cannot be read."""
        try:
            with os.scandir(self._place(path)) as listing:
                return sorted(_shown(listing), key=lambda entry: entry.name)
        except OSError:
            return []

    def read(self, path: str, most: int) -> bytes:
        """A file's bytes, up to one more than `most`. Raises FileNotFoundError, VaultError."""
        try:
            fd = os.open(self._place(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(fd, "rb") as file:
                return file.read(most + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            with disk_errors(self._below(path)):
                raise error

    # -- Writing, under the lock

    def prepare(self) -> None:
        """Make the folder."""
        with disk_errors(self.folder):
            self._disk.make_folder(self._place(""))

    def create(self, path: str, data: bytes) -> None:
        """Make a new file, and the folders above it. Never over a file that exists."""
        self._writer.create([(self._below(path), data)])

    def replace(self, path: str, data: bytes) -> None:
        """Put other bytes in the place of a file. What it said before is kept as a version."""
        with disk_errors(self._below(path)):
            before = self._place(path).read_bytes()
        kept = self._free(f"{HISTORY}/{self._below(path)}/", PurePosixPath(path).suffix)
        self._writer.create([(kept, before)])
        self._writer.replace(self._below(path), data)

    def move(self, path: str, target: str) -> None:
        """Give a file or a folder another name, which must be free."""
        self._move(self._below(path), self._below(target))

    def trash(self, path: str) -> str:
        """Move a file or a folder to the trash; answers where it is now, relative to the vault."""
        below = PurePosixPath(self._below(path))
        ending = below.suffix if self._place(path).is_file() else ""
        target = self._free(f"{TRASH}/{str(below).removesuffix(ending)}.", ending)
        self._move(str(below), target)
        return target

    def _move(self, path: str, target: str) -> None:
        source, final = self._root / path, self._root / target
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            self._disk.move(source, final)
            self._disk.sync_folder(final.parent)
            if source.parent != final.parent:
                self._disk.sync_folder(source.parent)

    def _free(self, before: str, ending: str) -> str:
        """A name with the present moment that nobody has: the clock may stand still, or be set back."""
        at = self._clock.now()
        while os.path.lexists(self._root / f"{before}{at:{_STAMP}}{ending}"):
            at += timedelta(microseconds=1)
        return f"{before}{at:{_STAMP}}{ending}"

    def _below(self, path: str) -> str:
        return str(PurePosixPath(self.folder, path))

    def _place(self, path: str) -> Path:
        return self._root / self.folder / path


def looks_like_memory(data: bytes) -> bool:
    """Whether these bytes would be taken for a memory, wherever they lie: they begin with front matter that has an id."""
    return has_memory_id(data[:4096])


def _shown(listing: Iterator[os.DirEntry[str]]) -> Iterator[NotebookEntry]:
    for entry in listing:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        with suppress(FileNotFoundError):  # removed while we looked
            found = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
                yield NotebookEntry(entry.name, found.st_size, stat.S_ISDIR(found.st_mode))
