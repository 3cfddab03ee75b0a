"""The search index in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muisti.errors import IndexBusy, VaultBusy
from muisti.storage.postgres.apply import apply_changes
from muisti.storage.postgres.connect import Database
from muisti.storage.postgres.duplicates import PostgresDuplicates
from muisti.storage.postgres.filters import Condition, build_condition
from muisti.storage.postgres.links import PostgresLinks
from muisti.storage.postgres.messages import PostgresMessages
from muisti.storage.postgres.reader import PostgresReader
from muisti.storage.postgres.review import PostgresReview
from muisti.storage.postgres.rows import make_columns
from muisti.storage.postgres.statistics import PostgresStatistics
from muisti.storage.postgres.words import PostgresWords

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports.rows import IndexChanges


class PostgresIndex(
    PostgresReader,
    PostgresWords,
    PostgresLinks,
    PostgresDuplicates,
    PostgresMessages,
    PostgresReview,
    PostgresStatistics,
):
    """Implements the port SearchIndex. It is written in the transactions of the store."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._columns = make_columns(database.salience)

    def _condition(self, where: Filter) -> Condition:
        """Return the condition for a filter. Call within a transaction."""
        with self._db.read_transaction() as db:
            return build_condition(db, where, self._db.salience)

    def open_columns(self) -> None:
        """Return None: rows are read."""

    def is_ready(self) -> bool:
        """Return True: store and index are one."""
        return True

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction, or a part of the open one."""
        try:
            with self._db.write_transaction() as db:
                apply_changes(db, changes)
        except VaultBusy as error:
            raise IndexBusy(str(error)) from error

    def rebuild(self, changes: IndexChanges) -> None:
        """Replace everything with these rows. Vectors of unchanged texts stay."""
        from muisti.storage.postgres.rebuild import rebuild  # numpy

        with self._db.write_transaction() as db:
            rebuild(db, changes)

    def close(self) -> None:
        """Close all connections."""
        self._db.close()
