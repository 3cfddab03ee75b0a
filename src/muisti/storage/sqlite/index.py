"""The index as a whole: transactions, what it has seen of the files, rebuilding, checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import apsw

from muisti.errors import IndexBusy, IndexCorrupt
from muisti.model import Problem, Session, Shelf, Usage
from muisti.ports.search import IndexChanges
from muisti.storage.sqlite.connect import COMPLETE, Database, connect, sqlite_errors
from muisti.storage.sqlite.duplicates import SqliteDuplicates
from muisti.storage.sqlite.index_file import IndexFile
from muisti.storage.sqlite.links import SqliteLinks
from muisti.storage.sqlite.messages import SqliteMessages, read_sources
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.reader import SqliteReader, read_session, read_usage
from muisti.storage.sqlite.rows import STORED, columns, fetch
from muisti.storage.sqlite.statistics import SqliteStatistics, read_decayed_at, read_problems
from muisti.storage.sqlite.vector_spaces import as_json
from muisti.storage.sqlite.words import SqliteWords
from muisti.storage.sync_state import (
    ConversationOffset,
    FileStat,
    ReadOffset,
    SeenFile,
    StateChanges,
)


class SqliteIndex(IndexFile, SqliteReader, SqliteWords, SqliteLinks, SqliteDuplicates, SqliteMessages, SqliteStatistics):
    """The index file that the vault's pointer names."""

    def __init__(self, database: Database, timeout: float) -> None:
        self._db = database
        self._timeout = timeout
        self._columns = columns(database.salience)
        self._salience_recorded = database.salience_recorded
        self._purge_is_due = False

    # -- Writing

    def apply(self, changes: IndexChanges) -> None:
        """Write one transaction."""
        self.write(changes, StateChanges())

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        """Write rows, and what was seen of the files that they come from, in one transaction."""
        from muisti.storage.sqlite.apply import apply_changes  # a hook only reads

        with self._db.writing() as db:
            apply_changes(db, changes, state)
        if self._purge_is_due:
            self._purge_is_due = not self._db.checkpoint()

    def purge(self) -> None:
        """Leave removed text in no file: the write-ahead log, quarantined indexes, unfinished ones of dead processes.

        Raises IndexBusy if a reader is in the way.
        """
        self._db.sweep()
        self._db.vacuum()
        self._purge_is_due = not self._db.checkpoint()
        if self._purge_is_due:
            raise IndexBusy("a reader keeps the write-ahead log open; the text leaves it with the next change after that")

    @contextmanager
    def builder(self) -> Iterator[SqliteIndexBuilder]:
        """Return an empty index beside this one."""
        builder = SqliteIndexBuilder(self._db, self._timeout)
        try:
            yield builder
        finally:
            builder.discard()

    # -- What was seen of the files

    def seen(self, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
        """Return every file that was seen, or those of these."""
        with self._db.reading() as db:
            return _read_seen(db, paths)

    def journal_offsets(self) -> dict[str, ReadOffset]:
        """Return how far the journal was read."""
        with self._db.reading() as db:
            return _read_journal_offsets(db)

    def conversation_offsets(self, path: str | None = None) -> dict[str, ConversationOffset]:
        """Return how far each file of a conversation, or one, was read."""
        with self._db.reading() as db:
            return _read_conversation_offsets(db, path)

    def documents(self, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
        """Return every document that was read, or those of these."""
        with self._db.reading() as db:
            return _read_documents(db, paths)

    def said(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return role and content of the indexed messages that have one of these ids."""
        with self._db.reading() as db:
            return _read_said(db, ids)

    def last_message_at(self, chat: str, path: str) -> int | None:
        """Return the time of the last indexed line of a conversation's file."""
        with self._db.reading() as db:
            return _read_last_message_at(db, chat, path)

    # -- Checks

    def check(self) -> list[str]:
        """Return what is wrong with the file itself."""
        with self._db.writing() as db:
            found: list[str] = []
            for table in ("word_index", "lexicon_parts"):
                try:
                    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
                except apsw.Error as error:
                    found.append(f"{table}: {error}")
            # In this order: the pragma alone trusts what FTS5 cached before other processes wrote, and sees damage.
            found += [str(row[0]) for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
            if not found and fetch(db, "SELECT 1 FROM spaces"):
                from muisti.storage.sqlite.vector_rows import wrong_vectors  # numpy

                found += wrong_vectors(db)
            return found

    def fingerprint(self) -> dict[str, str]:
        """Return a digest for each part."""
        with self._db.reading() as db:
            return _fingerprint(db)


class SqliteIndexBuilder:
    """A new index that is being filled beside the one in use."""

    def __init__(self, database: Database, timeout: float) -> None:
        self._database = database
        self.path: Path = database.build_path()
        with sqlite_errors():
            self._db: apsw.Connection | None = connect(self.path, timeout)
            try:
                self._db.pragma("synchronous", "off")  # a crash throws the whole file away
                self._db.pragma("journal_mode", "memory")
                self._db.pragma("cache_size", -64_000)
                migrate(self._db)
                self._triggers = _without_triggers(self._db)
                self._finished = False
            except BaseException:
                self.discard()
                raise

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        """Write one transaction."""
        from muisti.storage.sqlite.apply import apply_changes

        db = self._connection()
        with sqlite_errors(), db:
            apply_changes(db, changes, state, count=False)
            self._finished = False

    def seen(self, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
        """Return every file that was seen."""
        return _read_seen(self._connection(), paths)

    def journal_offsets(self) -> dict[str, ReadOffset]:
        """Return how far the journal was read."""
        return _read_journal_offsets(self._connection())

    def conversation_offsets(self, path: str | None = None) -> dict[str, ConversationOffset]:
        """Return how far each file of a conversation, or one, was read."""
        return _read_conversation_offsets(self._connection(), path)

    def documents(self, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
        """Return every document that was read, or those of these."""
        return _read_documents(self._connection(), paths)

    def sources(self) -> list[Shelf]:
        """Return what is searched beside the memories."""
        return read_sources(self._connection())

    def problems(self) -> list[Problem]:
        """Return files that cannot be used, and why."""
        return read_problems(self._connection())

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return what the journal said of these memories so far."""
        return read_usage(self._connection(), ids)

    def session(self, session_id: str) -> Session | None:
        """Return one session."""
        return read_session(self._connection(), session_id)

    def decayed_at(self) -> datetime | None:
        """Return up to when decay was recorded."""
        return read_decayed_at(self._connection())

    def said(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return role and content of the indexed messages that have one of these ids."""
        return _read_said(self._connection(), ids)

    def last_message_at(self, chat: str, path: str) -> int | None:
        """Return the time of the last indexed line of a conversation's file."""
        return _read_last_message_at(self._connection(), chat, path)

    def fingerprint(self) -> dict[str, str]:
        """Return a digest for each part."""
        self._finish()
        return _fingerprint(self._connection())

    def _finish(self) -> None:
        """Make the word indexes and the counts of words from all texts at once: in a fifth of the time that row by row takes."""
        if self._finished:
            return
        db = self._connection()
        with sqlite_errors(), db:
            _set_word_index(db, _AT_ONE_GO)
            db.execute("INSERT INTO word_index (word_index) VALUES ('rebuild')")
            db.execute("INSERT INTO word_index (word_index) VALUES ('optimize')")
            _set_word_index(db, _ROW_BY_ROW)
            db.execute("DELETE FROM lexicon")
            db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'word_index', 'row')")
            db.execute("INSERT INTO lexicon (word, memories) SELECT term, doc FROM temp.vocabulary")
            db.execute("DROP TABLE temp.vocabulary")
            db.execute("INSERT INTO lexicon_parts (lexicon_parts) VALUES ('rebuild')")
            db.execute("UPDATE totals SET value = (SELECT count(*) FROM words) WHERE name = 'memories'")
        self._finished = True

    def swap(self) -> None:
        """Make it the index in use."""
        db = self._connection()
        with sqlite_errors():
            self._keep_vectors(db)
            self._finish()
            for trigger in self._triggers:
                db.execute(trigger)
            db.pragma("journal_mode", "wal")
            db.pragma("synchronous", "full")  # from here on it has to survive a power cut
            db.pragma("application_id", COMPLETE)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
        self._db = None
        self._database.adopt(self.path)

    def _keep_vectors(self, db: apsw.Connection) -> None:
        """Take the vectors of unchanged texts along from the index in use."""
        old = self._database.path
        if old is not None and old.exists():
            from muisti.storage.sqlite.vector_rows import copy_vectors  # numpy

            # What cannot be read is embedded anew: a damaged index is what people build a new one for.
            with suppress(apsw.CorruptError, apsw.NotADBError):
                copy_vectors(db, str(old))

    def discard(self) -> None:
        """Remove it, unless it was swapped in."""
        if self._db is not None:
            self._db.close()
            self._db = None
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            raise IndexBusy("this index has been swapped in or discarded")
        return self._db


_AT_ONE_GO = {"hashsize": 32 * 1024 * 1024, "automerge": 0, "crisismerge": 1000}
"""Words are gathered in memory, in as few pieces as possible, which are merged once: half the time."""
_ROW_BY_ROW = {"hashsize": 1024 * 1024, "automerge": 2, "crisismerge": 4}
"""As the schema sets it."""


def _set_word_index(db: apsw.Connection, options: Mapping[str, int]) -> None:
    for name, value in options.items():
        db.execute("INSERT INTO word_index (word_index, rank) VALUES (?, ?)", (name, value))


def _without_triggers(db: apsw.Connection) -> list[str]:
    """Drop the triggers that let word indexes follow row by row; answers how to make them again."""
    triggers = fetch(db, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    return [sql for _, sql in triggers]


def _read_seen(db: apsw.Connection, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
    sql = "SELECT path, size, mtime_ns, inode, seen_ns, sha, memory_id FROM seen"
    if paths is None:
        rows = fetch(db, sql)
    else:
        rows = fetch(db, f"{sql} WHERE path IN (SELECT value FROM json_each(?))", (as_json(paths),))
    if {(type(row[0]), type(row[4]), type(row[6])) for row in rows} - _SENSIBLE:
        raise IndexCorrupt("the index has rows that make no sense; `muisti reindex` rebuilds it")
    return {
        path: SeenFile(FileStat(size, mtime, inode), seen_ns, sha, memory_id)
        for path, size, mtime, inode, seen_ns, sha, memory_id in rows
    }


_SENSIBLE = {(str, int, str), (str, int, type(None))}


def _read_journal_offsets(db: apsw.Connection) -> dict[str, ReadOffset]:
    rows = fetch(db, "SELECT file, offset, tail_sha FROM marks")
    return {name: ReadOffset(offset, tail_sha) for name, offset, tail_sha in rows}


def _read_conversation_offsets(db: apsw.Connection, path: str | None) -> dict[str, ConversationOffset]:
    sql = "SELECT file, size, mtime_ns, inode, seen_ns, offset, tail_sha FROM talk"
    rows = fetch(db, sql) if path is None else fetch(db, f"{sql} WHERE file = ?", (path,))
    return {
        file: ConversationOffset(FileStat(size, mtime, inode), seen_ns, ReadOffset(offset, tail))
        for file, size, mtime, inode, seen_ns, offset, tail in rows
    }


def _read_documents(db: apsw.Connection, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
    sql = "SELECT path, shelf, size, mtime_ns, inode, seen_ns, sha FROM documents"
    if paths is None:
        rows = fetch(db, sql)
    else:
        rows = fetch(db, f"{sql} WHERE path IN (SELECT value FROM json_each(?))", (as_json(paths),))
    return {
        path: (source, SeenFile(FileStat(size, mtime, inode), seen_ns, sha, None))
        for path, source, size, mtime, inode, seen_ns, sha in rows
    }


def _read_said(db: apsw.Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    sql = """SELECT e.id, m.role, e.content FROM json_each(?) j
             JOIN entries e ON e.id = j.value JOIN messages m USING (n)"""
    return {id_: (role, content) for id_, role, content in fetch(db, sql, (as_json(ids),))}


def _read_last_message_at(db: apsw.Connection, chat: str, path: str) -> int | None:
    sql = """SELECT e.created_at FROM messages m JOIN entries e USING (n)
             WHERE m.chat = ? AND m.file = ? ORDER BY m.place DESC LIMIT 1"""
    row = db.execute(sql, (chat, path)).fetchone()
    return None if row is None else int(row[0])


_PARTS = {
    # Row numbers, inodes and times of looking differ between two builds of the same vault; nothing else may.
    "memories": f"SELECT {', '.join(STORED)} FROM memories ORDER BY id",
    "labels": "SELECT field, value, id FROM labels JOIN memories USING (n) ORDER BY field, value, id",
    "links": "SELECT * FROM links ORDER BY source, type, target",
    "bands": "SELECT band, id, b.simhash FROM bands b JOIN memories USING (n) ORDER BY band, id",
    "usage": "SELECT * FROM usage ORDER BY id",
    "sessions": "SELECT * FROM sessions ORDER BY id",
    "uses": "SELECT * FROM uses ORDER BY at, session_id, memory_id, what",
    "seen": "SELECT path, size, sha, memory_id FROM seen ORDER BY path",
    "problems": "SELECT * FROM problems ORDER BY path, reason",
    "marks": "SELECT * FROM marks ORDER BY file",
    "words": "SELECT id, w.title, w.labels, w.body FROM words w JOIN entries USING (n) ORDER BY id",
    "lexicon": "SELECT word, memories FROM lexicon ORDER BY word",
    "texts": """SELECT id, origin, project, tier, session_id, created_at, updated_at, source, path, title, content_hash,
        source_hash, content, trusted FROM entries WHERE origin <> 'memory' ORDER BY id""",
    "messages": "SELECT id, chat, file, place, message_id, at, role, type, meta FROM messages JOIN entries USING (n) ORDER BY id",
    "talk": "SELECT file, size, offset, tail_sha FROM talk ORDER BY file",
    "shelves": "SELECT * FROM shelves ORDER BY path",
    "documents": "SELECT path, shelf, size, sha FROM documents ORDER BY path",
    "totals": "SELECT * FROM totals ORDER BY name",
}


def _fingerprint(db: apsw.Connection) -> dict[str, str]:
    import hashlib

    digests = {}
    for part, sql in _PARTS.items():
        digest = hashlib.sha256()
        for row in db.execute(sql):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        digests[part] = digest.hexdigest()
    return digests
