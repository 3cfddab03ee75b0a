"""Bad places with real parts: a streaming replica, a full disk, and a pooler without sessions."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muisti import Muisti, bootstrap
from muisti.errors import VaultFull, VaultReadOnly
from muisti.storage.postgres import migrate, pools
from tests.contract.test_column_search import SETTINGS
from tests.postgres.server import NOBODY, NoServer, Server, make_location
from tests.rest.conftest import check_problem, client_of, until

pytestmark = pytest.mark.exhaustive


@contextmanager
def make_server(closing: ExitStack, options: dict[str, str] | None = None) -> Iterator[Server]:
    folder = Path(closing.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
    folder.chmod(0o755)  # `nobody` must reach it
    try:
        server = Server(folder, options)
        yield server
        server.start()
    except NoServer as error:
        pytest.skip(f"no PostgreSQL server: {error}")
    closing.callback(server.stop)


# -- A replica


def test_L1_a_replica_serves_reads_and_refuses_writes_with_the_fix() -> None:
    with ExitStack() as closing:
        with make_server(closing, {"fsync": "off"}) as primary:
            primary.create()
        with Muisti.open(primary.dsn, **SETTINGS) as memory:
            saved = memory.save("Apples are red")
        with make_server(closing, {"fsync": "off"}) as replica:
            replica.copy(primary)
        with Muisti.open(replica.dsn, **SETTINGS) as memory:
            assert not memory.is_writable
            assert memory.get(saved.id) is not None
            assert [hit.memory.id for hit in memory.search("apples")] == [saved.id]
            for change in (
                partial(memory.save, "Pears are green"),
                partial(memory.update, saved.id, title="Fruit"),
                partial(memory.delete, saved.id),
            ):
                with pytest.raises(VaultReadOnly, match="connect to the primary"):
                    change()
            with client_of(memory) as client:
                refused = client.post("/api/memories", json={"content": "Pears are green"})
                check_problem(refused, 403, "vault-read-only")
                assert client.get("/ready").json()["database"]["isPrimary"] is False
        both = f"postgresql://postgres@/postgres?host={primary.folder},{replica.folder}"
        with Muisti.open(f"{both}&target_session_attrs=read-write", **SETTINGS) as memory:
            later = memory.save("Pears are green")
            with Muisti.open(replica.dsn, **SETTINGS) as behind:
                until(lambda: behind.get(later.id) is not None)
        with Muisti.open(
            f"{both}&target_session_attrs=read-write", replica_lag=30, **SETTINGS
        ) as memory:
            found: Any = None
            for _ in range(3):
                memory.save(f"Plums are blue {time.monotonic()}")
                assert memory.search("apples")
                found = memory.get_stats().database
            assert found is not None
            assert found.read_lag_seconds is not None, "the replica has served the last read"


def test_L1_the_primary_serves_reads_while_a_replica_has_an_older_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = migrate.load_migrations()
    older = {number: sql for number, sql in every.items() if number < max(every)}
    with ExitStack() as closing:
        with make_server(closing, {"fsync": "off"}) as primary:
            primary.create()
        with monkeypatch.context() as patch, psycopg.connect(primary.dsn, autocommit=True) as db:
            patch.setattr(migrate, "load_migrations", lambda: older)
            migrate.prepare_schema(db, "the primary")
        with make_server(closing, {"fsync": "off"}) as replica:
            replica.copy(primary)
        paused = closing.enter_context(psycopg.connect(replica.dsn, autocommit=True))
        with psycopg.connect(primary.dsn, autocommit=True) as db:
            db.execute("CREATE TABLE replayed ()")  # a replica that replayed nothing is not read
        until(lambda: paused.execute("SELECT to_regclass('replayed')").fetchone() != (None,))
        paused.execute("SELECT pg_wal_replay_pause()")
        both = f"postgresql://postgres@/postgres?host={primary.folder},{replica.folder}"
        with Muisti.open(
            f"{both}&target_session_attrs=read-write", replica_lag=3600, **SETTINGS
        ) as memory:
            saved = memory.save("Apples are red, says [[Fruit]]")
            assert [hit.memory.id for hit in memory.search("apples")] == [saved.id]
            assert [one.id for one in memory.list()] == [saved.id]
            found = memory.get_stats().database
            assert found is not None
            assert found.is_primary
            paused.execute("SELECT pg_wal_replay_resume()")
            until(lambda: not memory.get_stats().database.is_primary)  # type: ignore[union-attr]
            assert [hit.memory.id for hit in memory.search("apples")] == [saved.id]


# -- A full disk


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder that holds 40 MB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        command = ["mount", "-t", "tmpfs", "-o", "size=40m,mode=0777", "tmpfs", folder]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("a small disk cannot be mounted here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def test_L1_a_full_disk_loses_nothing_and_recovers(small_disk: Path) -> None:
    with ExitStack() as closing:
        with make_server(closing, {"fsync": "off", "autovacuum": "off"}) as server:
            server.create()
        place = small_disk / "space"
        place.mkdir()
        os.chown(place, NOBODY, NOBODY)
        with psycopg.connect(server.dsn, autocommit=True) as db:
            db.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
            db.execute("CREATE DATABASE full_disk TABLESPACE small")
        dsn = server.dsn.replace("/postgres?", "/full_disk?")
        saved: dict[str, str] = {}
        with Muisti.open(dsn, embedder="none", merge_duplicates=False) as memory:
            ballast = small_disk / "ballast"
            free = os.statvfs(small_disk)
            ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - 2_000_000))
            with pytest.raises(VaultFull, match="no space left"):
                for number in range(1000):
                    text = f"{number} " + os.urandom(10_000).hex()
                    saved[memory.save(text).id] = text
            assert saved, "some were stored before"
            assert {one.id for one in memory.list(limit=1000)} == set(saved)
            with client_of(memory) as client:
                refused = client.post("/api/memories", json={"content": os.urandom(10_000).hex()})
                check_problem(refused, 507, "vault-full")
            ballast.unlink()
            text = "there is room again"
            saved[memory.save(text).id] = text
            assert {one.id: one.content for one in memory.list(limit=1000)} == saved
            assert memory.verify(deep=True).problems == ()
        server.stop(signal.SIGINT)
        server.start()
        with Muisti.open(dsn, embedder="none") as memory:
            assert memory.get_stats().total_count == len(saved)


# -- A pooler


def test_L1_nothing_depends_on_the_state_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a pooler in transaction mode: each transaction gets a session that knows nothing."""
    resets: list[int] = []

    def reset(connection: Any) -> None:
        connection.execute("DISCARD ALL")
        resets.append(connection.info.backend_pid)

    class Forgetful(pools.Pool):
        """Gives each transaction the session that was not used for longest, without its state."""

        def __init__(self, conninfo: str, *, kwargs: dict[str, Any], **options: Any) -> None:
            kwargs = {**kwargs, "prepare_threshold": None}  # as DISCARD ALL drops statements
            super().__init__(conninfo, kwargs=kwargs, **{**options, "min_size": 3, "reset": reset})

    monkeypatch.setattr(pools, "Pool", Forgetful)
    with bootstrap.open(make_location(), settings=SETTINGS) as memory:
        ids = [one.id for one in memory.save_batch([{"content": f"apple {n}"} for n in range(20)])]
        memory.reindex_missing()
        memory.update(ids[0], content="pear 0")
        memory.link(ids[1], ids[2], "SUPERSEDES")
        memory.delete(ids[3])
        memory.append_message("chat_1", "user", "The apple is red")
        assert len(memory.search("apple")) > 5
        assert memory.search("pear", mode="keyword")[0].memory.id == ids[0]
        memory.run_due_maintenance(0)
        assert memory.verify(deep=True).problems == ()
        assert memory.get_stats().total_count == 19
    assert len(set(resets)) >= 3
    assert len(resets) > 20
