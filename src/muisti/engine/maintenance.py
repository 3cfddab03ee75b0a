"""Statistics, duplicates, import, export, sync, reindexing and verification."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from muisti.engine.search import Search
from muisti.errors import EmbedderProblem
from muisti.lifecycle.sessions import find_long_sessions
from muisti.model import DuplicatePair, ImportReport, Memory, Stats, SyncReport, VerifyReport
from muisti.model.argument_names import to_field_names
from muisti.ports import Progress
from muisti.recall.filters import FilterOptions, reject_source
from muisti.recall.lookups import check_page
from muisti.remember.embedding_worker import embed_missing

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
        memories = self._select_exported(options)
        return self._services.import_export.dump(memories, format)

    def export_folder(
        self,
        target: str | os.PathLike[str],
        *,
        format: str = "obsidian",
        **options: Unpack[FilterOptions],
    ) -> int:
        """Write all memories, or those that match the filter, to a new folder for another program.

        Returns how many files were written. Raises InvalidRequest, also if the folder exists and
        is not empty, and SessionNotFound.
        """
        memories = self._select_exported(options)
        folder = Path(target).expanduser()
        return self._services.import_export.dump_folder(memories, format, folder)

    def _select_exported(self, options: FilterOptions) -> list[Memory]:
        """Return the memories that match the filter, the oldest first."""
        reject_source(options)
        where = self._make_filter(options, all_sessions=True)
        return self._read(
            lambda services: services.index.select(where, order="created_at", limit=None)
        )

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
        report = self._import(
            source_path,
            None,
            progress,
            kind=to_field_names({"kind": kind, "category": category})["kind"],
            project=project,
            trusted=trusted,
            strict=True,
        )
        return report.imported

    def import_from(
        self,
        source_path: str | os.PathLike[str],
        *,
        format: str | None = None,
        kind: str | None = None,
        project: str | None = None,
        trusted: bool = False,
        dry_run: bool = False,
        extract: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:  # shape: one argument for each option
        """Import what another program wrote: a file, a folder or a zip archive.

        The format is detected unless it is given. An item that cannot be imported is named in the
        report and does not end the import. An import can be repeated: what an earlier one brought
        is left as it is. `dry_run` writes nothing. `extract` also saves the memories that
        conversations contain. Imported memories are unconfirmed unless `trusted` is set. Raises
        ImportFailed if the source cannot be read, and InvalidRequest for an unknown format.
        """
        return self._import(
            source_path,
            format,
            progress,
            kind=kind,
            project=project,
            trusted=trusted,
            dry_run=dry_run,
            extract=extract,
        )

    def _import(
        self,
        source_path: str | os.PathLike[str],
        form: str | None,
        progress: Progress | None,
        **options: Any,
    ) -> ImportReport:
        from muisti.remember.importing import ImportOptions, import_items  # few commands need it

        loaded = self._services.import_export.load(Path(source_path).expanduser(), form)
        return self._write(import_items, loaded, ImportOptions(**options), progress)

    def dedupe(
        self,
        pairs: Sequence[DuplicatePair] | None = None,
        *,
        project: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> list[DuplicatePair]:
        """Merge duplicates among stored memories, and return the pairs that were merged.

        They are compared as new memories are with stored ones, within one scope. The older one
        stays and gets keywords, links and sessions of the other, which goes to the trash; `unmerge`
        undoes it. `pairs` merges only these, of an earlier `dry_run`, unless they have changed.
        `project` limits it to a project and to what is global.
        """
        from muisti.remember.stored_duplicates import dedupe  # slow to import, rarely needed

        operation = functools.partial(dedupe, pairs=pairs, project=project, progress=progress)
        if dry_run:
            return self._read(operation, dry_run=True)
        return self._write(operation)

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
        if not found and self.others is not None:
            answers, _ = self.others.ask(
                lambda vault: vault._read(
                    lambda services: services.index.find_ids(part.strip(), limit)
                )
            )
            found = [memory_id for _, ids in answers for memory_id in ids][:limit]
        wanted = part.strip().lower()
        if found or not wanted:
            return found
        archived = self._services.store.archived_ids()
        return [id_ for id_ in archived if id_.startswith(wanted) or id_.endswith(wanted)][:limit]
