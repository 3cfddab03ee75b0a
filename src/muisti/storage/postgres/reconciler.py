"""The reconciler of a vault in PostgreSQL: it rebuilds and verifies the index."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from muisti.errors import Unsupported
from muisti.model import DocumentSource, Problem, SyncReport, VerifyReport
from muisti.ports import Progress
from muisti.ports.rows import MemoryRow, TextRow, Words
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.memory_files import read_all_written
from muisti.storage.postgres.rows import decode_text
from muisti.storage.postgres.store import PostgresStore
from muisti.storage.postgres.verify import (
    find_journal_differences,
    find_row_differences,
    find_word_differences,
)

_NO_FILES = "a vault in a database has no files to sync; its index is always current"
_NO_DOCUMENTS = "a vault in a database does not index files; open a vault in a folder"
_DIFFERS = "the index differs from the store; run `muisti reindex`"


class PostgresReconciler:
    """Implements the port Reconciler. Rows are not edited outside muisti."""

    def __init__(self, store: PostgresStore, database: Database) -> None:
        self._store = store
        self._db = database

    def sync(
        self,
        *,
        confirm: bool = False,
        paths: Collection[str] | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> SyncReport:
        """Raise Unsupported: there are no files."""
        raise Unsupported("sync", _NO_FILES)

    def has_outside_sources(self) -> bool:
        """Return False: there are no documents."""
        return False

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Rebuild the index from the store, in one transaction."""
        with self._store.lock():
            self._store.repair()
            with self._db.read_transaction() as db:
                memories, _ = count_stored(db)
        if progress is not None:
            progress(memories, memories)
        return SyncReport()

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare the index with the bytes of the files, the lines and the events.

        Deep: also links, labels, use, sessions, the counts of words, and the vectors.
        """
        with self._db.read_transaction() as db:
            memories, events = count_stored(db)
            expected = self._store.project_all()
            problems = self._store.find_broken()
            different = find_text_differences(db, expected.memories, expected.texts)
            if deep:
                different += find_row_differences(db, expected.memories, expected.texts)
                if expected.journal is not None:
                    different += find_journal_differences(db, expected.journal)
                different += find_word_differences(db)
                different += find_vector_problems(db)
        if progress is not None:
            progress(memories, memories)
        problems += [Problem(part, _DIFFERS) for part in different]
        return VerifyReport(
            files=0, memories=memories, journal_events=events, problems=tuple(problems)
        )

    def index_path(
        self,
        path: str,
        source: str | None,
        project: str | None,
        *,
        trusted: bool | None,
        user: str | None = None,
    ) -> DocumentSource:
        """Raise Unsupported: a server must not read its own disk for a client."""
        raise Unsupported("index_path", _NO_DOCUMENTS)

    def forget_path(self, path: str) -> DocumentSource:
        """Raise Unsupported: documents are files."""
        raise Unsupported("forget_path", _NO_DOCUMENTS)

    def sources(self) -> list[DocumentSource]:
        """Return nothing: there are no documents."""
        return []


def count_stored(db: Connection) -> tuple[int, int]:
    """Return the number of memories that are not archived, and of events."""
    sql = "SELECT (SELECT count(*) FROM memories WHERE NOT archived), (SELECT count(*) FROM events)"
    memories, events = fetch(db, sql)[0]
    return memories, events


def find_text_differences(
    db: Connection, memories: Collection[MemoryRow], texts: Collection[TextRow]
) -> list[str]:
    """Return the names of the parts in which the texts of the index differ from these rows."""
    different = []
    written = {memory.id: memory for memory in read_all_written(db)}
    if written != {row.memory.id: row.memory for row in memories}:
        different.append("memories")
    stored = {
        id_: (decode_text(content), path, created)
        for id_, content, path, created in fetch(db, _TEXTS)
    }
    if stored != {row.id: (row.content, row.path, row.created_at) for row in texts}:
        different.append("messages")
    words: dict[str, Any] = {id_: Words(*cells) for id_, *cells in fetch(db, _WORDS)}
    wanted = {row.memory.id: row.words for row in memories}
    wanted |= {row.id: row.words for row in texts if any(row.words)}
    if words != wanted:
        different.append("words")
    return different


_TEXTS = "SELECT id, content, path, created_at FROM entries WHERE origin = 'message'"
_WORDS = """SELECT m.id, w.title, w.labels, w.body FROM words w JOIN entries m USING (n)
WHERE m.origin <> 'document'"""


def find_vector_problems(db: Connection) -> list[str]:
    """Return what is wrong with the vectors of each space."""
    found = []
    for space, dimensions in fetch(
        db, "SELECT space, dimensions FROM spaces JOIN models USING (space)"
    ):
        table = f"vectors_{space:d}"
        checks = {
            "vectors of missing texts": f"""SELECT 1 FROM {table} v
                WHERE NOT EXISTS (SELECT 1 FROM entries m WHERE m.n = v.n) LIMIT 1""",
            "texts with a wrong number of vectors": f"""SELECT 1 FROM embedded e
                WHERE e.space = {space:d} AND e.pieces <>
                (SELECT count(*) FROM {table} v WHERE v.n = e.n) LIMIT 1""",
            "vectors without signs, or signs without vectors": f"""SELECT 1 FROM {table} v
                FULL JOIN signs_{space:d} s USING (v) WHERE v.n IS DISTINCT FROM s.n LIMIT 1""",
            "texts neither embedded nor waiting to be": f"""SELECT 1 FROM entries m
                WHERE m.content <> '' AND
                (SELECT count(*) FROM embedded e WHERE e.space = {space:d} AND e.n = m.n)
                + (SELECT count(*) FROM unembedded u WHERE u.space = {space:d} AND u.n = m.n) <> 1
                LIMIT 1""",
            "vectors of the wrong length": f"""SELECT 1 FROM {table}
                WHERE octet_length(codes) <> {dimensions:d} OR octet_length(rest) <> {dimensions:d}
                LIMIT 1""",
        }
        found += [problem for problem, sql in checks.items() if fetch(db, sql)]
    return found
