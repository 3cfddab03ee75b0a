"""`muisti doctor` with a vault in PostgreSQL: each problem with its fix, never a password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from muisti import Muisti
from muisti.bootstrap_moving import push
from muisti.storage.postgres.inspect import ServerState, inspect_database
from muisti.storage.postgres.moving import PostgresMover
from muisti.surfaces.cli.group import cli
from muisti.surfaces.setup import check_store
from muisti.surfaces.setup.check_vault import check_vault
from muisti.surfaces.setup.findings import Level
from tests.postgres.server import make_location
from tests.postgres.test_connect import empty, run
from tests.postgres.test_L2_moving import interrupt

__all__ = ["empty"]
SECRET = "hunter2"


def find(address: str) -> dict[str, tuple[Level, str]]:
    """What `doctor` finds of the store and the vault, with level and fix."""
    found = check_vault(address)
    return {one.what: (one.level, one.fix) for one in found if one.area in ("store", "vault")}


def find_one(address: str, part: str) -> tuple[Level, str]:
    [found] = [value for what, value in find(address).items() if part in what]
    return found


def test_L2_doctor_finds_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    location = make_location()
    with Muisti.open(location, embedder="none") as memory:
        memory.save("We chose PostgreSQL")
    assert {level for level, _ in find(location).values()} == {Level.OK}
    assert find_one(location, "1 memory") == (Level.OK, "")
    for part in ("PostgreSQL 1", "pgvector 0.", "schema ", "connections in use"):
        assert find_one(location, part)[0] is Level.OK
    monkeypatch.setenv("MUISTI_STORE", location)
    shown = CliRunner().invoke(cli, ["doctor"])
    assert "1 memory" in shown.output


def test_L2_doctor_changes_nothing(empty: str) -> None:
    assert find_one(empty, "no schema yet") == (Level.NOTE, "the next command creates it")
    level, fix = find_one(empty, "extension vector is not in the database")
    assert (level, "CREATE EXTENSION vector" in fix) == (Level.NOTE, True)
    with psycopg.connect(empty) as db:
        sql = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'muisti%'"
        assert db.execute(sql).fetchone() == (0,)


@pytest.mark.parametrize("address", [
    f"postgresql://u:{SECRET}@localhost:1/x",
    f"postgresql://u:{SECRET}@localhost:not-a-port/x",
])  # fmt: skip
def test_L2_doctor_never_shows_a_password(address: str) -> None:
    shown = CliRunner().invoke(cli, ["doctor", "--vault", address])
    assert shown.exit_code == 1
    assert "problem  store" in shown.output
    assert SECRET not in shown.output


@pytest.fixture
def role(empty: str) -> Iterator[str]:
    """The address of the same database for a role that may only read, with a schema."""
    with Muisti.open(empty, embedder="none") as memory:
        memory.save("We chose PostgreSQL")
    name = "reader_" + empty.rpartition("/empty_")[2].partition("?")[0]
    run(empty, f"CREATE ROLE {name} LOGIN")
    run(empty, f"GRANT USAGE ON SCHEMA muisti, muisti_tenant TO {name}")
    run(empty, f"GRANT SELECT ON ALL TABLES IN SCHEMA muisti, muisti_tenant TO {name}")
    yield empty.replace("//postgres@", f"//{name}@")
    run(empty, f"DROP OWNED BY {name}")
    run(empty, f"DROP ROLE {name}")


def test_L2_doctor_knows_what_a_role_may_do(empty: str, role: str) -> None:
    level, fix = find_one(role, "lacks rights: DELETE on muisti.")
    assert level is Level.PROBLEM
    name = role.partition("@")[0].rpartition("/")[2]
    assert fix == f"the owner of the schema runs `muisti tenants grant {name}`"
    tables = "ALL TABLES IN SCHEMA muisti, muisti_tenant"
    run(empty, f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {name}")
    assert find_one(role, "lacks rights: USAGE on muisti.")[0] is Level.PROBLEM
    run(empty, f"SELECT muisti.grant_application('{name}')")
    assert find_one(role, "1 memory") == (Level.OK, "")
    with Muisti.open(role, embedder="none") as memory:
        memory.save("It may write")
    run(empty, "DROP SCHEMA muisti, muisti_tenant CASCADE")
    level, fix = find_one(role, "may not create it")
    assert (level, "GRANT CREATE ON DATABASE" in fix) == (Level.PROBLEM, True)


def test_L2_doctor_knows_a_push_that_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = make_location()
    with Muisti.open(tmp_path / "vault", embedder="none") as memory:
        memory.save("We chose PostgreSQL")
    monkeypatch.setattr(PostgresMover, "write_queue", interrupt)
    with pytest.raises(KeyboardInterrupt):
        push(location, tmp_path / "vault")
    level, fix = find_one(location, "only a part of a vault")
    assert (level, "muisti push" in fix) == (Level.PROBLEM, True)


@pytest.mark.parametrize(
    ("change", "what", "level", "fix"),
    [
        ({"server": 14}, "PostgreSQL 14", "problem", "upgrade the server to PostgreSQL 15"),
        ({"pgvector": "0.7.4"}, "pgvector 0.7.4 is too old", "problem", "ALTER EXTENSION vector"),
        ({"pgvector": "", "pgvector_available": ""}, "is not installed", "problem", "-pgvector"),
        ({"pgvector": ""}, "not in the database", "problem", "CREATE EXTENSION vector"),
        ({"encoding": "LATIN1"}, "is LATIN1, not UTF8", "problem", "--encoding=UTF8"),
        ({"schema": 999}, "schema 999 is newer", "problem", "upgrade muisti"),
        ({"schema": 0, "may_create": True}, "no schema yet", "note", "the next command"),
        ({"is_read_only": True}, "read-only", "note", "the primary server"),
        ({"connections": 95, "most_connections": 97}, "95 of 97", "note", "max_connections"),
    ],
)
def test_L2_doctor_names_the_fix(
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    what: str,
    level: str,
    fix: str,
) -> None:
    """States that the test server cannot be in: the real one, with one value changed."""
    location = make_location()
    with Muisti.open(location, embedder="none"):
        state: ServerState = inspect_database(location)
    monkeypatch.setattr(check_store, "inspect_store", lambda _: state._replace(**change))  # type: ignore[arg-type]
    [found] = [one for one in check_store.check_store(location) if what in one.what]
    assert found.level == level
    assert fix in found.fix
