"""Store, index and vectors in PostgreSQL pass the suites of their ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from muisti.model import Memory
from muisti.ports import IndexChanges
from muisti.remember.index_rows import project_memory
from muisti.storage.postgres.connect import Database
from muisti.storage.postgres.index import PostgresIndex
from muisti.storage.postgres.vectors import PostgresVectors
from tests.conftest import FakeClock
from tests.contract.search_index_suite import SearchIndexContract
from tests.contract.vectors_making import Place
from tests.contract.vectors_suite import VectorsContract
from tests.postgres.server import make_location


@pytest.fixture
def index(clock: FakeClock) -> Iterator[PostgresIndex]:
    index = PostgresIndex(Database(make_location(), clock, timeout=5))
    yield index
    index.close()


class TestPostgresIndex(SearchIndexContract):
    pass


class TestPostgresVectors(VectorsContract):
    @pytest.fixture
    def place(self, clock: FakeClock) -> Iterator[Place]:
        location = make_location()
        with ExitStack() as closing:

            def opened() -> Place:
                database = Database(location, clock, timeout=5)
                index = PostgresIndex(database)
                closing.callback(index.close)

                def rebuild(memories: Sequence[Memory]) -> None:
                    rows = [project_memory(memory) for memory in memories]
                    index.rebuild(IndexChanges(memories=rows))

                return Place(index, PostgresVectors(database), opened, rebuild)

            yield opened()
