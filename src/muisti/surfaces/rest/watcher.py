"""While a server runs, it picks up external changes and runs maintenance (contract B5, G4)."""

from __future__ import annotations

import logging
import math
import threading
import time

from muisti.engine import Muisti
from muisti.errors import MuistiError, Unsupported
from muisti.model.jsonable import Jsonable
from muisti.surfaces.background import DueWork
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.events import EventBroadcaster
from muisti.surfaces.rest.schemas_maintenance import SyncReport

log = logging.getLogger("muisti")
MAX_PATHS = 50
"""Paths that an event lists; a checkout may change hundreds."""
POLL_SECONDS = 1.0
PAUSE_FACTOR = 5.0
"""The pause after a sync, as a multiple of its duration: a long one waits for further changes."""
MAX_PAUSE = 1.0
RESUME_SECONDS = 30.0
"""How often exchanges are taken over from processes that ended, perhaps on another machine."""


class VaultWatcher:
    """A thread that syncs each batch of changed files, and runs maintenance once a day."""

    def __init__(self, memory: Muisti, events: EventBroadcaster, config: ServerConfig) -> None:
        self._memory, self._events, self._config = memory, events, config
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="muisti-live", daemon=True)
        self._next_scan = 0.0
        self._due = DueWork(
            memory,
            resume=RESUME_SECONDS,
            embed=memory.settings.embed_on_save,
            maintenance_after=config.maintenance_after,
            maintenance_every=config.maintenance_every,
        )
        self._last_error = ""

    def start(self) -> None:
        """Start the thread."""
        self._next_scan = time.monotonic() + self._config.rescan_every
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current batch."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                watch = self._memory.watch_files(self._stop)
                for names in watch.batches(self._config.settle_seconds, POLL_SECONDS):
                    self._step(names)
            except Unsupported:  # a vault without files has no external changes
                self._next_scan = math.inf
                self._step(set())
            except Exception as error:  # keep running: an unmounted vault may come back
                if str(error) != self._last_error:
                    log.warning("cannot watch for changes: %s", error)
                self._last_error = str(error)
            self._stop.wait(POLL_SECONDS)

    def _step(self, names: set[str]) -> None:
        """Sync a batch and do what is due. An error is reported once and retried later."""
        now, next_scan = time.monotonic(), self._next_scan
        try:
            self._memory.check_available()
            is_full_scan = now >= next_scan
            if names or is_full_scan:
                self._next_scan = now  # if this sync fails, the next one scans all files
                self._sync(names, is_full_scan=is_full_scan)
                self._next_scan = now + self._config.rescan_every if is_full_scan else next_scan
            report = self._due.run(changed=bool(names))
            if report is not None:
                decayed, cleaned, evicted = report.decayed, len(report.cleaned), len(report.evicted)
                ended = len(report.ended_sessions)
                counts: Jsonable = {
                    "decayed": decayed,
                    "cleaned": cleaned,
                    "evicted": evicted,
                    "ended_sessions": ended,
                }
                self._events.publish("upkeep", counts)
                log.info(
                    "maintenance: %d sessions ended, %d decayed, %d trashed, %d archived",
                    ended,
                    decayed,
                    cleaned,
                    evicted,
                )
            self._last_error = ""
        except (MuistiError, OSError) as error:
            if str(error) != self._last_error:
                log.warning("external changes will be picked up later: %s", error)
                self._events.publish("problem", {"detail": str(error)})
            self._last_error = str(error)

    def _sync(self, names: set[str], *, is_full_scan: bool) -> None:
        started = time.monotonic()
        try:
            synced = self._memory.sync(paths=None if is_full_scan else names)
        except Unsupported:  # a database, whose index has the changes already
            if names:
                self._events.publish("changed", {"files": [], "fileCount": 0})
            return
        duration = time.monotonic() - started
        report = SyncReport.model_validate(synced)
        has_changes = any(
            (report.added, report.changed, report.moved, report.removed, report.missing)
        )
        files: list[Jsonable] = [*sorted(name for name in names if "." in name.rpartition("/")[2])]
        if files or has_changes:
            event = report.model_dump(mode="json", by_alias=True)
            event |= {"files": files[:MAX_PATHS], "fileCount": len(files)}
            self._events.publish("changed", event)
        self._stop.wait(min(MAX_PAUSE, duration * PAUSE_FACTOR))
