"""Builds a new index beside the one in use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import apsw

from muisti.errors import IndexBusy
from muisti.model import DocumentSource, Problem, Session, Usage
from muisti.ports.rows import IndexChanges
from muisti.storage.sqlite import file_state
from muisti.storage.sqlite.apply import apply_changes
from muisti.storage.sqlite.connect import Database, connect, sqlite_errors
from muisti.storage.sqlite.messages import read_sources
from muisti.storage.sqlite.migrate import migrate
from muisti.storage.sqlite.reader import read_session, read_usage
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.statistics import read_decayed_at, read_problems
from muisti.storage.sync_state import ConversationOffset, ReadOffset, SeenFile, StateChanges


class SqliteIndexBuilder:
    """A new index that is filled beside the one in use. Implements the port IndexBuilder."""

    def __init__(self, database: Database, timeout: float) -> None:
        self._database = database
        self.path: Path = database.build_path()
        with sqlite_errors():
            self._db: apsw.Connection | None = connect(self.path, timeout)
            try:
                self._db.pragma("synchronous", "off")  # after a crash the file is deleted anyway
                self._db.pragma("journal_mode", "memory")
                self._db.pragma("cache_size", -64_000)
                migrate(self._db)
                # The triggers update the word indexes row by row; `_finish` is faster.
                sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
                triggers = fetch(self._db, sql)
                for name, _ in triggers:
                    self._db.execute(f"DROP TRIGGER {name}")
                self._triggers = [create for _, create in triggers]
                self._finished = False
            except BaseException:
                self.discard()
                raise

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        """Write one transaction."""
        db = self._connection()
        with sqlite_errors(), db:
            apply_changes(db, changes, state, count=False)
            self._finished = False

    def seen(self, paths: Collection[str] | None = None) -> dict[str, SeenFile]:
        """Return the known files of memories by path."""
        return file_state.read_seen(self._connection(), paths)

    def journal_offsets(self) -> dict[str, ReadOffset]:
        """Return how far each file of the journal was read."""
        return file_state.read_journal_offsets(self._connection())

    def conversation_offsets(self, path: str | None = None) -> dict[str, ConversationOffset]:
        """Return how far each conversation file was read."""
        return file_state.read_conversation_offsets(self._connection(), path)

    def documents(self, paths: Collection[str] | None = None) -> dict[str, tuple[str, SeenFile]]:
        """Return the known documents by path."""
        return file_state.read_documents(self._connection(), paths)

    def sources(self) -> list[DocumentSource]:
        """Return the document sources."""
        return read_sources(self._connection())

    def problems(self) -> list[Problem]:
        """Return the files with problems."""
        return read_problems(self._connection())

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of these memories."""
        return read_usage(self._connection(), ids)

    def session(self, session_id: str) -> Session | None:
        """Return one session, or None."""
        return read_session(self._connection(), session_id)

    def decayed_at(self) -> datetime | None:
        """Return the time up to which decay was recorded."""
        return read_decayed_at(self._connection())

    def get_message_texts(self, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return role and content of indexed messages by ID."""
        return file_state.read_message_texts(self._connection(), ids)

    def last_message_at(self, conversation: str, path: str) -> int | None:
        """Return `created_at` of the last indexed line of a conversation's file."""
        return file_state.read_last_message_at(self._connection(), conversation, path)

    def fingerprint(self) -> dict[str, str]:
        """Return a digest of each part."""
        self._finish()
        return file_state.read_fingerprint(self._connection())

    def _finish(self) -> None:
        """Build word indexes and counts from all texts at once, five times faster than by row."""
        if self._finished:
            return
        db = self._connection()
        with sqlite_errors(), db:
            index_words(db)
            db.execute("DELETE FROM lexicon")
            db.execute(
                "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'word_index', 'row')"
            )
            # A save counts its words: most of them are frequent, and then in the same few pages.
            db.execute(
                "INSERT INTO lexicon (word, memories) "
                "SELECT term, doc FROM temp.vocabulary ORDER BY doc DESC, term"
            )
            db.execute("DROP TABLE temp.vocabulary")
            db.execute("INSERT INTO lexicon_parts (lexicon_parts) VALUES ('delete-all')")
            # Not `rebuild`, which reads them by word: FTS5 is slow unless row numbers rise.
            db.execute(
                "INSERT INTO lexicon_parts (rowid, word) SELECT n, word FROM lexicon ORDER BY n"
            )
            db.execute(
                "UPDATE totals SET value = (SELECT count(*) FROM words) WHERE name = 'memories'"
            )
        self._finished = True

    def swap(self) -> None:
        """Make this the index in use, with the vectors of unchanged texts."""
        db = self._connection()
        with sqlite_errors():
            old = self._database.path
            if old is not None and old.exists() and self._has_spaces(old):
                from muisti.storage.sqlite.vector_rows import copy_vectors  # numpy

                # If the old index is damaged, all texts are embedded again.
                with suppress(apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
                    copy_vectors(db, str(old))
            self._finish()
            for trigger in self._triggers:
                db.execute(trigger)
            db.pragma("journal_mode", "wal")
            db.pragma("synchronous", "full")  # from now on it must survive a power cut
            self._database.owner.stamp(db)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
        self._db = None
        self._database.adopt(self.path)

    def _has_spaces(self, old: Path) -> bool:
        """Return whether another index has vectors. Loads no numpy, which takes 0.1 s."""
        db = self._connection()
        with suppress(apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
            db.execute("ATTACH ? AS old", (str(old),))
            try:
                return bool(fetch(db, "SELECT 1 FROM old.spaces LIMIT 1"))
            finally:
                db.execute("DETACH old")
        return False

    def discard(self) -> None:
        """Delete it, unless it was swapped in."""
        if self._db is not None:
            self._db.close()
            self._db = None
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            raise IndexBusy("this index was already swapped in or discarded")
        return self._db


_BULK = {"hashsize": 32 * 1024 * 1024, "automerge": 0, "crisismerge": 1000}
"""Collect words in memory in few segments and merge them once: takes half the time."""
_BY_ROW = {"hashsize": 1024 * 1024, "automerge": 2, "crisismerge": 4}
"""As the schema sets them."""


def index_words(db: apsw.Connection) -> None:
    """Build the word index from the table of words, as one segment of FTS5 on a high level.

    FTS5 merges segments of the same level into one of the next, so each level has twice the texts
    of the one below. Its own `rebuild` leaves all texts on the lowest level, where the segments of
    single memories are: the next few saves would write the whole index again, and later ones too.
    Merging a part that is smaller than what is there raises all of it by two levels.
    """
    _set_options(db, _BULK)
    db.execute("INSERT INTO word_index (word_index) VALUES ('delete-all')")
    [(count,)] = fetch(db, "SELECT count(*) FROM words")
    start = -1
    for part in range(count.bit_length() // 2, -1, -1):
        last = fetch(db, _NTH_ROW, (max(1, int(count / PART_GROWTH**part)) - 1,))
        if last and last[0][0] > start:
            db.execute(_INDEX_WORDS, (start, *last[0]))
            db.execute("INSERT INTO word_index (word_index) VALUES ('optimize')")
            [(start,)] = last
    _set_options(db, _BY_ROW)


PART_GROWTH = 1.5
"""How much larger the index is after each part. With 2, a part may be the larger one: then FTS5
moves what is there to its level, the lowest.
"""
_NTH_ROW = "SELECT n FROM words ORDER BY n LIMIT 1 OFFSET ?"
_INDEX_WORDS = """
INSERT INTO word_index (rowid, title, labels, body)
SELECT n, title, labels, body FROM words WHERE n > ? AND n <= ? ORDER BY n
"""


def _set_options(db: apsw.Connection, options: Mapping[str, int]) -> None:
    for name, value in options.items():
        db.execute("INSERT INTO word_index (word_index, rank) VALUES (?, ?)", (name, value))
