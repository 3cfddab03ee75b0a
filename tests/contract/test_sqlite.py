"""The index in SQLite passes the suite of its port, and that of an index that follows files; its
schema grows by numbered steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from muisti.errors import IndexCorrupt, IndexTooNew
from muisti.ports import IndexChanges
from muisti.storage.sqlite import migrate as migrating
from muisti.storage.sqlite.connect import Database, connect
from muisti.storage.sqlite.index import SqliteIndex
from muisti.storage.sqlite.migrate import load_migrations, migrate
from muisti.storage.sqlite.migrations import NEWEST
from muisti.storage.sqlite.owner import COMPLETE
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.snapshot import keeper
from muisti.storage.sync_state import StateChanges
from tests.conftest import FakeClock
from tests.contract.links_suite import having, superseding
from tests.contract.making import add, filed, ident
from tests.contract.search_index_suite import SearchIndexContract
from tests.contract.synced_index_suite import SyncedIndexContract, forget, put


class AlwaysSnapshot(SqliteIndex):
    """Builds a snapshot after every change."""

    def write(self, changes: IndexChanges, state: StateChanges) -> None:
        super().write(changes, state)
        self._db.snapshots.build()


@pytest.fixture
def index(
    tmp_path: Path, clock: FakeClock, request: pytest.FixtureRequest
) -> Iterator[SqliteIndex]:
    make = getattr(request.cls, "make", SqliteIndex)
    index = make(Database(tmp_path, 5, clock), 5)
    assert index.open() is True
    index.stale = False
    yield index
    index.close()


class TestSqliteIndex(SearchIndexContract):
    """Small enough that all rows are read into a table."""

    @pytest.fixture(autouse=True)
    def _sound(self, index: SqliteIndex, request: pytest.FixtureRequest) -> Iterator[None]:
        """After every test the file itself is sound: the word indexes fit the texts."""
        yield
        if index.is_current():
            assert index.check() == []


class TestIndexWithSnapshot(SearchIndexContract):
    make = AlwaysSnapshot


class TestIndexWithoutTable(SearchIndexContract):
    @pytest.fixture(autouse=True)
    def _no_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keeper, "SMALL", -1)


class TestSqliteSyncedIndex(SyncedIndexContract):
    def test_a_second_opener_sees_the_same_and_a_swap(
        self, index: SqliteIndex, tmp_path: Path
    ) -> None:
        put(index, filed(1, "shared"))
        other = SqliteIndex(Database(tmp_path, 5), 5)
        assert other.open() is False
        assert other.get(ident(1)) is not None
        with index.builder() as builder:
            builder.swap()
        assert not other.is_current()
        other.open()
        assert other.get(ident(1)) is None
        other.close()

    def test_an_index_that_was_never_filled_is_not_taken_for_complete(self, tmp_path: Path) -> None:
        for complete in (False, True):
            index = SqliteIndex(Database(tmp_path, 5), 5)
            assert (index.open(), index.stale) == (True, True)
            if complete:
                index.stale = False
            index.close()
        index = SqliteIndex(Database(tmp_path, 5), 5)
        assert (index.open(), index.stale) == (False, False)
        index.close()

    def test_no_removed_text_remains_in_the_files(self, index: SqliteIndex, tmp_path: Path) -> None:
        put(index, filed(1, "xyzzysecret plugh"), filed(2, "stays"))
        forget(index, filed(1, "xyzzysecret plugh"))
        index.purge()
        data = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
        assert b"xyzzy" not in data
        assert b"stays" in data

    def test_saves_after_a_rebuild_do_not_write_its_words_again(self, index: SqliteIndex) -> None:
        def read_segments() -> set[tuple[int, bytes]]:
            with index._db.read_transaction() as db:
                sql = "SELECT id, block FROM word_index_data WHERE id > 10"
                return set(fetch(db, sql))

        with index.builder() as builder:
            put(builder, *(filed(n, f"word{n} of {n % 7} things") for n in range(1, 300)))
            builder.swap()
        index.open()
        rebuilt = read_segments()
        for n in range(300, 320):
            put(index, filed(n, f"word{n} is a late thing"))
        assert rebuilt <= read_segments()
        assert index.check() == []
        assert index.find_words_containing("ord31", 2) == ["word31", "word310"]

    def test_batches_do_not_write_the_words_of_earlier_ones_again(self, index: SqliteIndex) -> None:
        for start in range(1, 1600, 100):
            put(index, *(filed(n, f"word{n} of {n % 7} things") for n in range(start, start + 100)))
        with index._db.read_transaction() as db:
            [(structure,)] = fetch(db, "SELECT block FROM word_index_data WHERE id = 10")
            [(segments,)] = fetch(db, "SELECT count(DISTINCT segid) FROM word_index_idx")
        # FTS5 merges two segments of a level into one of the next: sixteen batches make five.
        levels = structure[4]
        assert levels <= 5
        assert segments <= 8
        assert index.check() == []

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE entries SET valid_from = '' WHERE id = ?",
            "UPDATE links SET created_at = 'yesterday' WHERE source = ?",
        ],
    )
    def test_an_invalid_time_in_a_chain_is_damage(
        self, index: SqliteIndex, tmp_path: Path, damage: str
    ) -> None:
        add(index, having(1), superseding(2, 1), superseding(3, 1))
        db = connect(next(tmp_path.glob("index-*.db")), 5)
        db.execute(damage, (ident(3),))
        db.close()
        for read in (index.successors, index.chains, index.get_many):
            with pytest.raises(IndexCorrupt, match="invalid time"):
                read([ident(1)])


class TestMigrations:
    @pytest.fixture
    def db(self, tmp_path: Path) -> Iterator[apsw.Connection]:
        db = connect(tmp_path / "x.db", 1)
        yield db
        db.close()

    def test_numbers_begin_at_one_without_gaps(self) -> None:
        assert [number for number, _ in load_migrations()] == list(range(1, NEWEST + 1))

    def test_from_empty(self, db: apsw.Connection) -> None:
        assert db.pragma("user_version") == 0
        migrate(db)
        assert db.pragma("user_version") == load_migrations()[-1][0]
        tables = {
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
        assert {
            "entries",
            "messages",
            "documents",
            "words",
            "word_index",
            "lexicon",
            "usage",
            "sessions",
            "uses",
            "seen",
            "problems",
            "marks",
        } <= tables

    def test_again_changes_nothing(self, db: apsw.Connection) -> None:
        migrate(db)
        before = db.execute("SELECT * FROM sqlite_schema").fetchall()
        migrate(db)
        assert db.execute("SELECT * FROM sqlite_schema").fetchall() == before

    def test_an_index_of_a_later_muisti_is_left_alone(
        self, db: apsw.Connection, tmp_path: Path
    ) -> None:
        migrate(db)
        db.pragma("user_version", 999)
        with pytest.raises(IndexTooNew, match="schema 999.*upgrade muisti.*reindex"):
            migrate(db)
        assert db.pragma("user_version") == 999

    def test_a_step_that_fails_leaves_the_schema_as_it_was(
        self, db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        newest = load_migrations()[-1][0]
        steps = (
            *load_migrations(),
            (newest + 1, "CREATE TABLE extra (x); CREATE TABLE memories (y);"),
        )
        monkeypatch.setattr(migrating, "load_migrations", lambda: steps)
        monkeypatch.setattr(migrating, "NEWEST", newest + 1)
        with pytest.raises(IndexCorrupt):
            migrate(db)
        assert db.pragma("user_version") == newest
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'").fetchone() == (
            0,
        )

    def test_rows_of_before_have_no_user_and_no_agent_and_their_files_are_read_again(
        self, db: apsw.Connection
    ) -> None:
        for number, sql in load_migrations()[:4]:
            db.execute(sql)
            db.pragma("user_version", number)
        db.execute(
            "INSERT INTO entries (id, project, tier, kind, sector, created_at, updated_at, source, path, title, content_hash, "
            "content, source_hash) VALUES ('m', '', 'project', 'note', 'semantic', 1, 1, 'user', 'notes/m.md', 't', 'h', 'c', 's')"
        )
        db.execute(
            "INSERT INTO seen VALUES ('notes/m.md', 10, 1, 1, 1, 'sha', 'm'), ('notes/other.txt', 10, 1, 1, 1, 'none', NULL)"
        )
        db.pragma("application_id", COMPLETE)
        migrate(db)
        assert db.execute("SELECT user, agent, content FROM memories").fetchall() == [("", "", "c")]
        seen = db.execute("SELECT path, size, sha, memory_id FROM seen ORDER BY path").fetchall()
        assert seen == [("notes/m.md", -1, "", "m"), ("notes/other.txt", 10, "none", None)]
        assert db.pragma("application_id") != COMPLETE

    def test_a_later_step_is_added_to_an_earlier_index(
        self, db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        migrate(db)
        newest = load_migrations()[-1][0]
        steps = (*load_migrations(), (newest + 1, "CREATE TABLE extra (x);"))
        monkeypatch.setattr(migrating, "load_migrations", lambda: steps)
        monkeypatch.setattr(migrating, "NEWEST", newest + 1)
        migrate(db)
        assert db.pragma("user_version") == newest + 1
        assert db.execute("SELECT count(*) FROM extra").fetchone() == (0,)
