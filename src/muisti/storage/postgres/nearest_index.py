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
from muisti.storage.postgres.pooler import connect

log = logging.getLogger("muisti")


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

        Searches do without it until it is complete. No lock is held: a pooler would leave that of a
        session with the next client. If two processes make it, the second waits and finds it.
        """
        tenant = self._db.state.tenant
        extension = self._db.state.extension_schema
        name = f"signs_{space:d}_near_{tenant:d}"
        sql = f"""CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON muisti.signs_{space:d}
            USING hnsw (signs "{extension}".bit_hamming_ops) WHERE tenant = {tenant:d}"""
        broken = """SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid
            AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE relid = indrelid)"""
        try:
            with connect(self._db.conninfo) as db:
                if db.execute(broken, (f"muisti.{name}",)).fetchone():  # its process was killed
                    db.execute(f"DROP INDEX CONCURRENTLY muisti.{name}".encode())
                db.execute(sql.encode())
        except psycopg.Error as error:
            log.warning("no index is made for the vectors; searches compare all of them: %s", error)
