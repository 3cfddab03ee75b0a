"""Where the vault is, for surfaces and integrations, which know nothing of files."""

from __future__ import annotations

import threading

from muisti.engine.runtime import Runtime
from muisti.model import QueueStatus
from muisti.ports import FileWatch, Notebook


class VaultInfo(Runtime):
    """The vault's place, what waits there, and what other programs keep there."""

    @property
    def location(self) -> str:
        """Where the vault is, for people: its folder."""
        return str(self._services.location)

    @property
    def name(self) -> str:
        """A short name of the vault that tells nothing of the machine."""
        return self._services.location.name

    @property
    def is_writable(self) -> bool:
        """Whether the vault could be written when it was opened; otherwise it is only searched and read."""
        return self._services.location.is_writable

    def check_available(self) -> None:
        """Raise VaultNotFound if the vault is not there any more. Servers ask before every answer."""
        self._services.location.check_available()

    def disk_usage(self) -> int:
        """Return how many bytes the vault takes up, without its index. Walks over all files."""
        return self._services.location.disk_usage()

    def watch_files(self, stop: threading.Event) -> FileWatch:
        """Return what reports files that a person changed, until `stop` is set; `sync(paths=)` takes them in.

        Raises Unsupported if the vault has no files.
        """
        return self._services.location.watch(stop)

    def notebook(self, folder: str) -> Notebook:
        """Return the plain text files that an agent keeps in a folder of the vault.

        Raises Unsupported if the vault has no files.
        """
        return self._services.location.notebook(folder)

    def queue_status(self) -> QueueStatus:
        """Return what waits to be extracted, accepted by whichever process."""
        return self._services.store.queue.status()
