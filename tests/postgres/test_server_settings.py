"""What the settings of a server or a database may not change, and limits that it has."""

from __future__ import annotations

import time

import psycopg
import pytest

from muisti import bootstrap
from muisti.errors import VaultBusy, VaultUnusable
from muisti.storage.postgres.inspect import inspect_database
from tests.postgres.server import make_location
from tests.postgres.test_connect import Opener, connected, empty, run

__all__ = ["connected", "empty"]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_in_another_encoding_is_refused(
    empty: str, connected: Opener, encoding: str
) -> None:
    name = empty.rpartition("/empty_")[2].partition("?")[0]
    other = f"{encoding.lower()}_{name}"
    sql = f"CREATE DATABASE {other} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'"
    run(empty, sql)
    try:
        dsn = empty.replace(f"empty_{name}", other)
        with pytest.raises(VaultUnusable, match=f"has the encoding {encoding}.*encoding=UTF8"):
            _ = connected(dsn).state
        assert inspect_database(dsn).encoding == encoding
        with psycopg.connect(dsn) as db:
            found = db.execute("SELECT to_regnamespace('muisti') IS NULL").fetchone()
        assert found == (True,)
    finally:
        run(empty, f"DROP DATABASE {other} WITH (FORCE)")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("client_encoding", "LATIN1"),
        ("standard_conforming_strings", "off"),
        ("bytea_output", "escape"),
        ("datestyle", "German"),
        ("timezone", "Asia/Kathmandu"),
        ("extra_float_digits", "-5"),
        ("default_transaction_isolation", "serializable"),
    ],
)
def test_settings_of_a_database_change_nothing(
    empty: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    database = empty.partition("@/")[2].partition("?")[0]
    try:
        run(empty, f"ALTER DATABASE {database} SET {name} = '{value}'")
    except psycopg.errors.InvalidParameterValue as error:
        pytest.skip(f"the server knows only one value: {error}")  # from version 19 on
    if name == "client_encoding":
        monkeypatch.setenv("PGCLIENTENCODING", value)
    text = "back\\slash 'quoted' \"日本語\" [[C:\\new]] #tag"
    with bootstrap.open(empty, settings={"embedder": "hashing"}) as memory:
        saved = memory.save(text)
        memory.append_message("chat_1", "user", text)
        memory.update(saved.id, title=r"a\b")
    with bootstrap.open(empty, settings={"embedder": "hashing"}) as memory:
        assert memory.get(saved.id).content == text  # type: ignore[union-attr]
        assert memory.verify(deep=True).problems == ()


@pytest.mark.parametrize(
    ("setting", "statement"),
    [
        ("statement_timeout", "SELECT pg_sleep(60)"),
        ("idle_in_transaction_session_timeout", "SELECT 1"),
    ],
)
def test_a_limit_of_the_server_is_named(connected: Opener, setting: str, statement: str) -> None:
    database = connected(make_location())
    with (
        pytest.raises(VaultBusy, match=f"ALTER ROLE … SET {setting} = "),
        database.read_transaction() as db,
    ):
        db.execute(f"SET LOCAL {setting} = 50".encode())
        time.sleep(0.5)
        db.execute(statement.encode()).fetchall()
    with database.read_transaction() as db:
        assert db.execute("SELECT 1").fetchone() == (1,)
