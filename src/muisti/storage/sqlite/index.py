"""The index as a whole: transactions, what it has seen, rebuilding, checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from muisti.errors import IndexBusy, IndexCorrupt
from muisti.model import Problem, Shelf
from muisti.ports import Changes, Known, Mark, Stamp, TalkFile
from muisti.storage.sqlite.apply import apply_changes
from muisti.storage.sqlite.connect import COMPLETE, Database, connect, sqlite_errors
from muisti.storage.sqlite.documents import documents_of, shelves_of
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.rows import STORED, fetch


class SqliteIndex:
    """The index file that the vault's pointer names."""

    def __init__(self, database: Database, timeout: float) -> None:
        self._db = database
        self._timeout = timeout
        self._behind = False
        self._owes_scrubbing = False

    @property
    def behind(self) -> bool:
        """Whether something was written that the index does not have yet."""
        return self._behind

    @behind.setter
    def behind(self, behind: bool) -> None:
        if not behind:
            self._db.mark_complete()
        self._behind = behind

    def is_current(self) -> bool:
        """Whether the open file is still the one in use."""
        return self._db.is_current()

    def open_complete(self) -> bool:
        """Open the file in use, if there is one that is complete: nothing is made or mended, and no lock is needed."""
        return self._db.open_complete()

    def open(self) -> bool:
        """Open the file in use, or make one, which then is behind: nobody may take it for complete."""
        behind, self._behind = self._behind, True
        fresh = self._db.open()
        self._behind = fresh or behind
        return fresh

    def set_aside(self) -> None:
        """Put a damaged file out of the way."""
        self._db.set_aside()

    def apply(self, changes: Changes) -> None:
        """One transaction."""
        with self._db.writing() as db:
            apply_changes(db, changes)
        if self._owes_scrubbing:
            self._owes_scrubbing = not self._db.checkpoint()

    def known(self, paths: Collection[str] | None = None) -> dict[str, Known]:
        """Every file that was seen; or those of these."""
        with self._db.reading() as db:
            return _known(db, paths)

    def marks(self) -> dict[str, Mark]:
        """How far the journal was read."""
        with self._db.reading() as db:
            return {name: Mark(offset, tail) for name, offset, tail in db.execute("SELECT file, offset, tail_sha FROM marks")}

    def talk(self, path: str | None = None) -> dict[str, TalkFile]:
        """How far each file of a conversation, or one, was read."""
        with self._db.reading() as db:
            return _talk(db, path)

    def shelves(self) -> list[Shelf]:
        """What is searched beside the memories."""
        with self._db.reading() as db:
            return shelves_of(db)

    def documents(self) -> dict[str, tuple[str, Known]]:
        """Every document that was read."""
        with self._db.reading() as db:
            return documents_of(db)

    def problems(self) -> list[Problem]:
        """Files that cannot be used."""
        with self._db.reading() as db:
            return [Problem(path, reason) for path, reason in db.execute("SELECT path, reason FROM problems ORDER BY path")]

    def scrub(self) -> None:
        """Leave removed text in no file: the write-ahead log, indexes set aside, unfinished ones of dead processes.

        Raises IndexBusy if a reader is in the way.
        """
        self._db.sweep()
        self._db.vacuum()
        self._owes_scrubbing = not self._db.checkpoint()
        if self._owes_scrubbing:
            raise IndexBusy("a reader keeps the write-ahead log open; the text leaves it with the next change after that")

    @contextmanager
    def shadow(self) -> Iterator[ShadowIndex]:
        """An empty index beside this one."""
        shadow = ShadowIndex(self._db, self._timeout)
        try:
            yield shadow
        finally:
            shadow.discard()

    def check(self) -> list[str]:
        """What is wrong with the file itself."""
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
        """A digest for each part."""
        with self._db.reading() as db:
            return _fingerprint(db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class ShadowIndex:
    """A new index being built; it satisfies the parts of the Index port that building needs."""

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

    def apply(self, changes: Changes) -> None:
        """One transaction."""
        db = self._connection()
        with sqlite_errors(), db:
            apply_changes(db, changes, count=False)
            self._finished = False

    def known(self) -> dict[str, Known]:
        """Every file that was seen."""
        return _known(self._connection())

    def marks(self) -> dict[str, Mark]:
        """How far the journal was read."""
        rows = self._connection().execute("SELECT file, offset, tail_sha FROM marks")
        return {name: Mark(offset, tail) for name, offset, tail in rows}

    def talk(self, path: str | None = None) -> dict[str, TalkFile]:
        """How far each file of a conversation, or one, was read."""
        return _talk(self._connection(), path)

    def shelves(self) -> list[Shelf]:
        """What is searched beside the memories."""
        return shelves_of(self._connection())

    def documents(self) -> dict[str, tuple[str, Known]]:
        """Every document that was read."""
        return documents_of(self._connection())

    def fingerprint(self) -> dict[str, str]:
        """A digest for each part."""
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


def _known(db: apsw.Connection, paths: Collection[str] | None = None) -> dict[str, Known]:
    only, values = ("", ()) if paths is None else (" WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(list(paths)),))
    rows = fetch(db, f"SELECT path, size, mtime_ns, inode, seen_ns, sha, memory_id FROM seen{only}", values)
    if {(type(row[0]), type(row[4]), type(row[6])) for row in rows} - _SENSIBLE:
        raise IndexCorrupt("the index has rows that make no sense; `muisti reindex` rebuilds it")
    return {path: Known(Stamp(size, mtime, inode), seen, sha, id_) for path, size, mtime, inode, seen, sha, id_ in rows}


def _talk(db: apsw.Connection, path: str | None) -> dict[str, TalkFile]:
    only, values = ("", ()) if path is None else (" WHERE file = ?", (path,))
    rows = fetch(db, f"SELECT file, size, mtime_ns, inode, seen_ns, offset, tail_sha FROM talk{only}", values)
    return {
        file: TalkFile(Stamp(size, mtime, inode), seen, Mark(offset, tail))
        for file, size, mtime, inode, seen, offset, tail in rows
    }


_SENSIBLE = {(str, int, str), (str, int, type(None))}


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
    digests = {}
    for part, sql in _PARTS.items():
        digest = hashlib.sha256()
        for row in db.execute(sql):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        digests[part] = digest.hexdigest()
    return digests
