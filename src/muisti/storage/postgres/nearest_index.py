"""An HNSW index on the signs of a large tenant, made in the background.

Below `LAST_CENTRE` vectors, comparing the signs of all is fast, and the signs still change when the
centre is computed again. Each tenant that has more gets an index of its own: an index for all
tenants finds few vectors of the small ones.
"""

from __future__ import annotations

import logging
import threading

import psycopg

from muisti.storage.postgres.connect import Database

log = logging.getLogger("muisti")
BUILD_LOCK = 1836412778
"""The first number of the advisory lock that is held while an index is built."""


class NearestIndexes:
    """Makes the indexes of one tenant."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._known: set[int] = set()
        """The spaces that have an index, or for which one is being made."""
        self._guard = threading.Lock()

    def start(self, space: int) -> None:
        """Make the index of a space in a thread, once."""
        with self._guard:
            if space in self._known:
                return
            self._known.add(space)
        threading.Thread(target=self.build, args=(space,), name="muisti-hnsw", daemon=True).start()

    def build(self, space: int) -> None:
        """Make the index of a space, if it does not exist, without blocking writers.

        Searches do without it until it is complete.
        """
        tenant = self._db.state.tenant
        name = f"signs_{space:d}_near_{tenant:d}"
        sql = f"""CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON muisti.signs_{space:d}
            USING hnsw (signs bit_hamming_ops) WHERE tenant = {tenant:d}"""
        invalid = """SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid"""
        try:
            with psycopg.connect(self._db.conninfo, autocommit=True) as db:
                extension = self._db.state.extension_schema
                db.execute(f'SET search_path = muisti, "{extension}"'.encode())
                [got] = db.execute(
                    "SELECT pg_try_advisory_lock(%s, %s)", (BUILD_LOCK, tenant)
                ).fetchone() or [False]
                if not got:  # another process makes it
                    return
                if db.execute(invalid, (f"muisti.{name}",)).fetchone():
                    db.execute(f"DROP INDEX CONCURRENTLY muisti.{name}".encode())
                db.execute(sql.encode())
        except psycopg.Error as error:
            log.warning("no index is made for the vectors; searches compare all of them: %s", error)
