"""Reports that other processes changed the vault: the database announces each change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

from psycopg import Notify

from muisti.storage.postgres.connect import CHANNEL, Connection, Database
from muisti.storage.postgres.errors import translate_errors
from muisti.storage.postgres.pooler import POLLS, connect, is_pooled, read_last_change

log = logging.getLogger("muisti")
CHANGED = "rows"
"""What is yielded instead of the paths of files."""


class PostgresWatch:
    """Implements the port FileWatch, on a connection of its own."""

    def __init__(self, database: Database, stop: threading.Event) -> None:
        self._db = database
        self._stop = stop

    def batches(self, settle: float, wake: float) -> Iterator[set[str]]:
        """Yield a set with one name after changes by others, and an empty one after `wake` seconds.

        Raises StoreUnavailable if the connection is lost; changes may have been missed then.
        """
        tenant = self._db.state.tenant
        with translate_errors(self._db.address), connect(self._db.conninfo) as db:
            if is_pooled(db):
                yield from self._poll(db, wake)
                return
            db.execute(f"LISTEN {CHANNEL}".encode())
            changed = False
            until = time.monotonic() + wake
            while not self._stop.is_set():
                wait = settle if changed else max(0.0, until - time.monotonic())
                notices = list(db.notifies(timeout=wait, stop_after=1))
                changed |= any(self._is_of_another(notice, tenant) for notice in notices)
                is_settled = changed and not notices
                if is_settled or time.monotonic() >= until:  # or other processes write all the time
                    yield {CHANGED} if changed else set()
                    changed = False
                    until = time.monotonic() + wake

    def _is_of_another(self, notice: Notify, tenant: int) -> bool:
        """Return whether another process has changed this vault."""
        number, _, writer = notice.payload.partition(" ")
        return number == str(tenant) and writer != self._db.me

    def _poll(self, db: Connection, wake: float) -> Iterator[set[str]]:
        """Look for changes, those of this process included: a pooler may lose notifications."""
        log.info(POLLS, self._db.address, wake)
        tenant = self._db.state.tenant
        seen = read_last_change(db, tenant)
        while not self._stop.wait(wake):
            last = read_last_change(db, tenant)
            yield {CHANGED} if last != seen else set()
            seen = last
