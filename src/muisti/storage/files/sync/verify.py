"""Compare files and index, without changing either."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile
from muisti.model import Problem, VerifyReport
from muisti.storage.files.unsafe_files import find_unsafe_files

if TYPE_CHECKING:
    from muisti.ports import Progress
    from muisti.storage.files.store import FileStore
    from muisti.storage.files.sync.sources import Sources
    from muisti.storage.sync_state import SeenFile

_DIFFERS = "differs from the index: run `muisti sync`"
_GONE = "is in the index, but the file is missing: run `muisti sync`, with --confirm if many are"


class Verification:
    """Compares every file with the index, byte for byte."""

    def __init__(self, store: FileStore, sources: Sources) -> None:
        self._store = store
        self._index = store.index
        self._sources = sources

    def run(
        self, progress: Progress | None, rebuilt: Callable[[], list[Problem]] | None
    ) -> VerifyReport:
        """Return the problems. Rebuilt: compares with a newly built index."""
        seen = self._index.seen()
        listed = [path for path, _ in self._store.vault.scan()]
        doubtful = []
        for done, path in enumerate(listed):
            if self._compare(path, seen.get(path)):
                doubtful.append(path)
            if progress and done % 200 == 0:
                progress(done, len(listed))
        # Others may have written meanwhile: compare doubtful files again under the lock.
        with self._store.vault.lock():
            problems = list(self._index.problems())
            reported = {problem.path for problem in problems}
            seen = self._index.seen()
            paths = {path for path, _ in self._store.vault.scan()}
            for path in doubtful:
                if path in paths and path not in reported:
                    problems += self._compare(path, seen.get(path))
            problems += [Problem(path, _GONE) for path in sorted(seen.keys() - paths)]
            events = 0
            for delta in self._store.journal.read_parts({}):
                events += len(delta.events)
                problems += [one for one in delta.problems if one.path not in reported]
        problems += [Problem(path, _DIFFERS) for path in self._sources.find_differing()]
        problems += self._sources.find_missing_sources()
        problems += self._store.problems()
        reported = {problem.path for problem in problems}
        unsafe = find_unsafe_files(self._store.vault.root, self._sources.settings)
        problems += [problem for problem in unsafe if problem.path not in reported]
        problems += [
            Problem(".muisti", f"{what}: run `muisti reindex`") for what in self._index.check()
        ]
        if rebuilt is not None:
            problems += rebuilt()
        return VerifyReport(
            files=len(paths),
            memories=sum(1 for file in seen.values() if file.memory_id),
            journal_events=events,
            problems=tuple(problems),
        )

    def _compare(self, path: str, seen: SeenFile | None) -> list[Problem]:
        try:
            file = self._store.vault.read(path)
        except BrokenFile as error:
            return [Problem(path, error.reason)]
        if file is None:
            return []
        if seen is None or seen.sha != file.seen.sha:
            return [Problem(path, _DIFFERS)]
        row = self._index.get(file.memory.id, include_deleted=True)
        if row is None or row.file_path != path:
            return [Problem(path, "is not in the index: run `muisti reindex`")]
        fields = ("content", "title", "kind", "project")
        if any(getattr(row, name) != getattr(file.memory, name) for name in fields):
            return [Problem(path, "differs from its row in the index: run `muisti reindex`")]
        return []
