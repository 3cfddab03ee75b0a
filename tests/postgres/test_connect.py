"""Opening a database: addresses, migrations, and what is said if it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from muisti import bootstrap
from muisti.bootstrap_moving import push
from muisti.errors import (
    IndexTooNew,
    InvalidRequest,
    MuistiError,
    StoreUnavailable,
    VaultBusy,
    VaultReadOnly,
    VaultUnusable,
)
from muisti.storage.postgres import migrate
from muisti.storage.postgres.connect import Database, describe_address
from muisti.storage.postgres.errors import make_error
from muisti.storage.postgres.migrate import load_migrations
from tests.conftest import FakeClock
from tests.postgres.server import make_location

SECRET = "hunter2%40x"


@pytest.fixture
def empty() -> Iterator[str]:
    """The address of a database of its own, without a schema."""
    server = make_location().partition("&options")[0]
    name = "empty_" + make_location().rpartition("%3D")[2]
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
        yield server.replace("/postgres?", f"/{name}?")
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


Opener = Callable[..., Database]


@pytest.fixture
def connected(clock: FakeClock) -> Iterator[Opener]:
    made: list[Database] = []

    def connect(dsn: str, timeout: float = 5) -> Database:
        made.append(Database(dsn, clock, timeout=timeout))
        return made[-1]

    yield connect
    for database in made:
        database.close()


def run(dsn: str, sql: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(sql.encode())


def test_the_first_to_open_it_creates_the_schema(empty: str, connected: Opener) -> None:
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda _: connected(empty).state, range(8)))
    assert {state.tenant for state in states} == {1}
    with psycopg.connect(empty) as db:
        found = db.execute("SELECT number FROM muisti.migrations").fetchall()
    assert found == [(number,) for number in load_migrations()]


def test_the_second_to_open_it_does_not_disturb_the_first(
    empty: str, connected: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has seen no schema, and waited until the first one had created it."""
    first, second = connected(empty), connected(empty)
    seen, read = [0], migrate.read_version
    with first.read_transaction() as db:
        db.execute("SELECT * FROM muisti.tenants")
        monkeypatch.setattr(migrate, "read_version", lambda db: seen.pop() if seen else read(db))
        monkeypatch.setenv("PGOPTIONS", "-c lock_timeout=1000")
        assert second.state.writable


def test_J7_a_database_of_an_earlier_version_gets_wikilinks(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bootstrap.open(empty, settings={"embedder": "none"}) as memory:
        source = memory.save("See [[Otters]] #animal", title="Log")
        target = memory.save("They swim.", title="Otters")
    undo_documents(empty)
    run(empty, "SELECT muisti.unprotect_tables()")
    for table in ("entries", "totals"):
        run(empty, f"DROP VIEW muisti_tenant.{table}")
    run(empty, "ALTER TABLE muisti.totals DROP stale; DELETE FROM muisti.labels")
    run(empty, "ALTER TABLE muisti.entries DROP aliases, DROP hashtags, DROP wikilinks")
    run(empty, "DELETE FROM muisti.migrations WHERE number = 8; SELECT muisti.protect_tables()")
    with bootstrap.open(empty, settings={"embedder": "none"}) as memory:
        assert [one.target for one in memory.links(source.id)] == [target.id]
        assert [one.id for one in memory.list(keywords=["animal"])] == [source.id]
        assert memory.verify(deep=True).problems == ()


def undo_documents(empty: str) -> None:
    """Undo migration 9."""
    run(empty, "SELECT muisti.unprotect_tables(); DROP VIEW muisti_tenant.files")
    run(
        empty,
        """ALTER TABLE muisti.files DROP changed_at, DROP outside, DROP source, DROP version,
                  DROP problem""",
    )
    run(empty, "DELETE FROM muisti.migrations WHERE number = 9; SELECT muisti.protect_tables()")


def test_F5_documents_that_an_earlier_version_pushed_are_indexed(
    empty: str, tmp_path: Path
) -> None:
    with bootstrap.open(tmp_path / "vault", settings={"embedder": "none"}) as memory:
        memory.save("They swim.", title="Otters")
    (tmp_path / "vault" / "MEMORY.md").write_text("# Seals\n\nThey bark.\n")
    push(empty, tmp_path / "vault")
    undo_documents(empty)
    run(empty, "SET muisti.tenant = 1; DELETE FROM muisti.entries WHERE origin = 'document'")
    with bootstrap.open(empty, settings={"embedder": "none"}) as memory:
        assert [hit.memory.id for hit in memory.search("bark")] == ["MEMORY.md#seals"]
        assert [one.path for one in memory.list_documents()] == ["MEMORY.md"]
        assert memory.verify(deep=True).problems == ()


def test_a_newer_schema_is_refused(empty: str, connected: Opener) -> None:
    assert connected(empty).state.writable
    run(empty, "INSERT INTO muisti.migrations (number) VALUES (999)")
    with pytest.raises(IndexTooNew, match="schema 999.*upgrade muisti"):
        _ = connected(empty).state


def test_a_process_that_runs_writes_nothing_into_a_newer_schema(
    empty: str, connected: Opener
) -> None:
    """Servers are upgraded one after the other, and the first new one updates the schema."""
    database = connected(empty)
    insert = "INSERT INTO totals (texts) VALUES (1) ON CONFLICT DO NOTHING"
    with database.write_transaction() as db:
        db.execute(insert)
    run(empty, "INSERT INTO muisti.migrations (number) VALUES (999)")
    for exclusive in (True, False):
        with (
            pytest.raises(IndexTooNew, match=r"schema 999.*upgrade muisti"),
            database.write_transaction(exclusive=exclusive) as db,
        ):
            db.execute("DELETE FROM totals")
    with database.read_transaction() as db:
        assert db.execute("SELECT texts FROM totals").fetchone() == (1,)
    run(empty, "DELETE FROM muisti.migrations WHERE number = 999")
    with database.write_transaction() as db:
        db.execute(insert)


def test_a_migration_that_fails_leaves_nothing(
    empty: str, connected: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {**load_migrations(), 2: "CREATE TABLE half (); SELECT 1 / 0;"}
    monkeypatch.setattr("muisti.storage.postgres.migrate.load_migrations", lambda: broken)
    with pytest.raises(MuistiError, match="division by zero"):
        _ = connected(empty).state
    with psycopg.connect(empty) as db:
        assert db.execute("SELECT to_regclass('muisti.migrations')").fetchone() == (None,)


def test_a_role_without_rights_is_told_which(empty: str, connected: Opener) -> None:
    run(empty, "DROP ROLE IF EXISTS guest_none; CREATE ROLE guest_none LOGIN")
    guest = empty.replace("postgres@", "guest_none@")
    with pytest.raises(VaultReadOnly, match="cannot be created or updated by this role"):
        _ = connected(guest).state
    assert connected(empty).state.writable
    with pytest.raises(VaultUnusable, match="`muisti tenants grant guest_none`"):
        _ = connected(guest).state
    run(empty, "DROP ROLE guest_none")


def test_an_owner_who_may_not_create_the_extension_is_told_who_may(
    empty: str, connected: Opener
) -> None:
    name = "empty_" + empty.partition("/empty_")[2].partition("?")[0]
    run(empty, f"DROP ROLE IF EXISTS owner_{name}; CREATE ROLE owner_{name} LOGIN")
    run(empty, f"ALTER DATABASE {name} OWNER TO owner_{name}")
    owner = empty.replace("postgres@", f"owner_{name}@")
    with pytest.raises(VaultReadOnly, match="a superuser run `CREATE EXTENSION vector`"):
        _ = connected(owner).state
    run(empty, "CREATE EXTENSION vector")
    assert connected(owner).state.writable
    run(empty, f"REASSIGN OWNED BY owner_{name} TO postgres; DROP OWNED BY owner_{name}")
    run(empty, f"DROP ROLE owner_{name}")


def test_a_role_that_may_only_read_reads(empty: str, connected: Opener) -> None:
    assert connected(empty).state.writable
    run(
        empty,
        """DROP ROLE IF EXISTS guest_reads; CREATE ROLE guest_reads LOGIN;
           GRANT USAGE ON SCHEMA muisti, muisti_tenant TO guest_reads;
           GRANT SELECT ON ALL TABLES IN SCHEMA muisti, muisti_tenant TO guest_reads""",
    )
    try:
        guest = connected(empty.replace("postgres@", "guest_reads@"))
        assert not guest.state.writable
        with guest.read_transaction() as db:
            assert db.execute("SELECT count(*) FROM entries").fetchone() == (0,)
        with (
            pytest.raises(VaultReadOnly, match="`muisti tenants grant ROLE`"),
            guest.write_transaction() as db,
        ):
            db.execute("INSERT INTO totals DEFAULT VALUES")
    finally:
        run(empty, "DROP OWNED BY guest_reads; DROP ROLE guest_reads")


def test_a_database_without_pgvector_says_so(empty: str, connected: Opener) -> None:
    assert connected(empty).state.writable
    run(empty, "DROP EXTENSION vector CASCADE")
    with pytest.raises(VaultUnusable, match="CREATE EXTENSION vector"):
        _ = connected(empty).state


@pytest.mark.parametrize(
    ("oldest", "value", "told"),
    [
        ("OLDEST_SERVER", 99, "is PostgreSQL 18; muisti needs 99 or later"),
        ("OLDEST_PGVECTOR", (99, 0), "ALTER EXTENSION vector UPDATE"),
    ],
)
def test_versions_that_are_too_old(
    connected: Opener, monkeypatch: pytest.MonkeyPatch, oldest: str, value: object, told: str
) -> None:
    monkeypatch.setattr(f"muisti.storage.postgres.migrate.{oldest}", value)
    with pytest.raises(VaultUnusable, match=told):
        _ = connected(make_location()).state


@pytest.mark.parametrize("created", [True, False])
def test_an_old_pgvector_is_refused_before_anything_is_created(
    empty: str, connected: Opener, monkeypatch: pytest.MonkeyPatch, created: bool
) -> None:
    if created:
        run(empty, "CREATE EXTENSION vector")
    monkeypatch.setattr(migrate, "OLDEST_PGVECTOR", (99, 0))
    with pytest.raises(VaultUnusable, match=r"muisti needs 99\.0 or later"):
        _ = connected(empty).state
    with psycopg.connect(empty) as db:
        sql = "SELECT to_regnamespace('muisti'), (SELECT count(*) FROM pg_extension"
        assert db.execute(f"{sql} WHERE extname = 'vector')").fetchone() == (None, int(created))


def test_a_pooler_may_give_each_transaction_another_session(connected: Opener) -> None:
    database = connected(make_location())
    for _ in range(3):
        with database.write_transaction() as db:
            db.execute("INSERT INTO totals (texts) VALUES (1) ON CONFLICT DO NOTHING")
        with database.read_transaction() as db:
            assert db.execute("SELECT texts FROM totals").fetchone() == (1,)
        connection = database.pools.primary.getconn()
        connection.execute("RESET ALL")
        connection.execute("SET SESSION AUTHORIZATION DEFAULT; UNLISTEN *")
        database.pools.primary.putconn(connection)


@pytest.mark.parametrize(
    ("dsn", "error", "told"),
    [
        (f"postgresql://u:{SECRET}@127.0.0.1:1/x", StoreUnavailable, "127.0.0.1:1"),
        (f"postgresql://u:{SECRET}@[::1/x", InvalidRequest, "must be an address such as"),
        (f"postgresql://u:{SECRET}@h/x?frob=1", InvalidRequest, "does not know: frob"),
        (f"postgresql://u:{SECRET}@no-such-host.invalid/x", StoreUnavailable, "correct the host"),
        ("postgresql://u:x@hunter2@127.0.0.1/x", InvalidRequest, "write @ in a password as %40"),
        (f"postgresql://u:{SECRET}@127.0.0.1:http/x", InvalidRequest, "a number as its port"),
    ],
)
def test_an_address_that_leads_nowhere(
    connected: Opener, dsn: str, error: type[MuistiError], told: str
) -> None:
    with pytest.raises(error, match=told) as raised:
        _ = connected(dsn).state
    for shown in (str(raised.value), repr(raised.value), repr(raised.value.__cause__)):
        assert "hunter2" not in shown


def test_a_database_that_does_not_exist(connected: Opener) -> None:
    dsn = make_location().replace("/postgres?", "/nothing_here?")
    with pytest.raises(StoreUnavailable, match='"nothing_here" does not exist.*`createdb`'):
        _ = connected(dsn).state


@pytest.mark.parametrize(
    ("told", "fix"),
    [
        ('FATAL:  password authentication failed for user "ann"', "PGPASSWORD or ~/.pgpass"),
        ("fe_sendauth: no password supplied", "PGPASSWORD or ~/.pgpass"),
        ('FATAL:  role "ann" does not exist', "create the role"),
        ("FATAL:  sorry, too many clients already", "raise max_connections"),
        ('FATAL:  too many connections for role "ann"', "the limit of the role"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1"', "allow the user and this machine"),
        ("server does not support SSL, but SSL was required", "correct sslmode"),
        ('FATAL:  unrecognized configuration parameter "x"', "correct the options"),
        ("FATAL:  unsupported startup parameter: x", "ALTER ROLE … SET"),
        ("server is not in hot standby mode", "correct target_session_attrs"),
        ("session is read-only", "correct target_session_attrs"),
        ('invalid port number: "99999"', "correct the port"),
        ('definition of service "x" not found', "pg_service.conf"),
        ("Connection refused", "check that the server runs"),
    ],
)
def test_a_connection_that_failed_names_the_fix(told: str, fix: str) -> None:
    error = make_error(psycopg.OperationalError(f"connection failed: {told}"), "postgresql:///x")
    assert isinstance(error, StoreUnavailable)
    assert fix in str(error)


def test_an_error_of_a_statement_is_not_one_of_the_connection() -> None:
    limit = psycopg.errors.ProgramLimitExceeded("index row size 3000 exceeds maximum 2704")
    found = make_error(limit, "postgresql:///x")
    assert not isinstance(found, StoreUnavailable)
    assert "refused a statement (index row size" in str(found)
    missing = psycopg.errors.UndefinedFile('could not access file "$libdir/vector"')
    assert "if it is the library of pgvector, install" in str(
        make_error(missing, "postgresql:///x")
    )


def test_addresses_are_shown_without_password_and_options() -> None:
    dsn = f"postgresql://ann:{SECRET}@db.example:5433/notes?sslmode=require&password=x"
    assert describe_address(dsn) == "postgresql://ann@db.example:5433/notes"
    assert describe_address("postgresql:///notes?host=/run/pg") == "postgresql:///notes"
    several = describe_address("postgresql://ann:secret@a:1,b:2/notes?target_session_attrs=any")
    assert several == "postgresql://ann@a:1,b:2/notes"
    assert describe_address("host=a,b port=5 dbname=notes") == "postgresql://a:5,b:5/notes"
    assert describe_address("postgresql://a,b/notes") == "postgresql://a,b/notes"


def test_tenants_do_not_see_each_other(connected: Opener) -> None:
    first, second = (connected(make_location()) for _ in range(2))
    with first.write_transaction() as db:
        db.execute("INSERT INTO totals (texts) VALUES (3)")
    with second.read_transaction() as db:
        assert db.execute("SELECT texts FROM totals").fetchone() is None


def test_a_connection_that_was_cut_is_replaced(connected: Opener) -> None:
    database = connected(make_location())
    with database.read_transaction() as db:
        [pid] = db.execute("SELECT pg_backend_pid()").fetchone() or [0]
    run(make_location(), f"SELECT pg_terminate_backend({pid})")
    with database.read_transaction() as db:
        assert db.execute("SELECT pg_backend_pid()").fetchone() != (pid,)


def test_a_transaction_whose_connection_is_cut_writes_nothing(connected: Opener) -> None:
    location = make_location()
    database = connected(location)
    with (
        pytest.raises(StoreUnavailable, match="the connection failed"),
        database.write_transaction() as db,
    ):
        db.execute("INSERT INTO totals (texts) VALUES (3)")
        [pid] = db.execute("SELECT pg_backend_pid()").fetchone() or [0]
        run(location, f"SELECT pg_terminate_backend({pid})")
    with database.write_transaction() as db:
        assert db.execute("SELECT texts FROM totals").fetchone() is None


def test_a_time_out_of_zero_is_for_locks_only(connected: Opener) -> None:
    database = connected(make_location(), timeout=0)
    with database.write_transaction() as db:
        db.execute("INSERT INTO totals (texts) VALUES (1)")
    with database.read_transaction() as db:
        assert db.execute("SELECT texts FROM totals").fetchone() == (1,)


def test_writers_wait_for_each_other_but_not_for_ever(connected: Opener) -> None:
    location = make_location()
    first, second, other = connected(location), connected(location), connected(make_location())
    with first.write_transaction():
        with pytest.raises(VaultBusy), second.write_transaction(timeout=0.1):
            pass
        with second.read_transaction(), other.write_transaction(timeout=5):
            pass  # neither readers nor other tenants wait
    with second.write_transaction(timeout=5):
        pass


def test_a_statement_that_nobody_waits_for_fails_the_transaction(connected: Opener) -> None:
    database = connected(make_location())
    with pytest.raises(MuistiError, match="division by zero"), database.write_transaction() as db:
        db.execute("INSERT INTO totals (texts) VALUES (3)")
        db.execute("SELECT 1 / 0")
    with (
        pytest.raises(MuistiError, match="division by zero"),
        database.write_transaction() as db,
        database.write_transaction(),
    ):
        db.execute("INSERT INTO totals (texts) VALUES (3)")
        db.execute("SELECT 1 / 0")
        db.execute("SELECT 1").fetchall()
    with database.write_transaction() as db:
        assert db.execute("SELECT texts FROM totals").fetchone() is None


@pytest.mark.parametrize("statement", ["SELECT 1", "SELECT 1 / 0"])
def test_a_part_of_a_transaction_that_fails_is_undone(connected: Opener, statement: str) -> None:
    database = connected(make_location())
    with database.write_transaction() as db:
        db.execute("INSERT INTO totals (texts) VALUES (3)")
        with pytest.raises(ValueError, match="no"), database.write_transaction():
            db.execute("UPDATE totals SET texts = 4")
            with database.write_transaction():
                db.execute("UPDATE totals SET texts = 5")
            db.execute(statement.encode())
            raise ValueError("no")
        db.execute("UPDATE totals SET length = 7")
    with database.read_transaction() as db:
        assert db.execute("SELECT texts, length FROM totals").fetchone() == (3, 7)


def test_a_transaction_that_failed_is_not_taken_for_committed(connected: Opener) -> None:
    database = connected(make_location())
    with (
        pytest.raises(MuistiError, match="a statement before it failed"),
        database.write_transaction(announce=False) as db,
    ):
        db.execute("INSERT INTO totals (texts) VALUES (3)")
        with pytest.raises(psycopg.Error):
            db.execute("SELECT 1 / 0").fetchall()
        with db.pipeline() as pipeline:
            pipeline.sync()
    with database.read_transaction() as db:
        assert db.execute("SELECT texts FROM totals").fetchone() is None
