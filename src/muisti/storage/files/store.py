"""The vault as a Store: files are the source of truth, and the index follows them.

A change is written to the files, then to the journal, then to the index in one transaction. If the
index cannot be written (locked, damaged, disk full), the change is saved nevertheless: the index is
marked as stale, and catches up at the next call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.errors import (
    BrokenFile,
    Conflict,
    IndexBusy,
    IndexCorrupt,
    IndexProblem,
    InvalidMemory,
    InvalidRequest,
    MemoryNotFound,
    MuistiError,
    NotFound,
    VaultBusy,
    VaultError,
    VaultFull,
)
from muisti.logs import get_log
from muisti.model import EventName, Problem
from muisti.ports.change_set import ChangeSet, Committed
from muisti.ports.unshared import UnsharedWork
from muisti.storage.files.conversations import FileConversations
from muisti.storage.files.core_memory import FileCoreMemory
from muisti.storage.files.disk import Disk, ReadOnlyDisk, UntrustedDisk
from muisti.storage.files.journal import FileJournal, Stamp
from muisti.storage.files.path_info import is_in_archive
from muisti.storage.files.queue import FileQueue
from muisti.storage.files.removal import FileRemoval
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.files.vault import FileVault, ReadOnlyVault, require_path

if TYPE_CHECKING:
    from muisti.model import CoreMemory, Event, Memory
    from muisti.ports.store import Clock, Stored, StoredVersion, Update
    from muisti.settings import Settings
    from muisti.storage.sync_state import StoredFile, SyncedIndex


class FileStore(FileRemoval):
    """The files of one vault, with the index that follows them."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        clock: Clock,
        index: SyncedIndex,
        disk: Disk | None = None,
        *,
        writable: bool = True,
    ) -> None:
        disk = (disk or Disk()) if writable else ReadOnlyDisk(root)
        if not settings.vault_trusted:
            disk, writable = UntrustedDisk(root), False
        self._trusted = settings.vault_trusted
        self._settings = settings
        self.index = index
        self.vault = (FileVault if writable else ReadOnlyVault)(root, settings, clock, disk)
        self.journal = FileJournal(root, clock, disk)
        self.conversations = FileConversations(root, settings, disk)
        self.queue = FileQueue(root, disk, writable=writable)
        self.work = UnsharedWork()
        self.core_files = FileCoreMemory(root, disk)
        self.disk = disk
        self._clock = clock
        self._preparing = threading.Lock()
        self._full: VaultFull | None = None
        self.catch_up: Callable[[float | None], object] = lambda _: None
        """Set by the reconciler: update a stale index, waiting this many seconds for the lock."""

    # -- The index

    def prepare(self, *, wait: bool) -> None:
        """Open the current index if it was replaced or removed, and catch up if it is stale."""
        if self.index.is_current() and not self.index.stale:
            return
        with self._preparing:
            is_readable = self.index.open_complete()
            if not is_readable:
                with self.vault.lock():
                    self.index.open()
            if not self.index.stale:
                return
            # A reader does not wait for another's lock if it has an index to read, and nobody waits
            # for a full disk.
            tolerated = (IndexBusy if wait else VaultBusy, VaultFull)
            try:
                self.catch_up(0.0 if is_readable and not wait else None)
            except tolerated as error:
                self._full = error if isinstance(error, VaultFull) else None
                # An incomplete index misses duplicates: saving again would make a second memory.
                if not self.index.open_complete():
                    raise
                report = get_log().warning if wait else get_log().debug
                report("the index is not up to date yet, and catches up later: %s", error)

    @property
    def lag(self) -> str:
        """Why searches may lack recent changes; "" if they do not."""
        if self._full is None or not self.index.stale:
            return ""
        return f"recent changes may be missing: {self._full}"

    def repair(self) -> None:
        """Quarantine the damaged index and build a new one."""
        with self._preparing, self.vault.lock():
            self.index.quarantine()
            self.index.open()
            self.catch_up(None)

    @contextmanager
    def lock(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the vault, with the current index open. Raises VaultBusy, IndexCorrupt."""
        with self.vault.lock(timeout):
            if not self.index.is_current() and self.index.open():
                raise IndexCorrupt(
                    "the index was removed while in use; it is rebuilt from the files"
                )
            try:
                with self.index.read_with_writer():
                    yield
            except (InvalidMemory, InvalidRequest, NotFound, Conflict):
                raise  # refused before anything was written, or `commit` knows about it
            except BaseException:
                self.index.stale = True  # files may be written that the index does not have
                raise

    # -- Writing

    def commit(self, changes: ChangeSet) -> Committed:
        """Write files, then the journal, then the index."""
        batch = IndexBatch(self.index, self._settings)
        with self.vault.tree.folders.hold():
            created = self.vault.create(changes.created, changes.extra)
            try:
                changed, journal = self._write_files(changes, batch)
                files = [*created, *changed]
            except MuistiError as error:
                for file in created:
                    self.vault.erase(file.path)
                if isinstance(error, Conflict):
                    self.index.stale = True  # a person changed a file: the next call reads it
                raise
            for file in files:
                batch.put_file(file)
            conversation = None
            if changes.messages:
                conversation = self.conversations.append(
                    changes.messages[0].conversation, changes.messages
                )
            indexed = self._update_index(batch, conversation, journal)
        for version in changes.dropped:
            self.versions_folder.drop(version.reference)
        if changes.erased and indexed:
            self.purge_index()
        return Committed({file.memory.id: file.memory for file in files}, indexed)

    def _write_files(
        self, changes: ChangeSet, batch: IndexBatch
    ) -> tuple[list[StoredFile], Mapping[str, Stamp] | None]:
        """Write everything but the created files.

        Return the files whose memories changed, and those of the journal if it was appended to.
        """
        now = self._clock.now()
        files: list[StoredFile] = []
        events = list(changes.events)
        for memory, into in changes.merged:
            self.versions_folder.keep_merged(memory, into, now)
        for update in changes.updated:
            files += self._update(update, events, batch)
        files += self.remove_files(changes, now, batch)
        for memory_id in changes.restored:
            files.append(self._restore(memory_id, batch))
        for section, entries in changes.core.items():
            self.core_files.write(section, entries, changes.core_user)
        return files, self.journal.append(events, durable=changes.durable)

    def _update(self, update: Update, events: list[Event], batch: IndexBatch) -> list[StoredFile]:
        path = require_path(update.memory)
        memory_id = update.memory.id
        try:
            if update.keep_version:
                kept = self.versions_folder.keep_version(path, memory_id, self._clock.now())
                for number, event in enumerate(events):
                    if event.name == EventName.UPDATED and memory_id in event.memory_ids:
                        events[number] = event._replace(data={**event.data, "kept": kept})
            file = self.vault.rewrite(update.memory, update.revision)
        except (BrokenFile, Conflict):
            if update.optional:  # an edit by a person wins
                return []
            raise
        if is_in_archive(path):  # it is not indexed
            return []
        if file.path != path:
            batch.forget_file(path)
        return [file]

    def _restore(self, memory_id: str, batch: IndexBatch) -> StoredFile:
        trashed = self.index.get(memory_id, include_deleted=True)
        if trashed is not None and trashed.file_path is not None:
            left = trashed.file_path
            path = self.vault.restore(left)
        else:
            archived = self.versions_folder.archived_path(memory_id)
            if archived is None:
                raise MemoryNotFound(memory_id)
            left = archived
            path = self.versions_folder.unarchive(left, memory_id)
        batch.forget_file(left)
        file = self.vault.read(path)
        if file is None:
            raise MemoryNotFound(memory_id)
        return file

    def _update_index(
        self, batch: IndexBatch, conversation: str | None, journal: Mapping[str, Stamp] | None
    ) -> bool:
        """Write the batch with new journal and conversation lines. Return whether it worked."""
        is_complete = True
        try:
            with self.index.snapshot():
                if conversation is not None:
                    known = self.index.conversation_offsets(conversation).get(conversation)
                    messages = self.conversations.read(conversation, known)
                    is_complete = messages.is_complete
                    batch.read_conversation(messages)
                events = self.journal.read(self.index.journal_offsets(), journal)
                batch.read_journal(events)
            batch.write()
            if not (is_complete and events.is_complete):
                self.index.stale = True  # the next call reads the rest
        except (IndexProblem, VaultError) as error:
            get_log().warning("the change is saved, but not in the index yet: %s", error)
            self.index.stale = True
            return False
        return True

    # -- Reading

    def current(self, memory: Memory) -> Stored | None:
        """Return a memory as its file has it now, which may be newer than the index; None if gone.

        Raises BrokenFile. Marks the index as stale where the two differ; an archived memory is not
        indexed.
        """
        from muisti.ports.store import Stored

        path = require_path(memory)
        if is_in_archive(path):
            archived = self.vault.read(path)
            if archived is None or archived.memory.id != memory.id:
                return None
            return Stored(archived.memory, archived.seen.sha, indexed=False)
        try:
            loaded = self.vault.load(path)
            file = self.vault.parse(loaded)
        except BrokenFile:
            self.index.stale = True
            raise
        if file is None or file.memory.id != memory.id:
            self.index.stale = True
            return None
        seen = self.index.seen([path]).get(path)
        indexed = seen is not None and seen.sha == file.seen.sha
        if not indexed:
            self.index.stale = True
        return Stored(file.memory, file.seen.sha, indexed, loaded.data.decode("utf-8", "replace"))

    def versions(self, memory_id: str) -> list[StoredVersion]:
        """Return the earlier versions and merged texts of a memory, oldest first."""
        return self.versions_folder.versions(memory_id)

    def merged_ids(self) -> list[str]:
        """Return the IDs of memories that have merged texts, the latest merge first."""
        return self.versions_folder.merged_ids()

    def archived(self, limit: int | None = None, offset: int = 0) -> list[Memory]:
        """Return a page of the archive, the latest memories first."""
        return self.versions_folder.archived(limit, offset)

    def archived_memory(self, memory_id: str) -> Memory | None:
        """Return one memory of the archive. Raises BrokenFile."""
        return self.versions_folder.archived_memory(memory_id)

    def archived_ids(self) -> list[str]:
        """Return the IDs of everything in the archive. Reads no file."""
        return self.versions_folder.archived_ids()

    def events(self, memory_id: str) -> list[Event]:
        """Return all journal events that name a memory, in order."""
        return self.journal.list_events(memory_id)

    def core(self, user: str = "", problems: list[Problem] | None = None) -> CoreMemory:
        """Return the core memory, of a user or of the vault. Raises BrokenFile.

        Of a vault that is not trusted, without its rules for the agent.
        """
        core = self.core_files.read(user, problems)
        return core if self._trusted else replace(core, agent={})

    def problems(self) -> list[Problem]:
        """Return the problems that the index does not have: of core memory, journal and itself."""
        lagging = [Problem(".muisti", self.lag)] if self.lag else []
        return [*lagging, *self.core_files.find_problems(), *self.journal.find_problems()]

    def read_user_file(self) -> str | None:
        """Return the text of `USER.md`; None if core memory exists already. Raises BrokenFile."""
        return self.core_files.read_user_file()
