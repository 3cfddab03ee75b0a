"""Store, index and vectors in PostgreSQL pass the suites of their ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from muisti.errors import Unsupported
from muisti.model import Memory
from muisti.ports import IndexChanges
from muisti.remember.index_rows import project_memory
from muisti.settings import Settings
from muisti.storage.files.markdown_codec import MarkdownFormat
from muisti.storage.postgres.connect import Database
from muisti.storage.postgres.index import PostgresIndex
from muisti.storage.postgres.location import PostgresLocation
from muisti.storage.postgres.reconciler import PostgresReconciler
from muisti.storage.postgres.store import PostgresStore
from muisti.storage.postgres.vectors import PostgresVectors
from tests.conftest import FakeClock
from tests.contract.location_suite import LocationContract
from tests.contract.notebook_suite import NotebookContract
from tests.contract.search_index_suite import SearchIndexContract
from tests.contract.store_suite import Opened, StoreContract
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


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def opened(self, clock: FakeClock) -> Iterator[Opened]:
        settings = Settings()
        database = Database(make_location(), clock, timeout=5)
        index = PostgresIndex(database)
        store = PostgresStore(database, index, settings, clock, MarkdownFormat(settings))
        yield Opened(store, index)
        assert PostgresReconciler(store, database, clock).verify(deep=True).problems == ()
        store.queue.close()
        index.close()


class TestPostgresLocation(LocationContract, NotebookContract):
    @pytest.fixture
    def location(self, clock: FakeClock) -> Iterator[PostgresLocation]:
        settings = Settings()
        database = Database(make_location(), clock, timeout=5)
        index = PostgresIndex(database)
        store = PostgresStore(database, index, settings, clock, MarkdownFormat(settings))
        yield PostgresLocation(database, store, clock)
        assert PostgresReconciler(store, database, clock).verify(deep=True).problems == ()
        database.close()

    def test_there_are_no_files(self, location: PostgresLocation) -> None:
        assert (str(location), location.name) == ("postgresql://postgres@/postgres", "postgres")
        with pytest.raises(Unsupported, match="a vault in a database has no files"):
            location.queue_changes()
