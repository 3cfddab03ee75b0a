"""Record in the background which memories were recalled (contract E7)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from muisti.errors import IndexCorrupt, MuistiError, VaultBusy
from muisti.logs import get_log
from muisti.model import Event, EventName
from muisti.ports.change_set import ChangeSet

if TYPE_CHECKING:
    from muisti.ports import Services

GATHER = 0.05
"""Seconds to wait for more events, so that many quick searches become one write."""
PATIENCE = 0.1
"""Seconds to wait for the lock. If another process holds it longer, readers do not wait."""
TURN = 1.0
"""Seconds to wait for the lock when readers no longer wait: long enough to get a turn among
processes that write all the time.
"""
RETRY = 0.2
"""Seconds until a blocked write is tried again."""
CLOSING = 3.0
"""Seconds that closing waits for another process's lock: a read command must not hang."""


class RecallLog:
    """Writes recall events to the journal in its own thread."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._recorded = 0
        self._written = 0
        self._wanted = 0
        """How many events a caller waits for."""
        self._blocked = False
        """Another process holds the lock; readers do not wait for it."""
        self._give_up_at: float | None = None
        self._thread: threading.Thread | None = None

    def record(self, memory_ids: Sequence[str], session_id: str | None = None) -> None:
        """Record that these memories were recalled now."""
        if not memory_ids or not self._services.settings.record_recall:
            return
        event = Event(EventName.RECALLED, self._services.clock.now(), tuple(memory_ids), session_id)
        with self._changed:
            self._events.append(event)
            self._recorded += 1
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="muisti-recall", daemon=True)
                self._thread.start()

    def settle(self) -> None:
        """Wait until all recorded events are written, unless another process holds the lock."""
        self._wait(lambda wanted: self._written >= wanted or self._blocked)

    def flush(self) -> None:
        """Wait until all events recorded so far are written."""
        self._wait(lambda wanted: self._written >= wanted)

    def _wait(self, is_done: Callable[[int], bool]) -> None:
        with self._changed:
            wanted = self._recorded
            if not is_done(wanted):
                self._wanted = max(self._wanted, wanted)
                self._changed.notify_all()
                self._changed.wait_for(lambda: is_done(wanted))

    def close(self) -> None:
        """Write the remaining events, unless the store stays locked, and stop the thread."""
        self._give_up_at = time.monotonic() + CLOSING
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
                self._changed.wait_for(
                    lambda: self._wanted > self._written or self._thread is not me, timeout=GATHER
                )
                events, self._events = self._events, []
            try:
                self._write(events)
            finally:
                with self._changed:
                    self._written += len(events)
                    self._blocked = False
                    self._changed.notify_all()

    def _write(self, events: Sequence[Event]) -> None:
        """Write events; retry for `lock_timeout` seconds."""
        tries = max(1, int(self._services.settings.lock_timeout / (TURN + RETRY)))
        try:
            for number in range(tries):
                try:
                    self._commit(events, TURN if number else PATIENCE)
                    return
                except VaultBusy:
                    if self._give_up_at is not None and time.monotonic() > self._give_up_at:
                        break
                    with self._changed:
                        self._blocked = True
                        self._changed.notify_all()
                        self._changed.wait(RETRY)
            self._commit(events, TURN)
        except MuistiError as error:
            get_log().warning("could not record the recalls of %d searches: %s", len(events), error)
        except Exception:
            get_log().exception("could not record the recalls of %d searches", len(events))

    def _commit(self, events: Sequence[Event], timeout: float) -> None:
        changes = ChangeSet(events=events, durable=False)
        store = self._services.store
        try:
            with store.lock(timeout):
                store.commit(changes)
        except IndexCorrupt:  # the index was removed while the vault was in use
            store.prepare(wait=True)
            with store.lock(timeout):
                store.commit(changes)
