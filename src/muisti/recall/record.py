"""Notes which memories were recalled, off the path of the request (contract E7)."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence

from muisti.commit import commit, writing
from muisti.errors import IndexCorrupt, MuistiError
from muisti.model import Event
from muisti.ports import Parts

log = logging.getLogger("muisti")
_GATHER = 0.05
"""Seconds to wait for more, so that many quick searches become one write."""


class Recorder:
    """Writes recall events to the journal in a thread of its own."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._queue: queue.Queue[Event | None] = queue.Queue()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = threading.Lock()

    def note(self, memory_ids: Sequence[str], session_id: str | None = None) -> None:
        """Remember that these were recalled now."""
        if not memory_ids or not self._parts.settings.record_recall:
            return
        self._queue.put(Event("recalled", self._parts.clock.now(), tuple(memory_ids), session_id))
        with self._start:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="muisti-recall", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Return once everything noted so far is written."""
        if self._queue.unfinished_tasks:
            self._hurry.set()
            self._queue.join()
            self._hurry.clear()

    def close(self) -> None:
        """Write what is left and end the thread."""
        self.flush()
        with self._start:
            if self._thread is not None:
                self._queue.put(None)
                self._thread.join()
                self._thread = None

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is not None and not self._hurry.is_set():
                self._hurry.wait(_GATHER)
            taken = [first]
            while not self._queue.empty():
                taken.append(self._queue.get_nowait())
            events = [event for event in taken if event is not None]
            try:
                self._write(events)
            finally:
                for _ in taken:
                    self._queue.task_done()
            if None in taken:
                return

    def _write(self, events: Sequence[Event]) -> None:
        try:
            with writing(self._parts):
                commit(self._parts, events=events, durable=False)
        except IndexCorrupt:
            self._write_to_journal(events)  # the index is read from it when it is rebuilt
        except MuistiError as error:
            log.warning("could not note that %d searches were answered: %s", len(events), error)
        except Exception:
            log.exception("could not note that %d searches were answered", len(events))

    def _write_to_journal(self, events: Sequence[Event]) -> None:
        with self._parts.vault.lock():
            self._parts.index.behind = True
            self._parts.journal.append(events, durable=False)
