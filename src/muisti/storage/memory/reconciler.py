"""What a store without files can do of reconciling: rebuild its index, and compare the two."""

from __future__ import annotations

from collections.abc import Collection

from muisti.errors import Unsupported
from muisti.model import DocumentSource, Problem, SyncReport, VerifyReport
from muisti.ports import Progress
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.store import MemoryStore

_NO_FILES = "a vault in memory has no files to sync: every change reaches its index at once"
_NO_DOCUMENTS = "a vault in memory does not index files: open a vault in a folder for that"


class MemoryReconciler:
    """Keeps the index of a store in memory in step. Nobody changes the store from outside."""

    def __init__(self, store: MemoryStore, index: MemoryIndex) -> None:
        self._store = store
        self._index = index

    def sync(self, *, confirm: bool = False, paths: Collection[str] | None = None) -> SyncReport:
        """Raise Unsupported: there are no files."""
        raise Unsupported("sync", _NO_FILES)

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Build the index anew from what is stored."""
        with self._store.lock():
            self._store.repair()
            memories, _ = self._store.count()
        if progress is not None:
            progress(memories, memories)
        return SyncReport()

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare the index with what is stored. It is built anew for that, whether deep or not."""
        with self._store.lock():
            self._store.prepare(wait=True)
            memories, events = self._store.count()
            different = self._index.differences(self._store.project_all())
        if progress is not None:
            progress(memories, memories)
        problems = [
            Problem(part, "the index is not what the store makes: run `muisti reindex`")
            for part in different
        ]
        return VerifyReport(
            files=0,
            memories=memories,
            journal_events=events,
            problems=tuple(problems),
        )

    def index_path(
        self, path: str, source: str | None, project: str | None, *, trusted: bool | None
    ) -> DocumentSource:
        """Raise Unsupported: documents are files."""
        raise Unsupported("index_path", _NO_DOCUMENTS)

    def forget_path(self, path: str) -> DocumentSource:
        """Raise Unsupported: documents are files."""
        raise Unsupported("forget_path", _NO_DOCUMENTS)

    def sources(self) -> list[DocumentSource]:
        """Nothing: no documents are searched."""
        return []
