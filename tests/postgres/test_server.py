"""The PostgreSQL server of the tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.postgres.server import NoServer, Server, make_location


def test_each_vault_is_a_tenant_of_its_own() -> None:
    found = set()
    for location in (make_location(), make_location()):
        with psycopg.connect(location) as db:
            found.add(db.execute("SELECT current_setting('muisti.tenant')").fetchone())
    assert len(found) == 2


def test_pgvector_is_there() -> None:
    with psycopg.connect(make_location()) as db:
        sql = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        assert db.execute(sql).fetchone() == (1,)


def test_a_server_of_its_own_restarts_with_its_data() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # `nobody` must reach it
        try:
            server = Server(Path(folder), options={})  # with fsync
            server.create()
            server.start()
        except NoServer as error:
            pytest.skip(f"no PostgreSQL server: {error}")
        try:
            with psycopg.connect(server.dsn) as db:
                db.execute("CREATE TABLE kept AS SELECT 7 AS n")
            server.stop()
            server.start()
            with psycopg.connect(server.dsn) as db:
                assert db.execute("SELECT n FROM kept").fetchone() == (7,)
        finally:
            server.stop()
