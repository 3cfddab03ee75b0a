"""The index as a whole: transactions, file state, rebuilding and checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import apsw

from muisti.errors import IndexBusy, VaultFull
from muisti.storage.sqlite.duplicates import KnownRows, SqliteDuplicates
from muisti.storage.sqlite.index_file import IndexFile
from muisti.storage.sqlite.links import SqliteLinks
from muisti.storage.sqlite.messages import SqliteMessages
from muisti.storage.sqlite.reader import SqliteReader
from muisti.storage.sqlite.review import SqliteReview
from muisti.storage.sqlite.rows import fetch, make_columns
from muisti.storage.sqlite.statistics import SqliteStatistics
from muisti.storage.sqlite.vector_spaces import to_json
from muisti.storage.sqlite.word_rows import WordRows
from muisti.storage.sqlite.words import SqliteWords

if TYPE_CHECKING:
    from muisti.ports.rows import IndexChanges
    from muisti.storage.snapshot.search import SnapshotSearch
    from muisti.storage.sqlite.builder import SqliteIndexBuilder
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sync_state import ConversationOffset, ReadOffset, SeenFile, StateChanges


class SqliteIndex(
    IndexFile,
    SqliteReader,
    SqliteWords,
    SqliteLinks,
    SqliteDuplicates,
    SqliteMessages,
    SqliteReview,
    SqliteStatistics,
):
    """The current index file. Implements SyncedIndex."""

    def __init__(self, database: Database, timeout: float) -> None:
        self._db = database
        self._timeout = timeout
        self._columns = make_columns(database.salience)
        self._salience_recorded = database.salience_recorded
        self._purge_is_due = False
        self._known_rows = KnownRows()
        self._word_rows = WordRows(database)

    def open_columns(self) -> SnapshotSearch | None:
        """Return what searches in the snapshot; None without one."""
        held = self._db.held
        table = self._db.snapshots.get_table() if self._db.scans_vectors else None
        if table is None or held.db is None:
            return None
        if held.search is None or not held.search.uses(table):
            from muisti.storage.snapshot.search import SnapshotSearch  # numpy
            from muisti.storage.sqlite.snapshot.build import SqliteSource

            source = SqliteSource(held.db, self._db)
            held.search = SnapshotSearch(self, source, table, self._db.snapshots)
        return held.search

    # -- Writing

    def read_with_writer(self) -> AbstractContextManager[None]:
        """Within the context, reads of this thread share the page cache of its writes."""
        return self._db.read_with_writer()

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction."""
        from muisti.storage.sync_state import StateChanges

        self.write(changes, StateChanges())

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        """Write rows and the state of the files they come from in one transaction."""
        from muisti.storage.sqlite.apply import apply_changes  # hooks only read

        with self._db.write_transaction() as db:
            apply_changes(db, changes, state)
        if self._purge_is_due:
            self._purge_is_due = not self._db.checkpoint()

    def purge(self) -> None:
        """Remove deleted text from the index file, its log, and leftover index files.

        Raises IndexBusy while another process reads.
        """
        with self._db.write_transaction() as db:
            self._db.snapshots.remove(db)
        self._known_rows.clear()
        self._word_rows.clear()
        self._db.sweep()
        self._purge_is_due = not self._db.checkpoint(rewrite=True)
        if self._purge_is_due:
            raise IndexBusy(
                "another process is reading; the deleted text leaves the log at the next change"
            )

    @contextmanager
    def builder(self) -> Iterator[SqliteIndexBuilder]:
        """Create an empty index beside this one; delete it at the end unless it was swapped in."""
        from muisti.storage.sqlite.builder import SqliteIndexBuilder

        builder = SqliteIndexBuilder(self._db, self._timeout)
        try:
            yield builder
        finally:
            builder.discard()

    # -- The state of the files

    def seen(self, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
        """Return the known files of memories by path: all, or those with these paths."""
        from muisti.storage.sqlite.file_state import read_seen

        with self._db.read_transaction() as db:
            return read_seen(db, paths)

    def settled(self, tick_ns: int) -> tuple[dict[str, tuple[int, int, int]], dict[str, SeenFile]]:
        """Return the stats of files that were read long after they were changed, and the others."""
        from muisti.storage.sqlite.file_state import read_settled

        with self._db.read_transaction() as db:
            return read_settled(db, tick_ns)

    def find_seen(self, ids: Collection[str]) -> dict[str, str]:
        """Return the ID by path of the known files that have one of these IDs."""
        sql = "SELECT path, memory_id FROM seen WHERE memory_id IN (SELECT value FROM json_each(?))"
        with self._db.read_transaction() as db:
            return dict(fetch(db, sql, (to_json(ids),)))

    def has_more_files(self, number: int) -> bool:
        """Return whether the index knows more files of memories than this. Counts no further."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM seen LIMIT ?)"
        with self._db.read_transaction() as db:
            return bool(fetch(db, sql, (number + 1,))[0][0] > number)

    def is_empty(self) -> bool:
        """Return whether the index knows no memory, document or conversation."""
        sql = """SELECT 1 FROM seen UNION ALL SELECT 1 FROM documents
                 UNION ALL SELECT 1 FROM talk LIMIT 1"""
        with self._db.read_transaction() as db:
            return not fetch(db, sql)

    def journal_offsets(self) -> dict[str, ReadOffset]:
        """Return how far each file of the journal was read, by file name."""
        from muisti.storage.sqlite.file_state import read_journal_offsets

        with self._db.read_transaction() as db:
            return read_journal_offsets(db)

    def conversation_offsets(self, path: str | None = None) -> dict[str, ConversationOffset]:
        """Return how far each conversation file was read, by path: all, or this one."""
        from muisti.storage.sqlite.file_state import read_conversation_offsets

        with self._db.read_transaction() as db:
            return read_conversation_offsets(db, path)

    def documents(self, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
        """Return the document source and the file, by path: all, or these paths."""
        from muisti.storage.sqlite.file_state import read_documents

        with self._db.read_transaction() as db:
            return read_documents(db, paths)

    def get_message_texts(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return role and content of indexed messages by ID."""
        from muisti.storage.sqlite.file_state import read_message_texts

        with self._db.read_transaction() as db:
            return read_message_texts(db, ids)

    def last_message_at(self, conversation: str, path: str) -> int | None:
        """Return `created_at` of the last indexed line of a conversation's file, or None."""
        from muisti.storage.sqlite.file_state import read_last_message_at

        with self._db.read_transaction() as db:
            return read_last_message_at(db, conversation, path)

    # -- Checks

    def check(self) -> list[str]:
        """Return what is wrong with the index file itself."""
        from muisti.storage.sqlite.migrate import find_schema_differences

        try:
            return self._check_all()
        except VaultFull:  # some checks need a write transaction
            with self._db.read_transaction() as db:
                found = find_schema_differences(db)
                sql = "PRAGMA integrity_check"
                return found + [str(row[0]) for row in db.execute(sql) if row[0] != "ok"]

    def _check_all(self) -> list[str]:
        from muisti.storage.sqlite.migrate import find_schema_differences

        with self._db.write_transaction() as db:
            found = find_schema_differences(db)
            for table in ("word_index", "lexicon_parts"):
                try:
                    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
                except apsw.Error as error:
                    found.append(f"{table}: {error}")
            # FTS5 comes first: its check refreshes a cache; with a stale one the pragma fails.
            found += [str(row[0]) for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            if not found and fetch(db, "SELECT 1 FROM spaces"):
                from muisti.storage.sqlite.vector_rows import find_vector_problems  # numpy

                found += find_vector_problems(db)
            return found

    def fingerprint(self) -> dict[str, str]:
        """Return a digest of each part."""
        from muisti.storage.sqlite.file_state import read_fingerprint

        with self._db.read_transaction() as db:
            return read_fingerprint(db)
