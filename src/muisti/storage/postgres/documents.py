"""Documents in PostgreSQL: files of the vault that are searched, and copies of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from muisti.lifecycle.document_sources import find_source, sort_sources
from muisti.model import DocumentSource
from muisti.ports.documents import DocumentFormat, StoredDocument
from muisti.ports.rows import IndexChanges, TextRow
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.index import PostgresIndex
from muisti.storage.row_values import to_int, to_time

BATCH_BYTES = 8_000_000
"""The size of documents that are read, or whose rows are written, at once."""
PAGE = 200


class ProjectedDocument(NamedTuple):
    """What the index has of a file."""

    path: str
    source: str | None
    """The path of its document source; None: it is not a document."""
    version: str
    problem: str
    rows: Sequence[TextRow]
    size: int
    is_copy: bool


class Copies(NamedTuple):
    """What differs between some files of a source and their stored copies."""

    changed: Sequence[StoredDocument]
    gone: Sequence[str]
    """Only in the last ones of a source."""
    stored: Mapping[str, tuple[Any, ...]]
    """The stored copies, by path, that the files were compared with."""


class PostgresDocuments:
    """Keeps the sections of stored documents in the index. Writing needs the tenant's lock."""

    def __init__(
        self, database: Database, index: PostgresIndex, document_format: DocumentFormat
    ) -> None:
        self.format = document_format
        self._db = database
        self._index = index

    def list_sources(self) -> list[DocumentSource]:
        """Return all sources with the number of their documents; the workspace's first.

        Those of the workspace only if they have documents.
        """
        with self._db.read_transaction() as db:
            sql = "SELECT source, count(*) FROM files WHERE source IS NOT NULL GROUP BY source"
            counts = dict(fetch(db, sql))
            named = self._index.sources()
        paths = {source.path for source in named}
        own = [
            DocumentSource(one.path, one.source, trusted=one.trusted, documents=counts[one.path])
            for one in self.format.list_workspace_sources()
            if one.path not in paths and one.path in counts
        ]
        return [*own, *named]

    def get_named(self) -> dict[str, DocumentSource]:
        """Return the named sources by path."""
        return {source.path: source for source in self._index.sources()}

    def read_copies(self, source: DocumentSource) -> Iterator[Copies]:
        """Read the files of a source outside the vault, a batch at a time, at least one.

        Needs no lock, as that may take long.
        """
        stored = self._find_copies(source)
        left = dict(stored)
        changed: list[StoredDocument] = []
        size = 0
        for one in self.format.copy_source(source):
            if left.pop(one.path, None) != _get_cells(one):
                changed.append(one)
                size += len(one.data)
            if size > BATCH_BYTES:
                yield Copies(changed, [], stored)
                changed, size = [], 0
        yield Copies(changed, list(left), stored)

    def store_copies(self, source: DocumentSource, copies: Copies) -> list[str]:
        """Store changed copies, and delete those of files that are gone.

        Copies that another process has changed meanwhile are left. Return the paths of those that
        were stored.
        """
        sources = self._list_sorted()
        with self._db.write_transaction() as db:
            stored = self._find_copies(source)
            changed = [
                one for one in copies.changed if stored.get(one.path) == copies.stored.get(one.path)
            ]
            for one in changed:
                db.execute(_COPY, (one.path, one.data, *_get_cells(one)))
            # Files of a nested source may be left out by the one around it.
            owners = {path: find_source(path, sources) for path in copies.gone}
            gone = [
                path
                for path, owner in owners.items()
                if owner and owner.path == source.path and stored.get(path) == copies.stored[path]
            ]
            if gone:
                db.execute("DELETE FROM files WHERE path = ANY(%s)", (gone,))
                self._index.apply(IndexChanges(emptied=[("document", path) for path in gone]))
        return [one.path for one in changed]

    def _find_copies(self, source: DocumentSource) -> dict[str, tuple[Any, ...]]:
        """Return time, version and problem of the stored copies of a source, by path."""
        sql = f"SELECT path, changed_at, version, problem {_BELOW} AND outside"
        with self._db.read_transaction() as db:
            return {path: tuple(cells) for path, *cells in fetch(db, sql, _make_below(source))}

    def update_source(self, source: DocumentSource) -> None:
        """Index the stored files of a source again.

        Copies that belong to no source any more are deleted.
        """
        self._update(_BELOW, _make_below(source))

    def update_paths(self, paths: Sequence[str]) -> None:
        """Index these files again, and remove those that are not stored from the index."""
        values = {"paths": list(paths)}
        with self._db.write_transaction() as db:
            stored = {path for (path,) in fetch(db, f"SELECT path {_NAMED}", values)}
            gone = [("document", path) for path in paths if path not in stored]
            self._index.apply(IndexChanges(emptied=gone))
            self._update(_NAMED, values)

    def update_all(self) -> None:
        """Index all stored files again."""
        self._update(_ALL, {})

    def _update(self, among: str, values: dict[str, Any]) -> None:
        batch: list[ProjectedDocument] = []
        size = 0
        with self._db.write_transaction() as db:
            for one in self._project(db, self._list_sorted(), among, values):
                batch.append(one)
                size += one.size
                if size > BATCH_BYTES:
                    self._write(db, batch)
                    batch, size = [], 0
            self._write(db, batch)

    def _list_sorted(self) -> list[DocumentSource]:
        """Return all sources, nested ones before those around them."""
        return sort_sources(self.format.list_workspace_sources(), self._index.sources())

    def _write(self, db: Connection, batch: Sequence[ProjectedDocument]) -> None:
        assign_documents(db, batch)
        self._index.apply(
            IndexChanges(
                texts=[row for one in batch for row in one.rows],
                emptied=[("document", one.path) for one in batch],
            )
        )

    def project_all(self, named: Collection[DocumentSource]) -> list[ProjectedDocument]:
        """Return what the index has of all stored files, with these named sources."""
        sources = sort_sources(self.format.list_workspace_sources(), named)
        with self._db.read_transaction() as db:
            return list(self._project(db, sources, _ALL, {}))

    def _project(
        self, db: Connection, sources: list[DocumentSource], among: str, values: dict[str, Any]
    ) -> Iterator[ProjectedDocument]:
        """Yield the files among the rows, a page at a time."""
        after = ""
        sql = f"""SELECT path, file, changed_at, outside, version, problem {among}
                  AND path > %(after)s ORDER BY path LIMIT {PAGE}"""
        while rows := fetch(db, sql, {**values, "after": after}):
            for path, data, changed_at, *others in rows:
                document = StoredDocument(path, data, to_time(changed_at), *others)
                yield self._project_one(document, find_source(path, sources))
            after = rows[-1][0]

    def _project_one(
        self, document: StoredDocument, source: DocumentSource | None
    ) -> ProjectedDocument:
        path, is_copy, size = document.path, document.is_copy, len(document.data)
        if source is None or not (is_copy or self.format.includes(source, path)):
            return ProjectedDocument(path, None, "", "", (), size, is_copy)
        rows, version, problem = self.format.project(document, source)
        return ProjectedDocument(path, source.path, version, problem, rows, size, is_copy)


def assign_documents(db: Connection, projected: Sequence[ProjectedDocument]) -> None:
    """Store the source of each file; delete copies that have none any more."""
    if not projected:
        return
    gone = [one.path for one in projected if one.is_copy and one.source is None]
    if gone:
        db.execute("DELETE FROM files WHERE path = ANY(%s)", (gone,))
    columns = zip(
        *((one.path, one.source, one.version, one.problem) for one in projected), strict=True
    )
    db.execute(_ASSIGN, [list(column) for column in columns])


def find_document_differences(db: Connection, projected: Sequence[ProjectedDocument]) -> list[str]:
    """Return "documents" if sources, versions or problems of files differ from these."""
    expected = {(one.path, one.source, one.version, one.problem) for one in projected}
    stored = set(fetch(db, "SELECT path, source, version, problem FROM files"))
    return [] if expected == stored else ["documents"]


_ALL = "FROM files WHERE true"
_NAMED = "FROM files WHERE path = ANY(%(paths)s)"
_BELOW = "FROM files WHERE (path = %(path)s OR path ^@ %(folder)s)"
_COPY = """INSERT INTO files (path, file, changed_at, version, problem, outside)
VALUES (%s, %s, %s, %s, %s, true)
ON CONFLICT (tenant, path) DO UPDATE SET file = excluded.file, changed_at = excluded.changed_at,
version = excluded.version, problem = excluded.problem"""
_ASSIGN = """UPDATE files f SET source = a.source, version = a.version, problem = a.problem
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) a (path, source, version, problem)
WHERE f.path = a.path
AND (f.source, f.version, f.problem) IS DISTINCT FROM (a.source, a.version, a.problem)"""


def _get_cells(document: StoredDocument) -> tuple[Any, ...]:
    return to_int(document.changed_at), document.version, document.problem


def _make_below(source: DocumentSource) -> dict[str, Any]:
    return {"path": source.path, "folder": f"{source.path}/"}
