"""The reconciler of a vault in PostgreSQL: it rebuilds and verifies the index."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any

from muisti.errors import Unsupported
from muisti.lifecycle.document_sources import (
    find_indexed,
    make_added_event,
    make_dropped_event,
    update_source,
)
from muisti.model import DocumentSource, Problem, SyncReport, VerifyReport
from muisti.ports import Progress
from muisti.ports.change_set import ChangeSet
from muisti.ports.rows import MemoryRow, TextRow, Words
from muisti.ports.store import Clock
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.documents import Copies, find_document_differences
from muisti.storage.postgres.memory_files import read_all_written
from muisti.storage.postgres.rows import decode_text
from muisti.storage.postgres.store import PostgresStore
from muisti.storage.postgres.verify import (
    find_journal_differences,
    find_row_differences,
    find_word_differences,
)

_NO_FILES = "a vault in a database has no files to sync; its index is always current"
_DIFFERS = "the index differs from the store; run `muisti reindex`"


class PostgresReconciler:
    """Implements the port Reconciler. Rows are not edited outside muisti.

    Files that are indexed are copied into the database, which has no access to them later.
    """

    def __init__(self, store: PostgresStore, database: Database, clock: Clock) -> None:
        self._store = store
        self._db = database
        self._clock = clock

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
        """Return False: copies of documents are not read again."""
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
            expected, documents = self._store.project_all()
            problems = self._store.find_broken()
            different = find_text_differences(db, expected.memories, expected.texts)
            if deep:
                different += find_row_differences(db, expected.memories, expected.texts)
                if expected.journal is not None:
                    different += find_journal_differences(db, expected.journal)
                different += find_document_differences(db, documents)
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
        """Copy a file or a folder of documents from the disk of this process, and index it.

        Of files that were copied before, those that changed are copied again. Notes are indexed as
        they are. None keeps the earlier value. Raises InvalidRequest.
        """
        documents = self._store.documents
        source_path = documents.format.resolve_source(path)
        change = partial(
            update_source,
            path=source_path,
            source=source,
            project=project,
            trusted=trusted,
            user=user,
        )
        batches: Iterator[Copies] = iter(())
        if os.path.isabs(source_path):
            batches = documents.read_copies(change(documents.get_named().get(source_path)))
        # The first batch is stored with the source: both or, if the quota is exceeded, neither.
        first = next(batches, None)
        with self._store.lock():
            known = documents.get_named().get(source_path)
            wanted = change(known)
            if wanted != known:
                event = make_added_event(wanted, self._clock.now())
                self._store.commit(ChangeSet(events=[event]))
            changed = documents.store_copies(wanted, first) if first is not None else []
            if wanted != known:
                documents.update_source(wanted)
            elif changed:
                documents.update_paths(changed)
        for copies in batches:
            with self._store.lock():
                documents.update_paths(documents.store_copies(wanted, copies))
        return documents.get_named().get(source_path, wanted)

    def forget_path(self, path: str) -> DocumentSource:
        """Stop indexing a file or a folder, and delete its copies. Raises InvalidRequest."""
        documents = self._store.documents
        with self._store.lock():
            known = documents.get_named()
            workspace = [one.path for one in documents.format.list_workspace_sources()]
            wanted = find_indexed(path, known, workspace, documents.format.resolve_source)
            event = make_dropped_event(wanted, self._clock.now())
            self._store.commit(ChangeSet(events=[event]))
            documents.update_source(known[wanted])
            return known[wanted]

    def sources(self) -> list[DocumentSource]:
        """Return the document sources; those of the workspace first, if they have documents."""
        return self._store.documents.list_sources()


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
    for origin, part in (("message", "messages"), ("document", "sections of documents")):
        stored = {
            id_: (decode_text(content), *cells)
            for id_, content, *cells in fetch(db, _TEXTS, (origin,))
        }
        expected = {
            row.id: (row.content, row.path, row.created_at) for row in texts if row.origin == origin
        }
        if stored != expected:
            different.append(part)
    words: dict[str, Any] = {id_: Words(*cells) for id_, *cells in fetch(db, _WORDS)}
    wanted = {row.memory.id: row.words for row in memories}
    wanted |= {row.id: row.words for row in texts if any(row.words)}
    if words != wanted:
        different.append("words")
    return different


_TEXTS = "SELECT id, content, path, created_at FROM entries WHERE origin = %s"
_WORDS = "SELECT m.id, w.title, w.labels, w.body FROM words w JOIN entries m USING (n)"


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
