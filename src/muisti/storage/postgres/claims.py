"""Claims: which process works on what, and when something is tried again.

A claim is a row with `claimed_by`, `claimed_until` and `attempts`. It is taken without waiting:
rows that another process is claiming are skipped. The process renews its claims while it lives;
those of a process that ended run out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from muisti.errors import MuistiError
from muisti.model import Problem
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.pooler import IS_OWN

log = logging.getLogger("muisti")
LEASE = 60.0
"""Seconds after which the work of a process that no longer runs is free again."""
MAINTENANCE_LEASE = 900.0
"""The same for maintenance, which is not renewed: if it runs twice, nothing is done twice."""
MOST_ATTEMPTS = 5
"""After this many attempts that failed, or whose process was killed, something is given up."""
LONGEST_PAUSE = 3600.0
"""Seconds. Pauses between attempts double up to this."""
MOST_ERROR = 300
"""Characters of an error that are kept."""
FREE = f"claimed_until <= now() AND attempts < {MOST_ATTEMPTS}"
GIVEN_UP = f"claimed_until <= now() AND attempts >= {MOST_ATTEMPTS}"

TRIM_CHANGES = f"""
WITH gone AS (DELETE FROM changed WHERE at < now() - interval '1 hour' RETURNING xid)
INSERT INTO changes_trimmed AS t (xid)
SELECT xid FROM gone WHERE {IS_OWN.format("gone")} ORDER BY xid DESC LIMIT 1
ON CONFLICT (tenant) DO UPDATE SET xid =
    CASE WHEN {IS_OWN.format("t")} THEN GREATEST(t.xid, excluded.xid) ELSE excluded.xid END
"""
"""Deletes notes of changes that searches no longer need; see `search_tables`."""


class Claims:
    """The claims of this process in one table. A thread renews them while there are any."""

    def __init__(self, database: Database, table: str) -> None:
        self._db = database
        self._table = table
        self._key = _KEYS[table]
        self._guard = threading.Lock()
        """Is held while claims are renewed or released."""
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @property
    def owner(self) -> str:
        """What this process writes in `claimed_by`."""
        return self._db.me

    def take(
        self, limit: int, returning: str, where: str = "true", values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Claim free rows in the order of their keys, and return columns of them."""
        changes = """claimed_by = %s, claimed_until = now() + make_interval(secs => %s),
                     attempts = attempts + 1"""
        with self._db.write_transaction(announce=False, exclusive=False) as db:
            rows = self._change(
                db,
                (where + f" AND {FREE}", values),
                (changes, (self.owner, LEASE)),
                returning,
                limit,
            )
        if rows:
            self.start_renewing()
        return rows

    def give_back(
        self, where: str = "true", values: Sequence[Any] = (), pause: float = 0.0
    ) -> None:
        """Release claims of this process. The attempt does not count."""
        changes = """claimed_by = '', attempts = greatest(attempts - 1, 0),
                     claimed_until = now() + make_interval(secs => %s)"""
        self._release(where, values, (changes, (pause,)))

    def postpone(self, error: str, pause: float, where: str, values: Sequence[Any]) -> None:
        """Release claims whose work failed: they are tried again after a pause, or given up.

        Pause: the first one, in seconds.
        """
        changes = f"""claimed_by = '', error = %s, claimed_until = now() + make_interval(secs =>
                      CASE WHEN attempts >= {MOST_ATTEMPTS} THEN 0
                      ELSE least(%s * power(2, attempts - 1), {LONGEST_PAUSE}) END)"""
        short = error.replace("\0", "")[:MOST_ERROR]
        self._release(where, values, (changes, (short, pause)))

    def retry(self) -> int:
        """Let everything that was given up be tried again, and return how much it is."""
        changes = "attempts = 0, error = '', claimed_by = '', claimed_until = now()"
        with self._db.write_transaction(announce=False, exclusive=False) as db:
            return len(self._change(db, (GIVEN_UP, ()), (changes, ()), "1"))

    def _release(
        self, where: str, values: Sequence[Any], changes: tuple[str, Sequence[Any]]
    ) -> None:
        own = (f"{where} AND claimed_by = %s", (*values, self.owner))
        # A row that the other thread is renewing would be skipped, and renewed for ever.
        with self._guard, self._db.write_transaction(announce=False, exclusive=False) as db:
            self._change(db, own, changes, "1")

    def _change(
        self,
        db: Connection,
        where: tuple[str, Sequence[Any]],
        changes: tuple[str, Sequence[Any]],
        returning: str,
        limit: int | None = None,
    ) -> list[tuple[Any, ...]]:
        """Update rows that meet a condition and that no other transaction is changing."""
        condition, values = where
        sql = f"""WITH picked AS MATERIALIZED (
                      SELECT {self._key} FROM {self._table} WHERE {condition}
                      ORDER BY {self._key} LIMIT %s FOR UPDATE SKIP LOCKED)
                  UPDATE {self._table} t SET {changes[0]} FROM picked p
                  WHERE ({", ".join("t." + name for name in self._key.split(", "))})
                      = ({", ".join("p." + name for name in self._key.split(", "))})
                  RETURNING {returning}"""
        return fetch(db, sql, (*values, limit, *changes[1]))

    # -- Renewing

    def start_renewing(self) -> None:
        """Renew the claims of this process until there are none."""
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._renew_often, name=f"muisti-{self._table}", daemon=True
                )
                self._thread.start()

    def _renew_often(self) -> None:
        while not self._closed.wait(LEASE / 3) and not self._db.is_closed:
            try:
                with self._guard:
                    if not self._renew():
                        self._thread = None
                        return
            except MuistiError as error:
                log.warning("claims of work in the background are not renewed: %s", error)

    def _renew(self) -> int:
        changes = "claimed_until = now() + make_interval(secs => %s)"
        own = ("claimed_by = %s", (self.owner,))
        with self._db.write_transaction(announce=False, exclusive=False) as db:
            return len(self._change(db, own, (changes, (LEASE,)), "1"))

    def close(self) -> None:
        """Stop renewing."""
        self._closed.set()


class SharedWork:
    """Implements the port BackgroundWork for processes that share a database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin_maintenance(self, every: float) -> bool:
        """Claim maintenance, unless a process runs it or ran it in the last `every` seconds."""
        sql = """INSERT INTO maintenance AS m (claimed_by, claimed_until, started_at, complete)
                 VALUES (%s, now() + make_interval(secs => %s), now(), false)
                 ON CONFLICT (tenant) DO UPDATE SET claimed_by = excluded.claimed_by,
                     claimed_until = excluded.claimed_until, started_at = now(), complete = false
                 WHERE m.claimed_until <= now()
                     AND (NOT m.complete OR m.started_at <= now() - make_interval(secs => %s))
                 RETURNING 1"""
        with self._db.write_transaction(announce=False, exclusive=False) as db:
            return bool(fetch(db, sql, (self._db.me, MAINTENANCE_LEASE, every)))

    def end_maintenance(self, *, complete: bool) -> None:
        """Release maintenance. If it is not complete, it is due again after a pause."""
        sql = """UPDATE maintenance SET claimed_until = now() + make_interval(secs => %s),
                 complete = %s WHERE claimed_by = %s"""
        pause = 0.0 if complete else LEASE
        with self._db.write_transaction(announce=False, exclusive=False) as db:
            db.execute(sql, (pause, complete, self._db.me))
            db.execute(TRIM_CHANGES)

    def retry(self) -> int:
        """Let everything that was given up be tried again, and return how much it is."""
        return sum(Claims(self._db, table).retry() for table in _KEYS)


def find_given_up(db: Connection) -> list[Problem]:
    """Return a problem for each kind of work that is not tried again."""
    found = []
    for table, (one, many) in _NAMES.items():
        sql = f"SELECT count(*), max(error) FROM muisti_tenant.{table} WHERE {GIVEN_UP}"
        count, error = fetch(db, sql)[0]
        if count:
            what = f"1 {one}" if count == 1 else f"{count} {many}"
            reason = f"failed {MOST_ATTEMPTS} times ({error or 'the process was killed'})"
            found.append(Problem(table, f"{what} {reason}; run `muisti worker --retry --once`"))
    return found


_KEYS = {"queue": "id", "unembedded": "space, n"}
_NAMES = {
    "queue": ("exchange was not extracted: it", "exchanges were not extracted: they"),
    "unembedded": ("text was not embedded: it", "texts were not embedded: they"),
}
