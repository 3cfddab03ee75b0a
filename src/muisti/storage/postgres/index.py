"""The search index in PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from muisti.errors import IndexBusy, VaultBusy
from muisti.ports.search import Candidate, Frequencies
from muisti.storage.postgres.apply import apply_changes
from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.duplicates import PostgresDuplicates
from muisti.storage.postgres.filters import Condition, build_condition
from muisti.storage.postgres.links import PostgresLinks
from muisti.storage.postgres.messages import PostgresMessages
from muisti.storage.postgres.reader import PostgresReader
from muisti.storage.postgres.review import PostgresReview
from muisti.storage.postgres.rows import FROM_ENTRIES, READ_NAMES, decode_text, make_columns
from muisti.storage.postgres.statistics import PostgresStatistics
from muisti.storage.postgres.words import PostgresWords

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports.columns import ColumnSearch
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

    def make_condition(self, where: Filter) -> Condition:
        """Return the condition for a filter. Call within a transaction."""
        with self._db.read_transaction() as db:
            return build_condition(db, where, self._db.salience)

    def open_columns(self) -> ColumnSearch | None:
        """Return what searches in columns; None if numpy is not loaded: rows are read.

        In what the process keeps in memory, or in the database.
        """
        if "numpy" not in sys.modules:
            return None
        tables = self._db.tables
        table = tables.get_table() if tables is not None else None
        if tables is not None and table is not None:
            from muisti.storage.postgres.snapshot_source import PostgresSource
            from muisti.storage.snapshot.search import SnapshotSearch

            return SnapshotSearch(self, PostgresSource(self._db), table, tables)
        from muisti.storage.postgres.column_search import PostgresColumns

        return PostgresColumns(self, self._db)

    def read_shown(self, numbers: Sequence[int], where: Filter) -> dict[int, Candidate]:
        """Return candidates by their row numbers, without their neighbours.

        Within a transaction that reads, `get_many` and `get_words` need not read them again.
        """
        with self._db.hold() as transaction, self._db.read_transaction() as db:
            condition, values = self.make_condition(where)
            sql = _SHOWN.format(columns=self._columns, among=FROM_ENTRIES, condition=condition)
            rows = fetch(db, sql, (*values, list(numbers)))
        found = {}
        for row in rows:
            n, allowed = row[-5:-3]
            id_, created, valid_from, valid_until, content, *cells = _get_cells(row)
            times = (
                created / 1_000_000,
                None if valid_from is None else valid_from / 1_000_000,
                None if valid_until is None else valid_until / 1_000_000,
            )
            opening = decode_text(content[:80])
            found[n] = Candidate._make(
                (id_, *times, *cells[:2], opening, *cells[2:], (), (), allowed)
            )
            if not transaction.writes:
                transaction.rows[id_] = row
        return found

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

    def frequencies(self, words: Sequence[str]) -> Frequencies:
        """Return how many texts are indexed, and in how many each word occurs."""
        tables = self._db.tables
        table = tables.get_table() if tables is not None and "numpy" in sys.modules else None
        counted = table.count_texts(words) if table is not None else None
        return super().frequencies(words) if counted is None else counted

    def close(self) -> None:
        """Close all connections."""
        self._db.close()


_SHOWN = """
SELECT {columns}, m.n, ({condition}), w.title, w.labels, w.body
FROM {among} LEFT JOIN words w ON w.n = m.n WHERE m.n = ANY(%s)
"""
_get_cells = itemgetter(
    *map(
        READ_NAMES.index,
        """id created_at valid_from valid_until content importance salience content_hash session_id
        origin user""".split(),
    )
)
