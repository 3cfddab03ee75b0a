"""A vault in PostgreSQL that is copied from or to a folder."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from muisti.errors import Conflict
from muisti.model import Exchange
from muisti.ports.moving import (
    Line,
    ListedFile,
    Part,
    PushState,
    VaultFile,
    VaultLayout,
)
from muisti.ports.rows import IndexChanges
from muisti.ports.services import VaultFormat
from muisti.settings import Settings
from muisti.storage.postgres.connect import Connection, Database, fetch
from muisti.storage.postgres.documents import PostgresDocuments
from muisti.storage.postgres.index import PostgresIndex
from muisti.storage.postgres.memory_files import make_reference
from muisti.storage.postgres.pushed_files import PushedFiles
from muisti.storage.postgres.pushed_lines import PushedLines
from muisti.storage.postgres.queue import decode_exchange, encode_exchange
from muisti.storage.row_values import to_int, to_time

PAGE = 200
"""Files that are read with one statement."""
_DATA = ("memories", "versions", "events", "lines", "other_lines", "core", "files", "queue")
_IS_EMPTY = " AND ".join(f"NOT EXISTS (SELECT 1 FROM {table})" for table in _DATA)

_STATE = f"SELECT id, partial, {_IS_EMPTY} FROM (SELECT 1) one LEFT JOIN vault ON true"
_OTHER_PUSH = (
    "another `muisti push` to this database has started or finished in the meantime; run this one "
    "again to see what the database contains"
)

_MEMORIES = f"""SELECT id, archived, path, file FROM memories
WHERE (id, archived) > (%s, %s) ORDER BY id, archived LIMIT {PAGE}"""
_VERSIONS = f"""SELECT memory_id, at, merged, file FROM versions
WHERE (memory_id, at) > (%s, %s) ORDER BY memory_id, at LIMIT {PAGE}"""
_OF_VAULT = "NOT outside AND right(path, 1) <> '/'"
"""Of files: not copies of documents elsewhere, and not folders, which have no bytes."""
_FILES = f"""SELECT path, owner, file FROM files WHERE path > %s AND {_OF_VAULT}
ORDER BY path LIMIT {PAGE}"""


class PostgresMover:
    """Implements the port VaultStore."""

    def __init__(
        self,
        database: Database,
        index: PostgresIndex,
        documents: PostgresDocuments,
        settings: Settings,
        vault_format: VaultFormat,
        layout: VaultLayout,
    ) -> None:
        self._db = database
        self._index = index
        self._documents = documents
        self._layout = layout
        self._vault_id = ""
        """The vault that is written, from `begin` on."""
        self._files = PushedFiles(vault_format, layout)
        self._lines = PushedLines(index, settings, layout)

    # -- State

    def read_state(self) -> PushState:
        """Return what the store holds. A vault that has no ID gets one."""
        with self._db.read_transaction() as db:
            [(id_, partial, is_empty)] = fetch(db, _STATE)
        if id_ is None and self._db.state.writable:
            id_ = str(uuid.uuid4())
            with self._db.write_transaction() as db:
                db.execute(
                    """INSERT INTO vault (id, partial) VALUES (%s, false)
                       ON CONFLICT (tenant) DO NOTHING""",
                    (id_,),
                )
        # Of a store that cannot be written, the address must do.
        return PushState(
            id_ or str(uuid.uuid5(uuid.NAMESPACE_URL, self._db.address)), is_empty, bool(partial)
        )

    def begin(self, vault_id: str) -> None:
        """Begin to write a vault. Raises Conflict if another one was begun meanwhile."""
        with self._db.write_transaction() as db:
            [(id_, partial, is_empty)] = fetch(db, _STATE)
            if not is_empty and (id_ != vault_id or not partial):
                raise Conflict(_OTHER_PUSH)
            db.execute(
                """INSERT INTO vault (id, partial) VALUES (%s, true)
                   ON CONFLICT (tenant) DO UPDATE SET id = excluded.id, partial = true""",
                (vault_id,),
            )
        self._vault_id = vault_id

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """Write in one transaction. Raises Conflict if another push writes or has completed."""
        with self._db.write_transaction() as db:
            if not fetch(db, "SELECT 1 FROM vault WHERE id = %s AND partial", (self._vault_id,)):
                raise Conflict(_OTHER_PUSH)
            yield db

    def finish(self) -> None:
        """Note that the store is complete."""
        with self._write() as db:
            db.execute("UPDATE vault SET partial = false")

    def hold(self) -> AbstractContextManager[object]:
        """Let all reads in the block see one state of the store."""
        return self._db.hold()

    # -- Writing

    def write(self, files: Sequence[VaultFile], exists: Callable[[str], bool]) -> int:
        """Write files in one transaction, and return how many were not there yet."""
        with self._write() as db:
            number, changes = self._files.write(db, files, exists)
            self._index.apply(changes)
        return number

    def write_lines(self, file: ListedFile, lines: Sequence[Line]) -> int:
        """Append lines in one transaction, and return how many were not there yet."""
        with self._write() as db:
            return self._lines.write(db, file, lines)

    def check_end(self, file: ListedFile, end: int) -> None:
        """Raise Conflict if the store has lines of a file beyond its end."""
        with self._db.read_transaction() as db:
            self._lines.check_end(db, file, end)

    def find_missing(self, files: Sequence[ListedFile]) -> list[ListedFile]:
        """Return the files that the store does not have."""
        with self._db.read_transaction() as db:
            known = self._files.read_hashes(db, files)
        return [file for file in files if file.path not in known]

    def remove_missing(self, exists: Callable[[str], bool]) -> int:
        """Remove the files that are gone, and return how many."""
        with self._write() as db:
            number, removed = self._files.remove_missing(db, exists)
            self._index.apply(IndexChanges(removed=removed))
            return number + self._lines.remove_missing(db, exists)

    def index_documents(self) -> None:
        """Index the notes and documents among the files."""
        with self._write():
            self._documents.update_all()

    def write_queue(self, exchanges: Sequence[Exchange]) -> None:
        """Write exchanges that wait for extraction, in place of those of an earlier attempt.

        The next process takes them over.
        """
        pushed = "DELETE FROM queue WHERE accepted_by = '' AND NOT id = ANY(%s)"
        with self._write() as db:
            db.execute(pushed, ([exchange.id for exchange in exchanges],))
            for exchange in exchanges:
                db.execute(
                    """INSERT INTO queue (id, at, exchange, claimed_by, claimed_until)
                       VALUES (%s, %s, %s, '', now()) ON CONFLICT (tenant, id) DO NOTHING""",
                    (exchange.id, to_int(exchange.at), encode_exchange(exchange)),
                )

    # -- Reading

    def count_files(self) -> int:
        """Return about how many files the vault has."""
        sql = f"""SELECT (SELECT count(*) FROM memories) + (SELECT count(*) FROM versions)
                  + (SELECT count(*) FROM files WHERE {_OF_VAULT})
                  + (SELECT count(DISTINCT owner) FROM core)"""
        with self._db.read_transaction() as db:
            return int(fetch(db, sql)[0][0]) + len(self._lines.list_paths(db))

    def read_files(self) -> Iterator[Sequence[VaultFile]]:
        """Yield all whole files, in batches."""
        with self._db.read_transaction() as db:
            after: tuple[object, ...] = ("", False)
            while rows := fetch(db, _MEMORIES, after):
                batch = []
                for id_, archived, path, data in rows:
                    if archived:
                        file = self._layout.make_archive_path(path, id_)
                        batch.append(VaultFile(Part.ARCHIVED, file, data))
                    else:
                        batch.append(VaultFile(Part.MEMORY, path, data))
                yield batch
                after = rows[-1][:2]
            after = ("", 0)
            while rows := fetch(db, _VERSIONS, after):
                yield [
                    VaultFile(Part.VERSION, make_reference(id_, to_time(at), merged=merged), data)
                    for id_, at, merged, data in rows
                ]
                after = rows[-1][:2]
            kept = set()
            after = ("",)
            while rows := fetch(db, _FILES, after):
                yield [VaultFile(Part.OTHER, path, data) for path, _, data in rows]
                kept |= {path for path, owner, _ in rows if owner is not None}
                after = rows[-1][:1]
            yield from self._read_core(db, kept)

    def _read_core(self, db: Connection, kept: Collection[str]) -> Iterator[Sequence[VaultFile]]:
        """Yield the core memory that is not kept as a person wrote it, also that in the trash."""
        for (owner,) in fetch(db, "SELECT DISTINCT owner FROM core"):
            path = self._layout.make_core_path(owner)
            if path not in kept:
                yield [VaultFile(Part.CORE, path, self._files.format_core(db, owner))]
        trashed: dict[str, dict[str, dict[str, str]]] = {}
        sql = "SELECT owner, section, key, value FROM trashed_core ORDER BY at"
        for owner, section, key, value in fetch(db, sql):
            trashed.setdefault(owner, {}).setdefault(section, {})[key] = value
        for owner, sections in trashed.items():
            path = f".trash/{self._layout.make_core_path(owner)}"
            if path not in kept:
                yield [VaultFile(Part.CORE, path, self._layout.format_core(sections))]

    def read_line_files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the path and the lines of each file of lines."""
        with self._db.read_transaction() as db:
            yield from self._lines.read_files(db)

    def read_queue(self) -> list[Exchange]:
        """Return the exchanges that wait for extraction."""
        with self._db.read_transaction() as db:
            rows = fetch(db, "SELECT exchange FROM queue ORDER BY id")
        return [decode_exchange(text) for (text,) in rows]
