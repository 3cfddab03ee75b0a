"""Exchanges that wait for extraction, each claimed by one process at a time."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from typing import Any

from muisti.errors import MuistiError
from muisti.model import Exchange, QueueStatus
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.rows import time_or_none, to_int

log = logging.getLogger("muisti")
LEASE = 60.0
"""Seconds after which an exchange of a process that no longer runs is free again."""
_KEYS = tuple(field.name for field in fields(Exchange) if field.name != "at")


class PostgresQueue:
    """Implements the port ExtractionQueue. A thread renews the claims of this process."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._me = uuid.uuid4().hex
        self._closed = threading.Event()
        self._renewing: threading.Thread | None = None
        self._guard = threading.Lock()

    def put(self, exchange: Exchange) -> None:
        """Add an exchange, which is claimed by this process."""
        values = (exchange.id, to_int(exchange.at), encode_exchange(exchange), self._me, LEASE)
        with self._db.write_transaction(announce=False) as db:
            db.execute(
                """INSERT INTO queue (id, at, exchange, claimed_by, claimed_until)
                   VALUES (%s, %s, %s, %s, now() + make_interval(secs => %s))
                   ON CONFLICT (tenant, id) DO NOTHING""",
                values,
            )
        self._start_renewing()

    def take_over(self) -> list[Exchange]:
        """Claim what other processes left undone. Return it in the order of acceptance."""
        with self._db.read_transaction() as db:
            if not fetch(db, "SELECT 1 FROM queue WHERE claimed_until <= now() LIMIT 1"):
                return []
        with self._db.write_transaction(announce=False) as db:
            rows = fetch(
                db,
                """UPDATE queue SET claimed_by = %s,
                       claimed_until = now() + make_interval(secs => %s)
                   WHERE id IN (SELECT id FROM queue WHERE claimed_until <= now()
                       ORDER BY id FOR UPDATE SKIP LOCKED)
                   RETURNING exchange""",
                (self._me, LEASE),
            )
        if rows:
            self._start_renewing()
        return sorted((decode_exchange(text) for (text,) in rows), key=lambda exchange: exchange.id)

    def done(self, exchange_id: str) -> None:
        """Remove an exchange that was processed."""
        with self._db.write_transaction(announce=False) as db:
            db.execute(
                "DELETE FROM queue WHERE id = %s AND claimed_by = %s", (exchange_id, self._me)
            )

    def holds(self, exchange_id: str) -> bool:
        """Return whether an exchange of this process is still waiting."""
        sql = "SELECT 1 FROM queue WHERE id = %s AND claimed_by = %s"
        with self._db.read_transaction() as db:
            return bool(fetch(db, sql, (exchange_id, self._me)))

    def discard(self, matches: Callable[[Exchange], bool], *, dry_run: bool = False) -> int:
        """Remove exchanges and return how many matched. Those that others work on stay."""
        with self._db.write_transaction(announce=False) as db:
            found = [decode_exchange(text) for (text,) in fetch(db, "SELECT exchange FROM queue")]
            matching = [exchange.id for exchange in found if matches(exchange)]
            if not dry_run:
                db.execute(
                    """DELETE FROM queue WHERE id = ANY(%s)
                       AND (claimed_by = %s OR claimed_until <= now())""",
                    (matching, self._me),
                )
        return len(matching)

    def status(self) -> QueueStatus:
        """Count the waiting exchanges of all processes. Never raises."""
        try:
            with self._db.read_transaction() as db:
                waiting, oldest = fetch(db, "SELECT count(*), min(at) FROM queue")[0]
        except MuistiError as error:
            log.warning("the extraction queue cannot be read: %s", error)
            return QueueStatus(waiting=0, oldest=None)
        return QueueStatus(waiting=waiting, oldest=time_or_none(oldest))

    def close(self) -> None:
        """Release the exchanges of this process, so that another can take them over."""
        with self._guard:
            thread, self._renewing = self._renewing, None
        self._closed.set()
        if thread is not None:
            thread.join()
            with suppress(MuistiError), self._db.write_transaction(announce=False) as db:
                self._renew(db, 0.0)

    def _start_renewing(self) -> None:
        with self._guard:
            if self._renewing is None:
                self._closed.clear()
                self._renewing = threading.Thread(
                    target=self._renew_often, name="muisti-queue", daemon=True
                )
                self._renewing.start()

    def _renew_often(self) -> None:
        while not self._closed.wait(LEASE / 3):
            try:
                with self._db.write_transaction(announce=False) as db:
                    self._renew(db, LEASE)
            except MuistiError as error:
                log.warning("claims in the extraction queue are not renewed: %s", error)

    def _renew(self, db: Connection, seconds: float) -> None:
        db.execute(
            """UPDATE queue SET claimed_until = now() + make_interval(secs => %s)
               WHERE claimed_by = %s""",
            (seconds, self._me),
        )


def encode_exchange(exchange: Exchange) -> str:
    """Return an exchange as JSON."""
    values: dict[str, Any] = {key: getattr(exchange, key) for key in _KEYS}
    values["at"] = exchange.at.isoformat()
    text = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace").decode()
    return text.replace("\0", "\\u0000")


def decode_exchange(text: str) -> Exchange:
    """Return the exchange in JSON."""
    values = json.loads(text)
    return Exchange(at=datetime.fromisoformat(values.pop("at")), **values)
