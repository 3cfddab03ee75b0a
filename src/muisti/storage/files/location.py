"""The folder that holds a vault."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import VaultNotFound
from muisti.filesystem import is_occupied
from muisti.settings import SETTINGS_FILE, Settings
from muisti.storage.files.disk import Disk, UntrustedDisk

if TYPE_CHECKING:
    from muisti.ports import ChangeQueue, Clock, FileWatch, Notebook

INDEX = ".muisti"


class FileLocation:
    """A folder on the disk."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        clock: Clock,
        disk: Disk | None = None,
        *,
        writable: bool = True,
    ) -> None:
        self._root = root
        self._settings = settings
        self._clock = clock
        self._disk = disk
        self._writable = writable

    def __str__(self) -> str:
        return str(self._root)

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self._root.name

    @property
    def is_writable(self) -> bool:
        """Whether the folder was writable when the vault was opened."""
        return self._writable

    def check_available(self) -> None:
        """Raise VaultNotFound if the folder is gone, which would look like an empty vault."""
        if not is_occupied(self._root / SETTINGS_FILE):
            raise VaultNotFound(
                f"the vault at {self._root} is gone: mount its disk or restore the folder"
            )

    def disk_usage(self) -> int:
        """Return the size of all files but the index. Visits all of them."""
        return _size_below(str(self._root))

    def watch(self, stop: threading.Event) -> FileWatch:
        """Return an object that reports changed files until `stop` is set."""
        from muisti.storage.files.watch import FolderWatch  # needs a package that only servers have

        return FolderWatch(self._root, stop)

    def queue_changes(self) -> ChangeQueue:
        """Return a queue of all changes from now on. Raises OSError if the system has none."""
        from muisti.storage.files.inotify import FileChanges  # only a warm process needs it

        return FileChanges(self._root)

    def notebook(self, folder: str) -> Notebook:
        """Return the notebook in a folder of the vault."""
        from muisti.storage.files.agent_notes import FileNotebook  # rarely needed

        disk = self._disk if self._settings.vault_trusted else UntrustedDisk(self._root)
        return FileNotebook(self._root, folder, self._settings, disk=disk, clock=self._clock)


def _size_below(folder: str) -> int:
    size = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    size += _size_below(entry.path) if entry.name != INDEX else 0
                elif entry.is_file(follow_symlinks=False):
                    size += entry.stat(follow_symlinks=False).st_size
    except OSError:
        return size  # deleted meanwhile
    return size
