"""The location of a vault in memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from muisti.errors import Unsupported

if TYPE_CHECKING:
    from muisti.ports import ChangeQueue, FileWatch, Notebook

NO_FILES = "a vault in memory has no files; open a vault in a folder"


class MemoryLocation:
    """Implements the port Location."""

    name = "memory"
    is_writable = True

    def __str__(self) -> str:
        return ":memory:"

    def check_available(self) -> None:
        """Do nothing: the vault exists as long as the process."""

    def disk_usage(self) -> int:
        """Return 0: nothing is on the disk."""
        return 0

    def watch(self, stop: threading.Event) -> FileWatch:
        """Raise Unsupported."""
        raise Unsupported("watch_files", NO_FILES)

    def queue_changes(self) -> ChangeQueue:
        """Raise Unsupported."""
        raise Unsupported("queue_changes", NO_FILES)

    def notebook(self, folder: str) -> Notebook:
        """Raise Unsupported."""
        raise Unsupported("notebook", NO_FILES)
