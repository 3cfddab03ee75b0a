"""Reports that other processes changed the vault: the database announces each change."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg

from muisti.storage.postgres.connect import CHANNEL, Database
from muisti.storage.postgres.errors import translate_errors

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
        with (
            translate_errors(self._db.address),
            psycopg.connect(self._db.conninfo, autocommit=True) as db,
        ):
            db.execute(f"LISTEN {CHANNEL}".encode())
            changed = False
            until = time.monotonic() + wake
            while not self._stop.is_set():
                for notice in db.notifies(timeout=settle if changed else wake, stop_after=1):
                    number, _, writer = notice.payload.partition(" ")
                    if number == str(tenant) and writer != self._db.me:
                        changed = True
                        break
                else:  # silence
                    yield {CHANGED} if changed else set()
                    changed = False
                    until = time.monotonic() + wake
                if time.monotonic() >= until:  # others write all the time
                    yield {CHANGED} if changed else set()
                    changed = False
                    until = time.monotonic() + wake
