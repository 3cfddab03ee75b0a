"""While a server runs, edits made by hand are taken in at once, and upkeep is done by itself (contract B5, G4)."""

from __future__ import annotations

import logging
import math
import threading
import time

from muisti.engine import Muisti
from muisti.errors import MuistiError, Unsupported
from muisti.model.jsonable import Jsonable
from muisti.surfaces.rest.config import ServerConfig
from muisti.surfaces.rest.events import Events
from muisti.surfaces.rest.schemas_maintenance import Synced

log = logging.getLogger("muisti")
TELL = 50
"""Paths that an event names; of a checkout of hundreds it tells the number only."""
WAKE = 1.0
SHARE = 5.0
"""A look at all files may take a fifth of the time: the longer it takes, the longer it waits for further edits."""
LONGEST_REST = 1.0


class VaultWatcher:
    """One thread that hears of edits, one look at the files for each batch of them, and upkeep once a day."""

    def __init__(self, memory: Muisti, events: Events, serving: ServerConfig) -> None:
        self._memory, self._events, self._serving = memory, events, serving
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="muisti-live", daemon=True)
        self._next_look = 0.0
        self._next_upkeep = time.monotonic() + serving.upkeep_after
        self._told = ""

    def start(self) -> None:
        """Begin."""
        self._next_look = time.monotonic() + self._serving.look_every
        self._thread.start()

    def stop(self) -> None:
        """End after the batch that it is at."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                for names in self._memory.watch_files(self._stop).batches(
                    self._serving.settle, WAKE
                ):
                    self._step(names)
            except Unsupported:  # a vault without files has no edits
                self._next_look = math.inf
                self._step(set())
            except (
                Exception
            ) as error:  # the thread goes on: a vault that was unmounted may come back
                log.warning("files are not watched now: %s", error)
            self._stop.wait(WAKE)

    def _step(self, names: set[str]) -> None:
        """Take in a batch, and do what is due. What fails is told, once, and tried again later."""
        now, due = time.monotonic(), self._next_look
        try:
            self._memory.check_available()
            whole = now >= self._next_look
            if names or whole:
                self._next_look = now  # until it is done: what fails is looked for among all files
                self._take_in(names, whole=whole)
                self._next_look = now + self._serving.look_every if whole else due
            if now >= self._next_upkeep:
                self._next_upkeep = now + self._serving.upkeep_every
                self._upkeep()
            self._told = ""
        except (MuistiError, OSError) as error:
            if str(error) != self._told:
                log.warning("edits are taken in later: %s", error)
                self._events.tell("problem", {"detail": str(error)})
            self._told = str(error)

    def _take_in(self, names: set[str], *, whole: bool) -> None:
        begun = time.monotonic()
        report = Synced.model_validate(self._memory.sync(paths=None if whole else names))
        took = time.monotonic() - begun
        found = report.added or report.changed or report.moved or report.removed or report.missing
        files: list[Jsonable] = [*sorted(name for name in names if "." in name.rpartition("/")[2])]
        if files or found:
            told = report.model_dump(mode="json", by_alias=True)
            self._events.tell("changed", {**told, "files": files[:TELL], "fileCount": len(files)})
        self._stop.wait(min(LONGEST_REST, took * SHARE))

    def _upkeep(self) -> None:
        report = self._memory.upkeep()
        self._events.tell(
            "upkeep",
            {
                "decayed": report.decayed,
                "cleaned": len(report.cleaned),
                "evicted": len(report.evicted),
            },
        )
        log.info(
            "upkeep: %d faded, %d cleaned, %d archived",
            report.decayed,
            len(report.cleaned),
            len(report.evicted),
        )
