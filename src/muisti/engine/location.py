"""Where the vault is, for surfaces and integrations, which do not access files themselves."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from muisti.engine.runtime import Runtime
from muisti.model import Filter
from muisti.recall.filters import ALL
from muisti.recall.scope import find_hint

if TYPE_CHECKING:
    from muisti.model import Problem, QueueStatus
    from muisti.ports import FileWatch, Notebook


class VaultInfo(Runtime):
    """Where the vault is, its state, its disk usage, its queue and its agent notes."""

    @property
    def location(self) -> str:
        """The vault's folder, as text for people."""
        return str(self._services.location)

    @property
    def name(self) -> str:
        """A short name of the vault, without its full path."""
        return self._services.location.name

    @property
    def is_writable(self) -> bool:
        """Whether the vault was writable when it was opened."""
        return self._services.location.is_writable

    @property
    def is_trusted(self) -> bool:
        """Whether the vault is the user's own or approved; otherwise it can only be read."""
        return self._services.settings.vault_trusted

    @property
    def sync_postponed(self) -> bool:
        """Whether external changes are left for another process. For the command line."""
        return bool(self._services.unchecked)

    def check_available(self) -> None:
        """Raises VaultNotFound if the vault no longer exists. Servers check each time."""
        self._services.location.check_available()

    def disk_usage(self) -> int:
        """Return the size of the vault in bytes, without its index. Walks over all files."""
        return self._services.location.disk_usage()

    def watch_files(self, stop: threading.Event) -> FileWatch:
        """Return a watch that reports changed files until `stop` is set, for `sync(paths=)`.

        Raises Unsupported if the vault has no files.
        """
        return self._services.location.watch(stop)

    def notebook(self, folder: str) -> Notebook:
        """Return the text files that an agent keeps in a folder of the vault.

        Raises Unsupported if the vault is in memory.
        """
        return self._services.location.notebook(folder)

    def problems(self) -> list[Problem]:
        """Return the files that cannot be read or are missing, each with what to do."""
        found = self._read(lambda services: services.index.problems())
        return [*found, *self._services.store.problems()]

    def queue_status(self) -> QueueStatus:
        """Return the state of the extraction queue, of all processes."""
        return self._services.store.queue.status()

    def scope_hint(self, project: str | None = None, user: str | None = None) -> str:
        """Return advice if no memory, message or session has this project or user; else "".

        For example: there is no project 'shp'; did you mean 'shop'?
        """
        named = Filter(
            project=None if project == ALL else project, user=None if user == ALL else user
        )
        return self._read_index(find_hint, named)
