"""Keeps the index of a vault in step with its files: sync, rebuild, verify, and which documents are searched."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from muisti.errors import (
    BrokenFile,
    IndexCorrupt,
    IndexProblem,
    InvalidRequest,
    VaultError,
)
from muisti.model import DocumentSource, Event, EventName, Problem, SyncReport, VerifyReport
from muisti.ports import ChangeSet, Clock, Progress
from muisti.settings import Settings
from muisti.storage.files.documents import FileDocuments
from muisti.storage.files.store import FileStore
from muisti.storage.files.sync.differences import is_changed
from muisti.storage.files.sync.reconcile import Reconciliation, is_memory_now
from muisti.storage.files.sync.sources import Listing, Sources
from muisti.storage.files.sync.verify import Verification
from muisti.storage.files.vault import LoadedFile
from muisti.storage.sync_state import FileStat, IndexState

log = logging.getLogger("muisti")
NOT_UTF8 = "\ufffd"
"""Stands for what of a name is not UTF-8: such a file is not found by that name."""


class FileReconciler:
    """The one who reads what others wrote into a vault."""

    def __init__(
        self, store: FileStore, settings: Settings, clock: Clock, documents: FileDocuments
    ) -> None:
        self._store = store
        self._index = store.index
        self._settings = settings
        self._clock = clock
        self._documents = documents

    # -- Sync

    def sync(self, *, confirm: bool = False, paths: Collection[str] | None = None) -> SyncReport:
        """Pick up changes made outside: of all files, or of these paths only."""
        if (
            paths is not None
            and not self._index.stale
            and not self._store.vault.has_incomplete_writes()
        ):
            report = self._sync_paths(paths, confirm=confirm)
            if report is not None:
                return report
        return self._sync_all(confirm=confirm, timeout=None)

    def sync_within(self, timeout: float | None) -> SyncReport:
        """Pick up all changes, waiting so long for the lock. Raises VaultBusy."""
        return self._sync_all(confirm=False, timeout=timeout)

    def _sync_all(self, *, confirm: bool, timeout: float | None) -> SyncReport:
        """List the files once; take the lock only if something is new."""
        files: dict[str, FileStat] | None = None
        listing: Listing | None = None
        if not self._index.stale and not self._store.vault.has_incomplete_writes():
            files = dict(self._store.vault.scan())
            listing = self._sources(self._index).list_files()
            if not self._is_anything_new(files, listing):
                return SyncReport(problems=tuple(self._index.problems()))
        with self._store.lock(timeout):
            recovered = self._recover()
            if files is None:
                files = dict(self._store.vault.scan())
            work = self._reconciliation(self._index, confirm=confirm)
            work.run(files)
            sources = self._sources(self._index, confirm=confirm, repair=True)
            sources.run(listing)
            self._index.stale = not recovered
        return self._report(work, sources)

    def _recover(self) -> bool:
        """Finish what a crashed process left. On a disk that cannot be written this waits; what is there is read."""
        try:
            self._store.vault.recover()
        except VaultError as error:
            log.warning("what another process left half done is finished later: %s", error)
            return False
        return True

    def _is_anything_new(self, files: dict[str, FileStat], listing: Listing) -> bool:
        seen = self._index.seen()
        if len(seen) != len(files):
            return True
        for path, stat in files.items():
            known = seen.get(path)
            if known is None or is_changed(known, stat) or is_memory_now(self._store, path, known):
                return True
        delta = self._store.journal.read(self._index.journal_offsets())
        if delta.events or delta.restarted or delta.problems:
            return True
        sources = self._sources(self._index)
        return next(sources.find_changed(listing), None) is not None or bool(
            sources.find_missing_sources()
        )

    def _report(self, work: Reconciliation, sources: Sources) -> SyncReport:
        return SyncReport(
            added=work.added,
            changed=work.changed,
            moved=work.moved,
            removed=work.removed,
            missing=work.missing + sources.missing,
            problems=(*self._index.problems(), *work.postponed, *sources.problems),
        )

    # -- Sync of some paths

    def _sync_paths(self, paths: Collection[str], *, confirm: bool) -> SyncReport | None:
        """Look at these files and no others. None if that is not enough: then all files have to be looked at."""
        some = self._sort(paths)
        if some is None:
            return None
        if not self._is_changed(some):
            return SyncReport(problems=tuple(self._index.problems()))
        with self._store.lock():
            # Whoever writes holds the lock from file to index: what seemed new may be known by now.
            again = self._sort(paths)
            if again is None:
                return None
            if not self._is_changed(again, some.loaded):
                return SyncReport(problems=tuple(self._index.problems()))
            work = self._reconciliation(self._index, confirm=confirm)
            work.loaded = some.loaded
            sources = self._sources(self._index, confirm=confirm, repair=True)
            if not work.run_paths(again.files, again.vanished):
                work.run(
                    dict(self._store.vault.scan())
                )  # goes on with what was counted and is to be journaled
            sources.read_conversations(again.conversations, again.vanished_conversations)
            sources.read_documents(again.documents)
        return self._report(work, sources)

    def _sort(self, paths: Collection[str]) -> _Paths | None:
        """Tell memories, conversations and documents apart. None if one of them is a folder, or was one."""
        some = _Paths()
        sources = self._sources(self._index)
        for path in paths:
            if NOT_UTF8 in path:
                return None
            if path.startswith("conversations/"):
                if not path.endswith(".jsonl"):
                    return None
                there = self._store.conversations.exists(path)
                (some.conversations if there else some.vanished_conversations).append(path)
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
        """Whether the index does not have these files as they are. Files that were read are kept in `some.loaded`."""
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
            if seen is None or (
                sha != seen.sha if seen.memory_id is not None else stat != seen.stat
            ):
                return True
        sources = self._sources(self._index)
        if some.vanished_conversations and any(
            path in self._index.conversation_offsets(path) for path in some.vanished_conversations
        ):
            return True
        if any(sources.is_conversation_changed(path) for path in some.conversations):
            return True
        return any(sources.is_document_changed(path) for path in some.documents)

    # -- Rebuild and verify

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Build the index anew from files and journal, then swap. What happens meanwhile is read before the swap."""
        with self._index.builder() as builder:
            self.fill(builder, adopt=False, progress=progress)
            with self._store.lock():
                report = self.sync()
                self.fill(builder, adopt=True)
                builder.swap()
                self._index.stale = False
        return report

    def fill(self, index: IndexState, *, adopt: bool, progress: Progress | None = None) -> None:
        """Bring an index that nobody reads yet up to date, without a word to the journal."""
        work = self._reconciliation(
            index, own_edits=True, confirm=True, adopt=adopt, progress=progress
        )
        files = dict(self._store.vault.scan())
        work.run(files)
        total = len(files)

        def tell(done: int, more: int) -> None:
            if progress is not None:
                progress(total + done, total + more)

        self._sources(index, confirm=True, repair=adopt, progress=tell if progress else None).run()

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare every file with the index. Deep: also with an index built anew."""
        check = Verification(self._store, self._sources(self._index))
        return check.run(progress, rebuilt=self._differences_to_rebuilt if deep else None)

    def _differences_to_rebuilt(self) -> list[Problem]:
        try:
            with self._index.builder() as builder:
                self.fill(builder, adopt=False)
                with (
                    self._store.vault.lock()
                ):  # nobody writes while the last changes are read and the two are compared
                    self.fill(builder, adopt=False)
                    here, anew = self._index.fingerprint(), builder.fingerprint()
        except IndexProblem as error:
            return [Problem(".muisti", f"cannot be compared ({error}): run `muisti reindex`")]
        unreadable: set[str] = set()  # parts that a rebuild cannot make while a source is away
        if self._sources(self._index).find_missing_sources():
            unreadable = {"texts", "documents", "words", "lexicon", "totals"}
        return [
            Problem(
                ".muisti", f"{part}: not what a rebuild makes of the files: run `muisti reindex`"
            )
            for part in here
            if here[part] != anew[part] and part not in unreadable
        ]

    # -- Document sources

    def index_path(
        self, path: str, source: str | None, project: str | None, *, trusted: bool | None
    ) -> DocumentSource:
        """Search a file or a folder from now on. Which, is noted in the journal, so that it outlives the index."""
        with self._store.lock():
            place = self._documents.resolve_source(path)
            known = {one.path: one for one in self._index.sources()}.get(place)
            before = known or DocumentSource(place, "")
            wanted = replace(
                before,
                source=before.source if source is None else source,
                project=before.project if project is None else project,
                trusted=before.trusted if trusted is None else trusted,
            )
            if wanted != known:
                data: dict[str, str | int | float | None] = {
                    "path": wanted.path,
                    "source": wanted.source,
                    "project": wanted.project,
                    "trusted": int(wanted.trusted),
                }
                event = Event(EventName.DOCUMENTS_ADDED, self._clock.now(), data=data)
                self._store.commit(ChangeSet(events=[event]))
            self._read_sources()
            return next((one for one in self._index.sources() if one.path == wanted.path), wanted)

    def forget_path(self, path: str) -> DocumentSource:
        """Search it no longer. The files stay as they are."""
        with self._store.lock():
            known = {one.path: one for one in self._index.sources()}
            own = {one.path for one in self._documents.list_workspace_sources()} - known.keys()
            wanted = path
            if path not in known.keys() | own:
                try:
                    wanted = self._documents.resolve_source(path)
                except InvalidRequest:  # it may be gone
                    wanted = os.path.abspath(os.path.expanduser(path))
            if wanted in own:
                cure = "it belongs to the workspace, which is always searched; rename or move it"
                raise InvalidRequest("path", path, cure)
            if wanted not in known:
                there = f"there are: {', '.join(known)}" if known else "nothing is"
                raise InvalidRequest("path", path, f"it is not searched; {there}")
            event = Event(EventName.DOCUMENTS_DROPPED, self._clock.now(), data={"path": wanted})
            self._store.commit(ChangeSet(events=[event]))
            self._read_sources()
            return known[wanted]

    def sources(self) -> list[DocumentSource]:
        """Return what is searched beside the memories; the workspace's own files first, if there are any."""
        named = self._index.sources()
        counts: dict[str, int] = {}
        for source, _ in self._index.documents().values():
            counts[source] = counts.get(source, 0) + 1
        own = [
            one
            for one in self._documents.list_workspace_sources()
            if one.path not in {known.path for known in named}
        ]
        return [
            *(replace(one, documents=counts[one.path]) for one in own if counts.get(one.path)),
            *named,
        ]

    def _read_sources(self) -> None:
        """The journal has the change: if the index cannot follow now, it catches up at the next call."""
        try:
            self._sources(self._index).run()
        except IndexCorrupt:
            raise  # the caller repairs it
        except (IndexProblem, VaultError) as error:
            log.warning("what is searched is noted, the index follows later: %s", error)
            self._index.stale = True

    # -- Services

    def _reconciliation(
        self,
        index: IndexState,
        *,
        own_edits: bool = False,
        confirm: bool = False,
        adopt: bool = True,
        progress: Progress | None = None,
    ) -> Reconciliation:
        return Reconciliation(
            self._store, self._settings, self._clock, index, own_edits, confirm, adopt, progress
        )

    def _sources(
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


@dataclass
class _Paths:
    """Paths that are said to have changed, by what they are."""

    files: dict[str, FileStat] = field(default_factory=dict)
    vanished: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    vanished_conversations: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    loaded: dict[str, LoadedFile] = field(default_factory=dict)
