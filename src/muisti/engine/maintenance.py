"""Numbers, import and export, sync and rebuild."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from muisti.engine.runtime import Runtime
from muisti.errors import EmbedderProblem
from muisti.model import Problem, Stats, SyncReport, VerifyReport
from muisti.ports import Progress
from muisti.recall.filters import FilterOptions, only_memories, to_filter
from muisti.remember.embedding_worker import embed_missing
from muisti.remember.importing import import_memories

log = logging.getLogger("muisti")


class Maintenance(Runtime):
    """Numbers, exchange, files and index."""

    def get_stats(self) -> Stats:
        """The vault in numbers."""
        stats = self._read(lambda services: services.index.stats())
        never = (
            self.settings.embedder == "none" and stats.embedding_model is None
        )  # then nothing waits for vectors
        return replace(stats, waiting_count=0) if never else stats

    def export_memories(self, *, format: str = "markdown", **options: Unpack[FilterOptions]) -> str:
        """All memories, or those a filter lets through, as one text that `import_memories` reads."""
        only_memories(options)
        where = to_filter(self.settings, options, all_sessions=True)
        memories = self._read(
            lambda services: services.index.select(where, order="created_at", limit=None)
        )
        return self._services.import_export.dump(memories, format)

    def import_memories(
        self,
        source_path: str | os.PathLike[str],
        *,
        kind: str | None = None,
        project: str | None = None,
        trusted: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Take in a file or folder; answers how many memories were new. Raises ImportFailed; then nothing was.

        What comes from elsewhere is not trusted unless you say so: agents that recall it are told.
        """
        source = Path(source_path).expanduser()
        return self._write(
            import_memories, source, kind=kind, project=project, trusted=trusted, progress=progress
        )

    def sync(self, *, confirm: bool = False, paths: Collection[str] | None = None) -> SyncReport:
        """Look for what was changed by hand. Confirm: forget files that vanished, however many.

        Paths, relative to the vault: look only if one of these is not as it is known.
        """
        return self._write(lambda services: services.reconciler.sync(confirm=confirm, paths=paths))

    def reindex(self, *, progress: Progress | None = None) -> SyncReport:
        """Rebuild the index from the files, while others keep reading, and make the vectors that are missing."""
        report = self._write(lambda services: services.reconciler.rebuild(progress))
        try:
            self.reindex_missing(progress=progress)
        except EmbedderProblem as error:
            log.warning("the index is rebuilt; vectors follow when they can be made: %s", error)
        return report

    def reindex_missing(self, *, progress: Progress | None = None) -> int:
        """Make the vectors that are missing, all of them after a change of the model. Answers how many memories got theirs.

        Raises EmbedderProblem.
        """
        return self._write(lambda services: embed_missing(services, progress=progress))

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Prove that files and index agree. Deep: compare with an index built anew."""
        return self._write(
            lambda services: services.reconciler.verify(deep=deep, progress=progress)
        )

    def problems(self) -> list[Problem]:
        """Files that could not be read at the last look, each with what to do."""
        return self._read(lambda services: services.index.problems())

    def find_ids(self, part: str, *, limit: int = 10) -> list[str]:
        """Ids that begin or end with this text: what people type instead of a whole id."""
        found = self._read(lambda services: services.index.find_ids(part.strip(), limit))
        wanted = part.strip().lower()
        if found or not wanted:
            return found
        archived = self._services.store.archived_ids()
        return [id_ for id_ in archived if id_.startswith(wanted) or id_.endswith(wanted)][:limit]
