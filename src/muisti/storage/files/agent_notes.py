"""Notes of an agent: plain text files in a folder of the vault and its subfolders.

Notes are documents, not memories. Earlier versions and deleted notes are kept in `.history/` and
`.trash/`, below the same names.
"""

from __future__ import annotations

import os
import stat
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath

from muisti.filesystem import Tree, is_link
from muisti.ports import Clock, NotebookEntry
from muisti.settings import Settings
from muisti.storage.clock import SystemClock
from muisti.storage.files.atomic_write import AtomicWriter
from muisti.storage.files.disk import Disk, ReadOnlyDisk, disk_errors
from muisti.storage.files.memory_ids import has_memory_id
from muisti.storage.files.path_info import TRASH
from muisti.storage.files.vault import FileVault, ReadOnlyVault
from muisti.storage.files.versions import HISTORY

_STAMP = "%Y%m%dT%H%M%S%fZ"
_MAX_NOTE = 64_000_000


class FileNotebook:
    """Notes in one folder of a vault; implements the port Notebook."""

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
        self._disk = (disk or Disk()).confine(root)
        self._tree = Tree(root)
        self._clock = clock or SystemClock()
        kind = ReadOnlyVault if isinstance(self._disk, ReadOnlyDisk) else FileVault
        self._vault = kind(root, settings, self._clock, self._disk)
        self._writer = AtomicWriter(root, root / ".muisti" / "tmp", self._disk)

    @property
    def place(self) -> Path:
        """The folder."""
        return self._root / self.folder

    def lock(self) -> AbstractContextManager[None]:
        """Hold the vault for writing. Raises VaultBusy, VaultReadOnly, VaultNotFound."""
        return self._vault.lock()

    # -- Reading

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, or of the first link on the way; None if nothing exists."""
        status = None
        names = PurePosixPath(self.folder, path).parts
        for depth in range(1, len(names) + 1):
            status = self._tree.lstat("/".join(names[:depth]))
            if status is None or is_link(status):
                return status
        return status

    def entries(self, path: str) -> list[NotebookEntry]:
        """Return the entries of a folder by name, without hidden files and links.

        Returns none if the folder cannot be read.
        """
        found = []
        try:
            with self._tree.scan(self._resolve(path)) as listing:
                for entry in listing:
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    with suppress(FileNotFoundError):  # removed meanwhile
                        status = entry.stat(follow_symlinks=False)
                        is_folder = stat.S_ISDIR(status.st_mode)
                        if is_folder or stat.S_ISREG(status.st_mode):
                            found.append(NotebookEntry(entry.name, status.st_size, is_folder))
        except OSError:
            return []
        return sorted(found, key=lambda entry: entry.name)

    def read(self, path: str, most: int) -> bytes:
        """Return up to `most` + 1 bytes of a file. Raises FileNotFoundError, VaultError."""
        try:
            fd, _ = self._tree.open(self._resolve(path), os.O_RDONLY)
            with os.fdopen(fd, "rb") as file:
                return file.read(most + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            with disk_errors(self._vault_path(path)):
                raise error

    # -- Writing, under the lock

    def prepare(self) -> None:
        """Create the folder."""
        with disk_errors(self.folder):
            self._disk.make_folder(self._resolve(""))

    def create(self, path: str, data: bytes) -> None:
        """Create a file and the folders above it. Never replaces a file that exists."""
        self._writer.create([(self._vault_path(path), data)])

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's bytes. The earlier ones are kept as a version."""
        file = self._vault_path(path)
        with disk_errors(file):
            before, _ = self._tree.read(self._resolve(path), _MAX_NOTE)
        version = self._find_free_path(f"{HISTORY}/{file}/", PurePosixPath(path).suffix)
        self._writer.create([(version, before)])
        self._writer.replace(file, data, expected=before)

    def move(self, path: str, target: str) -> None:
        """Rename a file or a folder. The new name must be free."""
        self._move(self._vault_path(path), self._vault_path(target))

    def trash(self, path: str) -> str:
        """Move a file or a folder to the trash. Returns its new path, relative to the vault."""
        source = self._vault_path(path)
        suffix = PurePosixPath(source).suffix if self._tree.is_file(source) else ""
        target = self._find_free_path(f"{TRASH}/{source.removesuffix(suffix)}.", suffix)
        self._move(source, target)
        return target

    def _move(self, path: str, target: str) -> None:
        source, final = self._root / path, self._root / target
        with disk_errors(path):
            self._disk.make_folder(final.parent)
            self._disk.move(source, final)
            self._disk.sync_folder(final.parent)
            if source.parent != final.parent:
                self._disk.sync_folder(source.parent)

    def _find_free_path(self, prefix: str, suffix: str) -> str:
        """Return a free path with the current time, or later: the clock may have been set back."""
        at = self._clock.now()
        while self._tree.exists(f"{prefix}{at:{_STAMP}}{suffix}"):
            at += timedelta(microseconds=1)
        return f"{prefix}{at:{_STAMP}}{suffix}"

    def _vault_path(self, path: str) -> str:
        """Return a path relative to the vault."""
        return str(PurePosixPath(self.folder, path))

    def _resolve(self, path: str) -> Path:
        return self._root / self.folder / path


def looks_like_memory(data: bytes) -> bool:
    """Return whether a file with these bytes would be read as a memory in any folder."""
    return has_memory_id(data[:4096])
