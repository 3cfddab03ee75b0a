"""Notes which memories were recalled, off the path of the request (contract E7)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.commit import commit, writing
from muisti.errors import IndexCorrupt, MuistiError
from muisti.model import Event

if TYPE_CHECKING:
    from muisti.ports import Parts

log = logging.getLogger("muisti")
_GATHER = 0.05
"""Seconds to wait for more, so that many quick searches become one write."""


class Recorder:
    """Writes recall events to the journal in a thread of its own."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._noted = 0
        self._written = 0
        self._wanted = 0
        """Somebody waits for the first so many events to be written."""
        self._thread: threading.Thread | None = None

    def note(self, memory_ids: Sequence[str], session_id: str | None = None) -> None:
        """Remember that these were recalled now."""
        if not memory_ids or not self._parts.settings.record_recall:
            return
        event = Event("recalled", self._parts.clock.now(), tuple(memory_ids), session_id)
        with self._changed:
            self._events.append(event)
            self._noted += 1
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="muisti-recall", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Return once everything noted so far is written; what others note meanwhile is not waited for."""
        with self._changed:
            wanted = self._noted
            if self._written < wanted:
                self._wanted = max(self._wanted, wanted)
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._written >= wanted)

    def close(self) -> None:
        """Write what is left and end the thread."""
        self.flush()
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._events or self._thread is not me)
                if not self._events:
                    return
                self._changed.wait_for(lambda: self._wanted > self._written or self._thread is not me, timeout=_GATHER)
                events, self._events = self._events, []
            try:
                self._write(events)
            finally:
                with self._changed:
                    self._written += len(events)
                    self._changed.notify_all()

    def _write(self, events: Sequence[Event]) -> None:
        try:
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
