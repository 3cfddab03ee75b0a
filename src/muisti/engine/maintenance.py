"""Statistics, import, export, sync, reindexing and verification."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from muisti.engine.search import Search
from muisti.errors import EmbedderProblem
from muisti.lifecycle.sessions import find_long_sessions
from muisti.model import Stats, SyncReport, VerifyReport
from muisti.model.argument_names import to_field_names
from muisti.ports import Progress
from muisti.recall.filters import FilterOptions, reject_source
from muisti.recall.lookups import check_page
from muisti.remember.embedding_worker import embed_missing
from muisti.remember.importing import import_memories

log = logging.getLogger("muisti")


class Maintenance(Search):
    """Statistics, import, export, sync, reindexing and verification."""

    def get_stats(self) -> Stats:
        """Return the vault's statistics."""
        stats = self._read(lambda services: services.index.stats())
        stats = replace(
            stats,
            problems=(*stats.problems, *self._services.store.problems()),
            long_sessions=self._read_index(find_long_sessions),
        )
        if self.settings.embedder == "none" and stats.embedding_model is None:
            return replace(stats, waiting_count=0)  # nothing will be embedded
        if stats.embedding_model is None:
            return stats
        return replace(stats, embedder=self._services.embedders.name(stats.embedding_model))

    def export_memories(self, *, format: str = "markdown", **options: Unpack[FilterOptions]) -> str:
        """Return all memories, or those that match the filter, as a text for `import_memories`.

        Raises InvalidRequest, SessionNotFound.
        """
        reject_source(options)
        where = self._make_filter(options, all_sessions=True)
        memories = self._read(
            lambda services: services.index.select(where, order="created_at", limit=None)
        )
        return self._services.import_export.dump(memories, format)

    def import_memories(
        self,
        source_path: str | os.PathLike[str],
        *,
        kind: str | None = None,
        category: str | None = None,
        project: str | None = None,
        trusted: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Import a file or folder and return how many memories are new.

        All get the kind if one is given, also as `category`. Imported memories are unconfirmed
        unless `trusted` is set. Raises ImportFailed; then nothing is imported.
        """
        source = Path(source_path).expanduser()
        kind = to_field_names({"kind": kind, "category": category})["kind"]
        return self._write(
            import_memories, source, kind=kind, project=project, trusted=trusted, progress=progress
        )

    def sync(
        self,
        *,
        confirm: bool = False,
        paths: Collection[str] | None = None,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Pick up changes of files made outside muisti, and return what changed.

        `confirm` accepts that many files are gone. `paths`, relative to the vault, limits the check
        to these files. `progress` is called with how many changed files are done, and of how many.
        """
        return self._write(
            lambda services: services.reconciler.sync(
                confirm=confirm, paths=paths, progress=progress
            )
        )

    def reindex(self, *, progress: Progress | None = None) -> SyncReport:
        """Rebuild the index from the files and embed what is missing. Readers do not wait."""
        report = self._write(lambda services: services.reconciler.rebuild(progress))
        try:
            self.reindex_missing(progress=progress)
        except EmbedderProblem as error:
            log.warning("the index is rebuilt, but not all memories are embedded: %s", error)
        return report

    def reindex_missing(self, *, progress: Progress | None = None) -> int:
        """Embed all memories that lack embeddings of the current model, and return how many.

        Raises EmbedderProblem.
        """
        return self._write(lambda services: embed_missing(services, progress=progress))

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Check the index against the files. `deep` compares it with a newly built index."""
        return self._write(
            lambda services: services.reconciler.verify(deep=deep, progress=progress)
        )

    def find_ids(self, part: str, *, limit: int = 10) -> list[str]:
        """Return IDs that begin or end with a text, so that people need not type whole IDs.

        Raises InvalidRequest.
        """
        check_page(limit, 0)
        found = self._read(lambda services: services.index.find_ids(part.strip(), limit))
        wanted = part.strip().lower()
        if found or not wanted:
            return found
        archived = self._services.store.archived_ids()
        return [id_ for id_ in archived if id_.startswith(wanted) or id_.endswith(wanted)][:limit]
