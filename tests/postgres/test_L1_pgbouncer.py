"""muisti through PgBouncer in transaction mode: every transaction may get another session."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psycopg
import pytest

from muisti import Muisti, bootstrap
from muisti.bootstrap_postgres import administer_tenants, name_tenant
from muisti.bootstrap_tenants import TenantVaults
from muisti.errors import MuistiError, StoreUnavailable, TenantNotFound, VaultBusy
from muisti.storage.clock import SystemClock
from muisti.storage.postgres.connect import Database
from muisti.storage.postgres.nearest_index import NearestIndexes
from tests.postgres.pgbouncer import PgBouncer
from tests.postgres.roles import Roles, make_roles
from tests.postgres.server import make_location
from tests.rest.conftest import until

WRITERS = 8
SETTINGS = {"embedder": "hashing", "merge_duplicates": False}


@contextlib.contextmanager
def run_pooler(address: str, *users: str, statements: int = 0) -> Iterator[PgBouncer]:
    """Run PgBouncer in front of the server of an address."""
    host = str(psycopg.conninfo.conninfo_to_dict(address)["host"])
    with tempfile.TemporaryDirectory() as folder:
        pooler = PgBouncer(Path(folder), host, ["postgres", *users], statements=statements)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.stop()


@pytest.fixture(params=[0, 100], ids=["no-statements", "statements"])
def statements(request: pytest.FixtureRequest) -> int:
    """How many prepared statements PgBouncer keeps, which versions before 1.21 cannot."""
    return int(request.param)


@pytest.fixture
def location() -> str:
    """The address of an empty vault on the server itself."""
    return make_location()


@pytest.fixture
def pooler(location: str, statements: int) -> Iterator[PgBouncer]:
    """PgBouncer with two connections to the server."""
    with run_pooler(location, statements=statements) as pooler:
        if statements and pooler.version < (1, 21):
            pytest.skip("this PgBouncer keeps no prepared statements")
        yield pooler


def test_L1_everything_works_through_a_pooler(
    location: str, pooler: PgBouncer, statements: int
) -> None:
    texts = [f"apple number {n} is red" for n in range(20)]
    with bootstrap.open(pooler.name(location), settings=SETTINGS) as memory:
        ids = [one.id for one in memory.save_batch([{"content": text} for text in texts])]
        for n in range(10):  # a statement is prepared when it was run five times
            memory.update(ids[n], content=f"pear number {n} is green")
        memory.link(ids[1], ids[2], "SUPERSEDES")
        memory.delete(ids[3])
        memory.append_message("chat_1", "user", "The apple is red")
        memory.reindex_missing()
        memory.run_due_maintenance(0)
        found = [[one.memory.id for one in memory.search(text)] for text in texts]
        assert all(found)
        assert memory.verify(deep=True).problems == ()
    with bootstrap.open(location, settings=SETTINGS) as memory:
        assert [[one.memory.id for one in memory.search(text)] for text in texts] == found
    with psycopg.connect(pooler.name(location.partition("&options")[0])) as db:
        left = [name for (name,) in db.execute("SELECT name FROM pg_prepared_statements")]
    assert bool(left) == bool(statements)
    assert all(name.startswith("PGBOUNCER_") for name in left)


def test_L1_many_writers_share_two_connections_and_survive_a_restart(
    location: str, pooler: PgBouncer
) -> None:
    acknowledged: list[str] = []
    errors: list[MuistiError] = []
    stop = threading.Event()
    vaults = [
        bootstrap.open(pooler.name(location), settings=SETTINGS | {"embed_on_save": False})
        for _ in range(2)
    ]

    def write(number: int) -> None:
        memory, count = vaults[number % len(vaults)], 0
        while not stop.is_set():
            count += 1
            try:
                acknowledged.append(memory.save(f"Memory {count} of writer {number}").id)
                memory.search(f"writer {number}", mode="keyword")
            except MuistiError as error:
                errors.append(error)
                stop.wait(0.05)

    def wait_for_more() -> None:
        goal = len(acknowledged) + 2 * WRITERS
        until(lambda: len(acknowledged) >= goal)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        wait_for_more()
        assert errors == []  # two connections are enough
        pooler.restart()
        wait_for_more()
        pooler.restart()
        wait_for_more()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for vault in vaults:
            vault.close()
    # On a busy machine a writer may wait for the others longer than the lock's time-out.
    assert all(isinstance(error, (StoreUnavailable, VaultBusy)) for error in errors), errors[:3]
    with bootstrap.open(location, settings=SETTINGS) as memory:
        found = memory.list(limit=1000)
        assert set(acknowledged) <= {one.id for one in found}
        assert len({one.content for one in found}) == len(found)
        assert memory.verify(deep=True).problems == ()


@pytest.mark.parametrize("statements", [0])
def test_L1_a_pooler_does_not_forget_the_tenant_of_an_address(
    location: str, pooler: PgBouncer
) -> None:
    with Muisti.open(pooler.name(location), embedder="none") as memory:
        saved = memory.save("Only here")
    other = make_location()
    with Muisti.open(pooler.name(other), embedder="none") as memory:
        assert memory.get(saved.id) is None
    with Muisti.open(location, embedder="none") as memory:
        assert memory.get(saved.id) is not None


@pytest.mark.parametrize("statements", [0])
def test_L1_changes_of_others_are_noticed_without_notifications(
    location: str, pooler: PgBouncer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muisti")
    stop = threading.Event()
    with (
        Muisti.open(pooler.name(location), embedder="none") as memory,
        Muisti.open(location, embedder="none") as other,
    ):
        batches = memory.watch_files(stop).batches(settle=0.01, wake=0.05)
        assert list(islice(batches, 3)) == [set()] * 3
        other.save("Of another")
        assert {"rows"} in islice(batches, 20)
        assert next(batches) == set()
        stop.set()
        assert list(batches) == []
    assert "behind a pooler" in caplog.text


@pytest.mark.parametrize("statements", [0])
def test_L1_an_index_leaves_no_lock_with_the_pooler(location: str, pooler: PgBouncer) -> None:
    database = Database(pooler.name(location), SystemClock())
    with database.write_transaction() as db:
        [space] = db.execute("SELECT muisti.create_vector_table('test', 8, '')").fetchone() or [0]
    NearestIndexes(database).build(space)
    name = f"signs_{space}_near_{database.state.tenant}"
    tenant = database.state.tenant
    database.close()
    with psycopg.connect(location) as db:
        valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
        assert db.execute(valid, (f"muisti.{name}",)).fetchone() == (True,)
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid::bigint = %s"
        assert db.execute(locks, (tenant,)).fetchone() == (0,)


# -- Tenants


@pytest.fixture
def roles() -> Iterator[Roles]:
    """The roles of a product."""
    with make_roles() as made:
        yield made


def test_L3_tenants_share_sessions_of_a_pooler_and_nothing_else(roles: Roles) -> None:
    owner = roles.owner.partition("@")[0].rpartition("/")[2]
    with run_pooler(roles.owner, owner, roles.application_name) as pooler:
        administration = administer_tenants(pooler.name(roles.owner))
        added = {name: administration.add(name).number for name in ("ann", "ben", "cleo")}
        tokens = {name: administration.add_token(name, "write").secret for name in added}
        vaults = TenantVaults(pooler.name(roles.application), settings=SETTINGS)
        reported: set[int] = set()
        stop = threading.Event()
        listening = threading.Thread(target=vaults.listen, args=(stop, reported.add))
        listening.start()
        foreign: list[str] = []

        def use(name: str, count: int = 10) -> None:
            for n in range(count):
                memory = vaults.acquire(vaults.admit(tokens[name]))
                try:
                    memory.save(f"secret {n} of {name}")
                    seen = [one.memory.content for one in memory.search("secret", limit=50)]
                    foreign.extend(one for one in seen if not one.endswith(name))
                finally:
                    vaults.release(memory)

        def is_reported() -> bool:
            use("ann", 1)
            return bool(reported)

        try:
            threads = [threading.Thread(target=use, args=(name,)) for name in added for _ in "ab"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert foreign == []
            with psycopg.connect(pooler.name(roles.application)) as db:  # a forgotten tenant
                assert db.execute("SELECT count(*) FROM muisti.memories").fetchone() == (0,)
            until(is_reported)
        finally:
            stop.set()
            listening.join()
            vaults.close()
        assert reported <= set(added.values())
        for name, number in added.items():
            with Muisti.open(name_tenant(pooler.name(roles.application), number)) as memory:
                contents = {one.content for one in memory.list(limit=100)}
            assert contents == {f"secret {n} of {name}" for n in range(10)}
        with pytest.raises(TenantNotFound):
            Muisti.open(name_tenant(pooler.name(roles.application), 999_999))
