"""Large tenants get an index of their own, which finds as much as comparing all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muisti.storage.postgres.connect import Database, fetch
from muisti.storage.postgres.index import PostgresIndex
from muisti.storage.postgres.nearest import NearestVectors
from muisti.storage.postgres.vectors import PostgresVectors
from tests.conftest import FakeClock
from tests.contract.vectors_making import RECALL, Place, clustered, numbered, recall
from tests.postgres.server import make_location
from tests.rest.conftest import until

FORCED = "%20-c%20enable_seqscan%3Doff%20-c%20enable_sort%3Doff"
"""So few vectors would be compared without an index."""
COUNT = 2000


@pytest.fixture
def database(clock: FakeClock) -> Iterator[Database]:
    database = Database(make_location() + FORCED, clock, timeout=30)
    yield database
    database.close()


def read_indexes(database: Database) -> list[tuple[str, bool]]:
    sql = """SELECT indexrelid::regclass::text, indisvalid FROM pg_index
             WHERE indexrelid::regclass::text LIKE %s"""
    with database.read_transaction() as db:
        return [
            (name, valid) for name, valid in fetch(db, sql, (f"%near_{database.state.tenant}",))
        ]


@pytest.mark.parametrize("background", [True, False])
def test_a_search_in_a_large_space_starts_it(
    database: Database, monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    monkeypatch.setattr("muisti.storage.vector_codes.LAST_CENTRE", 1024)
    vectors = PostgresVectors(database, background=background)
    place = Place(PostgresIndex(database), vectors, lambda: place, lambda _: None)
    memories, found = numbered(COUNT), clustered(COUNT)
    place.fill(memories, found)
    before = recall(place, memories, found)
    if background:
        until(lambda: [valid for _, valid in read_indexes(database)] == [True])
        with database.read_transaction() as db:
            near = NearestVectors(database, place.space(), found[0], 10)
            query = near.make_query("true", 600)
            plan = fetch(db, f"EXPLAIN {query}", ("01" * 32,))
        assert "_near_" in str(plan)
        vectors.indexes.build(place.space().number)  # it is there already
    else:
        assert read_indexes(database) == []
    assert min(before, recall(place, memories, found)) >= RECALL
