"""Store, index and vectors in memory pass the suites of their ports."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from muisti.errors import IndexBusy, Unsupported
from muisti.model import Memory, Usage
from muisti.ports import IndexChanges, JournalChanges
from muisti.remember.index_rows import project_memory
from muisti.settings import Settings
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.location import MemoryLocation
from muisti.storage.memory.reconciler import MemoryReconciler
from muisti.storage.memory.store import MemoryStore
from muisti.storage.memory.vectors import MemoryVectors
from tests.conftest import FakeClock
from tests.contract.location_suite import LocationContract
from tests.contract.making import filed, find_ids, ident
from tests.contract.search_index_suite import SearchIndexContract
from tests.contract.store_suite import Opened, StoreContract, a_message, an_event
from tests.contract.vectors_making import Place
from tests.contract.vectors_suite import VectorsContract
from tests.unit.making import a_memory


@pytest.fixture
def index(clock: FakeClock) -> MemoryIndex:
    return MemoryIndex(clock)


class TestMemoryIndex(SearchIndexContract):
    pass


class TestMemoryVectors(VectorsContract):
    @pytest.fixture
    def place(self, index: MemoryIndex) -> Place:
        def rebuild(memories: Sequence[Memory]) -> None:
            index.rebuild(IndexChanges(memories=[project_memory(memory) for memory in memories]))

        def opened() -> Place:
            return Place(index, MemoryVectors(index), opened, rebuild)

        return opened()


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def opened(self, clock: FakeClock, index: MemoryIndex) -> Opened:
        return Opened(MemoryStore(Settings(), clock, index), index)

    def test_a_change_that_the_index_refuses_is_stored_and_indexed_later(
        self, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def busy(changes: IndexChanges) -> None:
            raise IndexBusy("not now")

        with monkeypatch.context() as patched:
            patched.setattr(opened.index, "apply", busy)
            assert not opened.commit(
                created=[a_memory(1, "Apples")], messages=[a_message(1, "pears")]
            ).indexed
        assert not opened.commit(events=[an_event("recalled", 1)]).indexed
        opened.store.prepare(wait=False)
        assert (opened.known(1).access_count, opened.stored(1).indexed) == (1, True)
        assert len(find_ids(opened.index, "pears")) == 1


class TestMemoryReconciler:
    @pytest.fixture
    def opened(self, clock: FakeClock, index: MemoryIndex) -> Opened:
        opened = Opened(MemoryStore(Settings(), clock, index), index)
        opened.create(a_memory(1, "Apples"), a_memory(2, "Pears"))
        opened.commit(
            trashed=[opened.known(2)],
            events=[an_event("recalled", 1)],
            messages=[a_message(1, "plums")],
        )
        return opened

    @pytest.fixture
    def reconciler(self, opened: Opened, index: MemoryIndex) -> MemoryReconciler:
        store = opened.store
        assert isinstance(store, MemoryStore)
        return MemoryReconciler(store, index)

    def test_what_needs_files_says_so(self, reconciler: MemoryReconciler) -> None:
        with pytest.raises(
            Unsupported, match="sync is not supported: a vault in memory has no files"
        ):
            reconciler.sync()
        with pytest.raises(
            Unsupported, match="index_path is not supported: .* open a vault in a folder"
        ):
            reconciler.index_path("docs", None, None, trusted=None)
        with pytest.raises(Unsupported, match="forget_path"):
            reconciler.forget_path("docs")
        assert reconciler.sources() == []

    def test_an_index_that_is_right_says_so(self, reconciler: MemoryReconciler) -> None:
        for deep in (False, True):
            report = reconciler.verify(deep=deep)
            assert (report.ok, report.memories, report.journal_events) == (True, 2, 1)

    @pytest.mark.parametrize(
        ("changes", "parts"),
        [
            (IndexChanges(removed=[ident(1)]), {"texts", "words"}),
            (
                IndexChanges(memories=[project_memory(filed(3, "Nobody stored this"))]),
                {"texts", "words"},
            ),
            (
                IndexChanges(journal=JournalChanges(usage={ident(1): Usage(access_count=7)})),
                {"usage"},
            ),
        ],
    )
    def test_a_rebuild_mends_what_verify_finds(
        self, opened: Opened, reconciler: MemoryReconciler, changes: IndexChanges, parts: set[str]
    ) -> None:
        opened.index.apply(changes)
        assert {problem.path for problem in reconciler.verify().problems} == parts
        told: list[tuple[int, int]] = []
        reconciler.rebuild(lambda done, total: told.append((done, total)))
        assert told[-1] == (2, 2)
        assert reconciler.verify().ok
        assert find_ids(opened.index, "apples") == [ident(1)]


class TestMemoryLocation(LocationContract):
    @pytest.fixture
    def location(self) -> MemoryLocation:
        return MemoryLocation()

    def test_there_are_no_files(self, location: MemoryLocation) -> None:
        assert str(location) == ":memory:"
        with pytest.raises(
            Unsupported, match="watch_files is not supported: a vault in memory has no files"
        ):
            location.watch(threading.Event())
        with pytest.raises(Unsupported, match="notebook is not supported"):
            location.notebook("notes")
