"""Exchanges that wait for extraction, each claimed by one process at a time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from typing import Any

from muisti.errors import MuistiError, VaultBusy
from muisti.model import Exchange, QueueStatus
from muisti.storage.postgres import claims
from muisti.storage.postgres.claims import Claims
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.quotas import read_quota
from muisti.storage.row_values import time_or_none, to_int

log = logging.getLogger("muisti")
_KEYS = tuple(field.name for field in fields(Exchange) if field.name != "at")


class PostgresQueue:
    """Implements the port ExtractionQueue. The exchanges of all processes are shared."""

    is_shared = True

    def __init__(self, database: Database, most: int = 10_000) -> None:
        """Most: how many exchanges may wait."""
        self._db = database
        self._most = most
        self.claims = Claims(database, "queue")

    def put(self, exchange: Exchange, *, claim: bool = True) -> bool:
        """Add an exchange. Return whether this process has claimed it."""
        seconds, owner = (claims.LEASE, self.claims.owner) if claim else (0.0, "")
        values = (exchange.id, to_int(exchange.at), encode_exchange(exchange))
        with self._db.write_transaction(announce=False, exclusive=False) as db:
            quota = read_quota(db, self._db.state.tenant)
            [(waiting,)] = fetch(db, "SELECT count(*) FROM queue")
            if waiting >= self._most:
                raise VaultBusy("the queue is full; is the extractor down?")
            db.execute(
                """INSERT INTO queue (id, at, exchange, accepted_by, claimed_by, claimed_until,
                       attempts)
                   VALUES (%s, %s, %s, %s, %s, now() + make_interval(secs => %s), %s)
                   ON CONFLICT (tenant, id) DO NOTHING""",
                (*values, self.claims.owner, owner, seconds, int(claim)),
            )
            if quota.is_limited:
                quota.check(read_quota(db, self._db.state.tenant))
            if not claim:
                self._db.announce(db)
        if claim:
            self.claims.start_renewing()
        return claim

    def take_over(self, limit: int | None = None) -> list[Exchange]:
        """Claim exchanges that no process works on. Return them in the order of acceptance."""
        with self._db.read_transaction() as db:
            if not fetch(db, f"SELECT 1 FROM queue WHERE {claims.FREE} LIMIT 1"):
                return []
        rows = self.claims.take(limit or self._most, "exchange")
        return sorted((decode_exchange(text) for (text,) in rows), key=lambda exchange: exchange.id)

    def done(self, exchange_id: str) -> None:
        """Remove an exchange that was processed."""
        with self._db.write_transaction(announce=False) as db:
            db.execute(
                "DELETE FROM queue WHERE id = %s AND claimed_by = %s",
                (exchange_id, self.claims.owner),
            )

    def finish(self, db: Connection, exchange_id: str) -> None:
        """Remove an exchange in the transaction that stores what was extracted from it.

        Raises VaultBusy if it is no longer this process's own: the claim ran out while the process
        was stopped, and another one has it, or it was forgotten.
        """
        sql = "DELETE FROM queue WHERE id = %s AND claimed_by = %s RETURNING 1"
        if not fetch(db, sql, (exchange_id, self.claims.owner)):
            raise VaultBusy(f"{self._db.address}: another process has taken over an exchange")

    def postpone(self, exchange_id: str, error: str, pause: float, *, counts: bool) -> bool:
        """Release an exchange that could not be processed, to be tried again after a pause."""
        if counts:
            self.claims.postpone(error, pause, "id = %s", (exchange_id,))
        else:
            self.claims.give_back("id = %s", (exchange_id,), pause)
        return True

    def count_accepted(self) -> int:
        """Return how many exchanges that this process accepted are waiting for any process."""
        sql = f"SELECT count(*) FROM queue WHERE accepted_by = %s AND NOT ({claims.GIVEN_UP})"
        with self._db.write_transaction(announce=False, exclusive=False) as db:  # no replica
            return int(fetch(db, sql, (self.claims.owner,))[0][0])

    def holds(self, exchange_id: str) -> bool:
        """Return whether an exchange of this process is still waiting."""
        sql = "SELECT 1 FROM queue WHERE id = %s AND claimed_by = %s"
        with self._db.write_transaction(announce=False, exclusive=False) as db:  # no replica
            return bool(fetch(db, sql, (exchange_id, self.claims.owner)))

    def discard(self, matches: Callable[[Exchange], bool], *, dry_run: bool = False) -> int:
        """Remove exchanges and return how many matched. Those that others work on stay."""
        with self._db.write_transaction(announce=False) as db:
            found = [decode_exchange(text) for (text,) in fetch(db, "SELECT exchange FROM queue")]
            matching = [exchange.id for exchange in found if matches(exchange)]
            if not dry_run:
                db.execute(
                    """DELETE FROM queue WHERE id = ANY(%s)
                       AND (claimed_by IN (%s, '') OR claimed_until <= now())""",
                    (matching, self.claims.owner),
                )
        return len(matching)

    def status(self) -> QueueStatus:
        """Count the waiting exchanges of all processes. Never raises."""
        sql = f"""SELECT count(*) FILTER (WHERE NOT ({claims.GIVEN_UP})), min(at),
                  count(*) FILTER (WHERE {claims.GIVEN_UP}) FROM queue"""
        try:
            with self._db.read_transaction() as db:
                waiting, oldest, given_up = fetch(db, sql)[0]
        except MuistiError as error:
            log.warning("the extraction queue cannot be read: %s", error)
            return QueueStatus(waiting=0, oldest=None)
        return QueueStatus(waiting=waiting, oldest=time_or_none(oldest), given_up=given_up)

    def close(self) -> None:
        """Release the exchanges of this process, so that another can take them over."""
        self.claims.close()
        if not self._db.is_closed:
            with suppress(MuistiError):
                self.claims.give_back()


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
