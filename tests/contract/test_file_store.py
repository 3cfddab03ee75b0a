"""The vault of files, with its index in SQLite, passes the suite of the port `Store`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from muisti.settings import Settings
from muisti.storage.files.disk import Disk
from muisti.storage.files.documents import FileDocuments
from muisti.storage.files.init import create_vault
from muisti.storage.files.store import FileStore
from muisti.storage.files.sync.reconciler import FileReconciler
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.index import SqliteIndex
from tests.conftest import FakeClock
from tests.contract.store_suite import Opened, StoreContract


class TestFileStore(StoreContract):
    @pytest.fixture
    def opened(self, vault: Path, clock: FakeClock) -> Iterator[Opened]:
        create_vault(vault, Disk())
        settings = Settings()
        index = SqliteIndex(Database(vault / ".muisti", 5, clock), 5)
        store = FileStore(vault, settings, clock, index)
        reconciler = FileReconciler(store, settings, clock, FileDocuments(vault, settings))
        store.catch_up = lambda timeout: reconciler.sync(timeout=timeout)
        store.prepare(wait=True)
        yield Opened(store, index)
        assert reconciler.verify(deep=True).ok
        store.queue.close()
        index.close()
