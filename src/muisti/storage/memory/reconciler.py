"""The reconciler of a store without files: it can only rebuild and verify the index."""

from __future__ import annotations

from collections.abc import Collection

from muisti.errors import Unsupported
from muisti.model import DocumentSource, Problem, SyncReport, VerifyReport
from muisti.ports import Progress
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.store import MemoryStore

_NO_FILES = "a vault in memory has no files to sync; its index is always current"
_NO_DOCUMENTS = "a vault in memory does not index files; open a vault in a folder"


class MemoryReconciler:
    """Implements the port Reconciler. No other program can change the store."""

    def __init__(self, store: MemoryStore, index: MemoryIndex) -> None:
        self._store = store
        self._index = index

    def sync(
        self,
        *,
        confirm: bool = False,
        paths: Collection[str] | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> SyncReport:
        """Raise Unsupported: there are no files."""
        raise Unsupported("sync", _NO_FILES)

    def has_outside_sources(self) -> bool:
        """Return False: there are no documents."""
        return False

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Rebuild the index from the store."""
        with self._store.lock():
            self._store.repair()
            memories, _ = self._store.count()
        if progress is not None:
            progress(memories, memories)
        return SyncReport()

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare the index with a newly built one. `deep` makes no difference."""
        with self._store.lock():
            self._store.prepare(wait=True)
            memories, events = self._store.count()
            different = self._index.differences(self._store.project_all())
        if progress is not None:
            progress(memories, memories)
        problems = [
            Problem(part, "the index differs from the store; run `muisti reindex`")
            for part in different
        ]
        return VerifyReport(
            files=0,
            memories=memories,
            journal_events=events,
            problems=tuple(problems),
        )

    def index_path(
        self,
        path: str,
        source: str | None,
        project: str | None,
        *,
        trusted: bool | None,
        user: str | None = None,
    ) -> DocumentSource:
        """Raise Unsupported: documents are files."""
        raise Unsupported("index_path", _NO_DOCUMENTS)

    def forget_path(self, path: str) -> DocumentSource:
        """Raise Unsupported: documents are files."""
        raise Unsupported("forget_path", _NO_DOCUMENTS)

    def sources(self) -> list[DocumentSource]:
        """Return nothing: there are no documents."""
        return []
