"""A vault that one process keeps open, to answer for others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.errors import Unsupported, VaultBusy, VaultFull

if TYPE_CHECKING:
    from muisti.engine.facade import Muisti
    from muisti.ports import ChangeQueue

log = logging.getLogger("muisti")
PATIENCE = 0.3
"""Seconds to wait for another process's lock, as in opening a vault."""


class PendingRecalls:
    """Takes the place of the recall log: keeps recalls until it is known that they were used."""

    def __init__(self) -> None:
        self.recalls: list[tuple[Sequence[str], str | None]] = []

    def record(self, memory_ids: Sequence[str], session_id: str | None = None) -> None:
        """Keep a recall."""
        self.recalls.append((memory_ids, session_id))

    def settle(self) -> None:
        """Do nothing: nothing is being written."""

    def flush(self) -> None:
        """Do nothing: nothing is being written."""

    def close(self) -> None:
        """Do nothing: there is no thread."""


class KeptOpen:
    """An open vault with views for other programs. Not for several threads."""

    def __init__(self, memory: Muisti) -> None:
        self._memory = memory
        self._services = memory._services
        self._recalls = PendingRecalls()
        self._queue: ChangeQueue | None = None
        self._is_behind = True
        """Whether all files have to be looked at: changes were reported, but not picked up."""
        try:
            self._queue = self._services.location.queue_changes()
        except (OSError, Unsupported) as error:
            log.info("all files are looked at before each answer: %s", error)

    def view(self, project: str) -> Muisti:
        """Return the vault as another program would open it: with this default project.

        It shares everything with the open vault, so it is not closed. Its recalls are recorded by
        `record_recalls`, once the program has used the answer.
        """
        self._recalls = PendingRecalls()
        services = copy(self._services)
        settings = services.settings
        services.settings = replace(settings, project=settings.project or project)
        memory = type(self._memory)(services, self._memory.root)
        memory.__dict__["_recall_log"] = self._recalls
        memory.others = self._memory.others
        return memory

    def record_recalls(self) -> None:
        """Record the recalls of the last view."""
        for ids, session_id in self._recalls.recalls:
            self._memory._recall_log.record(ids, session_id)
        self.drop_recalls()

    def drop_recalls(self) -> None:
        """Forget the recalls of the last view: the program did not use the answer."""
        self._recalls = PendingRecalls()

    def catch_up(self) -> bool:
        """Pick up what other programs changed since the last call. Return whether that worked.

        Looks at all files only if the system does not say which ones changed.
        """
        if not self._services.settings.sync_on_open:
            return True
        changed = None
        if self._queue is not None:
            try:
                changed = self._queue.take()
            except OSError as error:
                log.info("all files are looked at before each answer: %s", error)
                self.close()
        if self._is_behind or changed is None or self._services.reconciler.has_outside_sources():
            return self.look_at_all()
        return not changed or self._sync(changed)

    def look_at_all(self) -> bool:
        """Look at all files, whatever the system reported. Return whether that worked."""
        return not self._services.settings.sync_on_open or self._sync(None)

    def _sync(self, paths: set[str] | None) -> bool:
        self._is_behind = True
        try:
            self._services.prepare(wait=False)
            self._services.reconciler.sync(paths=paths, timeout=PATIENCE)
        except (VaultBusy, VaultFull):
            return False
        self._is_behind = False
        self._services.unchecked = ""
        return True

    def close(self) -> None:
        """Stop watching. The vault stays open."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None
