"""Keep the index up to date with the files: sync, rebuild, verify, document sources."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.errors import (
    BrokenFile,
    IndexCorrupt,
    IndexProblem,
    VaultError,
    VaultFull,
)
from muisti.lifecycle.document_sources import (
    find_indexed,
    make_added_event,
    make_dropped_event,
    update_source,
)
from muisti.logs import get_log
from muisti.model import Problem, SyncReport
from muisti.ports import ChangeSet
from muisti.storage.files.sync.batch import has_missing, record_missing
from muisti.storage.files.sync.differences import TICK_NS, is_changed
from muisti.storage.files.sync.sources import Listing, Sources
from muisti.storage.files.vault import compare_files
from muisti.storage.sync_state import FileStat

if TYPE_CHECKING:
    from muisti.model import DocumentSource, VerifyReport
    from muisti.ports import Clock, Progress
    from muisti.settings import Settings
    from muisti.storage.files.documents import FileDocuments
    from muisti.storage.files.store import FileStore
    from muisti.storage.files.sync.reconcile import Reconciliation
    from muisti.storage.files.vault import LoadedFile
    from muisti.storage.sync_state import IndexState, SeenFile

MANY_FILES = 10_000
"""From this many files on, an index that is empty is built in one go. That is faster, the more the
larger it is, but what was done is lost if it is stopped.
"""
NOT_UTF8 = "\ufffd"
"""Replaces bytes of a name that are not UTF-8: such a file is not found by that name."""


class FileReconciler:
    """Picks up external changes of a vault; implements the port Reconciler."""

    def __init__(
        self, store: FileStore, settings: Settings, clock: Clock, documents: FileDocuments
    ) -> None:
        self._store = store
        self._index = store.index
        self._settings = settings
        self._clock = clock
        self._documents = documents

    # -- Sync

    def sync(
        self,
        *,
        confirm: bool = False,
        paths: Collection[str] | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> SyncReport:
        """Pick up external changes of all files, or of these paths only. Raises VaultBusy.

        Confirm: forget memories whose files are missing, however many. Timeout: seconds to wait for
        the lock, instead of the setting.
        """
        report = None
        if paths is not None:
            report = self._sync_paths(paths, confirm=confirm, timeout=timeout)
        if report is not None:
            return report
        return self._sync_all(confirm=confirm, timeout=timeout, progress=progress)

    def has_outside_sources(self) -> bool:
        """Return whether documents outside the vault are indexed."""
        paths = [source.path for source in self._index.sources()]
        return bool(self._settings.workspace) or any(map(os.path.isabs, paths))

    def _sync_all(
        self, *, confirm: bool, timeout: float | None, progress: Progress | None = None
    ) -> SyncReport:
        """List the files once; take the lock only if something changed."""
        files: dict[str, FileStat] | None = None
        listing: Listing | None = None
        if not self._needs_recovery():
            settled, others = self._index.settled(TICK_NS)
            same, files = compare_files(self._store.vault, settled)
            listing = self._make_sources(self._index).list_files()
            if len(same) == len(settled) and not self._has_changes(files, others, listing):
                return SyncReport(problems=tuple(self._index.problems()))
            files |= {path: FileStat(*settled[path]) for path in same}
        with self._store.lock(timeout):
            try:
                self._store.vault.recover()
                recovered = True
            except VaultError as error:  # on a disk that cannot be written; read it anyway
                get_log().warning(
                    "incomplete writes of another process are not finished yet: %s", error
                )
                recovered = False
            if files is None:
                files = dict(self._store.vault.scan())
            if self._index.moved:
                from muisti.storage.files.sync.ownership import is_own_index

                if is_own_index(self._store):
                    self._index.accept()
                else:
                    get_log().warning("the index is of another vault: it is set aside and rebuilt")
                    self._index.quarantine()
                    self._index.open()
            built = 0
            if len(files) >= MANY_FILES and self._index.is_empty():
                with self._index.builder() as builder:
                    built = self.fill(builder, adopt=True, progress=progress)
                    builder.swap()
            work = self._make_reconciliation(self._index, confirm=confirm, progress=progress)
            work.run(files)
            work.added += built
            sources = self._make_sources(self._index, confirm=confirm, repair=True)
            sources.run(listing)
            record_missing(self._index, work.missing_problem, sources.missing_problem)
            self._index.stale = not recovered
        return self._make_report(work, sources)

    def _needs_recovery(self) -> bool:
        return self._index.stale or self._store.vault.has_incomplete_writes()

    def _has_changes(
        self, files: dict[str, FileStat], known: dict[str, SeenFile], listing: Listing
    ) -> bool:
        """Return whether anything but the settled files has changed."""
        if len(files) != len(known) or has_missing(self._index):
            return True
        for path, stat in files.items():
            seen = known.get(path)
            if seen is None or is_changed(seen, stat):
                return True
            from muisti.storage.files.sync.reconcile import is_memory_now  # reads the file

            if is_memory_now(self._store, path, seen):
                return True
        delta = self._store.journal.read(self._index.journal_offsets())
        if delta.events or delta.restarted or delta.problems:
            return True
        sources = self._make_sources(self._index)
        return next(sources.find_changed(listing), None) is not None or bool(
            sources.find_missing_sources()
        )

    def _make_report(self, work: Reconciliation, sources: Sources) -> SyncReport:
        return SyncReport(
            added=work.added,
            changed=work.changed,
            moved=work.moved,
            removed=work.removed,
            missing=work.missing + sources.missing,
            problems=(*self._index.problems(), *work.postponed, *sources.problems),
        )

    # -- Sync of some paths

    def _sync_paths(
        self, paths: Collection[str], *, confirm: bool, timeout: float | None = None
    ) -> SyncReport | None:
        """Pick up changes of these files. Return None if all files have to be looked at."""
        if self._needs_recovery() or has_missing(self._index):
            return None
        some = self._sort_paths(paths)
        if some is None:
            return None
        if not self._is_changed(some):
            return SyncReport(problems=tuple(self._index.problems()))
        with self._store.lock(timeout):
            # Another process that wrote these files may have updated the index meanwhile.
            again = self._sort_paths(paths)
            if again is None:
                return None
            if not self._is_changed(again, some.loaded):
                return SyncReport(problems=tuple(self._index.problems()))
            work = self._make_reconciliation(self._index, confirm=confirm)
            work.loaded = some.loaded
            sources = self._make_sources(self._index, confirm=confirm, repair=True)
            if not work.run_paths(again.files, again.vanished):
                work.run(dict(self._store.vault.scan()))  # keeps the counts and events so far
            sources.read_conversations(again.conversations, again.vanished_conversations)
            sources.read_documents(again.documents)
        return self._make_report(work, sources)

    def _sort_paths(self, paths: Collection[str]) -> _Paths | None:
        """Sort paths by what they are. Return None if one is, or may have been, a folder."""
        some = _Paths()
        sources = self._make_sources(self._index)
        for path in paths:
            if NOT_UTF8 in path:
                return None
            if path.startswith("conversations/"):
                if not path.endswith(".jsonl"):
                    return None
                exists = self._store.conversations.exists(path)
                (some.conversations if exists else some.vanished_conversations).append(path)
                continue
            source = sources.find_source(path)
            if source is not None:
                some.documents.append(path)
            if path.endswith(".md"):
                stat = self._store.vault.stat(path)
                if stat is not None:
                    some.files[path] = stat
                else:
                    some.vanished.append(path)
            elif source is None and not path.endswith((".json", ".toml")):
                return None
        return some

    def _is_changed(self, some: _Paths, loaded: dict[str, LoadedFile] | None = None) -> bool:
        """Return whether the index differs from these files. Files it reads go to `some.loaded`."""
        known = self._index.seen([*some.files, *some.vanished])
        if any(path in known for path in some.vanished):
            return True
        for path, stat in some.files.items():
            seen = known.get(path)
            earlier = (loaded or {}).get(path)
            if earlier is not None and earlier.seen.stat == stat:
                sha = earlier.seen.sha
            elif seen is not None and not is_changed(seen, stat) and seen.memory_id is not None:
                continue
            else:
                try:
                    some.loaded[path] = self._store.vault.load(path)
                except BrokenFile:
                    if seen is None or seen.sha:
                        return True
                    continue
                sha = some.loaded[path].seen.sha
            if seen is None:
                return True
            if sha != seen.sha if seen.memory_id is not None else stat != seen.stat:
                return True
        sources = self._make_sources(self._index)
        for path in some.vanished_conversations:
            if path in self._index.conversation_offsets(path):
                return True
        if any(sources.is_conversation_changed(path) for path in some.conversations):
            return True
        return any(sources.is_document_changed(path) for path in some.documents)

    # -- Rebuild and verify

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Build a new index from files and journal, catch up with later changes, and swap it in."""
        with self._index.builder() as builder:
            self.fill(builder, adopt=False, progress=progress)
            with self._store.lock():
                report = self.sync()
                self.fill(builder, adopt=True)
                builder.swap()
                self._index.stale = False
        return report

    def fill(self, index: IndexState, *, adopt: bool, progress: Progress | None = None) -> int:
        """Update an index that is not in use yet, without recording events.

        Return how many memories were added.
        """
        work = self._make_reconciliation(
            index, own_edits=True, confirm=True, adopt=adopt, progress=progress
        )
        files = dict(self._store.vault.scan())
        work.run(files)
        total = len(files)

        def report_progress(done: int, more: int) -> None:
            if progress is not None:
                progress(total + done, total + more)

        report = report_progress if progress else None
        self._make_sources(index, confirm=True, repair=adopt, progress=report).run()
        return work.added

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare every file with the index. Deep: also with a newly built index."""
        from muisti.storage.files.sync.verify import Verification

        check = Verification(self._store, self._make_sources(self._index))
        return check.run(progress, rebuilt=self._compare_with_rebuilt if deep else None)

    def _compare_with_rebuilt(self) -> list[Problem]:
        """Return a problem for each part in which the index differs from a newly built one."""
        try:
            with self._index.builder() as builder:
                self.fill(builder, adopt=False)
                with self._store.vault.lock():
                    self.fill(builder, adopt=False)
                    current, rebuilt = self._index.fingerprint(), builder.fingerprint()
        except IndexProblem as error:
            return [Problem(".muisti", f"cannot be compared ({error}): run `muisti reindex`")]
        except VaultFull as error:
            return [Problem(".muisti", f"cannot be compared with a rebuilt index: {error}")]
        unreadable: set[str] = set()  # parts that depend on a missing source
        if self._make_sources(self._index).find_missing_sources():
            unreadable = {"texts", "documents", "words", "lexicon", "totals"}
        return [
            Problem(".muisti", f"{part}: differs from a rebuilt index: run `muisti reindex`")
            for part in current
            if current[part] != rebuilt[part] and part not in unreadable
        ]

    # -- Document sources

    def index_path(
        self,
        path: str,
        source: str | None,
        project: str | None,
        *,
        trusted: bool | None,
        user: str | None = None,
    ) -> DocumentSource:
        """Index a file or a folder from now on, and record that in the journal.

        None keeps the earlier value. If the first reading is interrupted, the path is not indexed:
        every later command would read it to the end first. Raises InvalidRequest.
        """
        with self._store.lock():
            source_path = self._documents.resolve_source(path)
            known = {one.path: one for one in self._index.sources()}.get(source_path)
            wanted = update_source(known, source_path, source, project, trusted=trusted, user=user)
            if wanted != known:
                event = make_added_event(wanted, self._clock.now())
                self._store.commit(ChangeSet(events=[event]))
            try:
                self._read_sources()
            except (KeyboardInterrupt, SystemExit):
                if known is None:
                    event = make_dropped_event(source_path, self._clock.now())
                    self._store.commit(ChangeSet(events=[event]))
                raise
            return next((one for one in self._index.sources() if one.path == wanted.path), wanted)

    def forget_path(self, path: str) -> DocumentSource:
        """Stop indexing a file or a folder, which is left unchanged. Raises InvalidRequest."""
        with self._store.lock():
            known = {one.path: one for one in self._index.sources()}
            workspace = [one.path for one in self._documents.list_workspace_sources()]
            wanted = find_indexed(path, known, workspace, self._documents.resolve_source)
            event = make_dropped_event(wanted, self._clock.now())
            self._store.commit(ChangeSet(events=[event]))
            self._read_sources()
            return known[wanted]

    def sources(self) -> list[DocumentSource]:
        """Return the document sources; those of the workspace first, if they have documents."""
        named = self._index.sources()
        paths = {source.path for source in named}
        counts = Counter(source_path for source_path, _ in self._index.documents().values())
        workspace = self._documents.list_workspace_sources()
        own = [source for source in workspace if source.path not in paths and counts[source.path]]
        return [*(replace(source, documents=counts[source.path]) for source in own), *named]

    def _read_sources(self) -> None:
        """Index the sources. If that fails, the index catches up at the next call."""
        try:
            self._make_sources(self._index).run()
        except IndexCorrupt:
            raise  # the caller repairs it
        except (IndexProblem, VaultError) as error:
            get_log().warning("the document sources are saved, but not indexed yet: %s", error)
            self._index.stale = True

    # -- Passes over the files

    def _make_reconciliation(
        self,
        index: IndexState,
        *,
        own_edits: bool = False,
        confirm: bool = False,
        adopt: bool = True,
        progress: Progress | None = None,
    ) -> Reconciliation:
        from muisti.storage.files.sync.reconcile import Reconciliation

        return Reconciliation(
            self._store, self._settings, self._clock, index, own_edits, confirm, adopt, progress
        )

    def _make_sources(
        self,
        index: IndexState,
        *,
        confirm: bool = False,
        repair: bool = False,
        progress: Progress | None = None,
    ) -> Sources:
        return Sources(
            self._store.conversations,
            self._documents,
            self._settings,
            index,
            confirm,
            repair,
            progress,
        )


class _Paths:
    """Paths that may have changed, by what they are."""

    def __init__(self) -> None:
        self.files: dict[str, FileStat] = {}
        self.vanished: list[str] = []
        self.conversations: list[str] = []
        self.vanished_conversations: list[str] = []
        self.documents: list[str] = []
        self.loaded: dict[str, LoadedFile] = {}
