"""Remove texts of a vault that are not memories: messages, core memory, lines of the journal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile, IndexProblem, VaultError
from muisti.logs import get_log
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.memory_ids import read_memory_id
from muisti.storage.files.path_info import ARCHIVE
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.files.sync.differences import DUPLICATE, TICK_NS
from muisti.storage.files.vault import FileVault, require_path, scan_folder

if TYPE_CHECKING:
    from muisti.model import Message
    from muisti.ports.change_set import ChangeSet
    from muisti.ports.store import Removal
    from muisti.settings import Settings
    from muisti.storage.files.conversations import FileConversations
    from muisti.storage.files.core_memory import FileCoreMemory
    from muisti.storage.files.journal import FileJournal
    from muisti.storage.files.versions import FileVersions
    from muisti.storage.sync_state import StoredFile, SyncedIndex


class FileRemoval:
    """The part of the store that removes texts."""

    _settings: Settings
    index: SyncedIndex
    vault: FileVault
    journal: FileJournal
    conversations: FileConversations
    core_files: FileCoreMemory
    disk: Disk

    @cached_property
    def versions_folder(self) -> FileVersions:
        """Earlier versions and the archive. A search does not import it."""
        from muisti.storage.files.versions import FileVersions

        return FileVersions(self.vault.root, self._settings, self.disk)

    def remove(self, removal: Removal) -> None:
        """Remove messages, core memory and lines of the journal; then update the index."""
        from muisti.lifecycle.journal_projection import remove_from_event
        from muisti.storage.files.conversation_trash import remove_messages

        paths: list[str] = []
        root, disk = self.vault.root, self.disk
        for conversation, ids in removal.messages.items():
            paths += remove_messages(root, disk, conversation, ids, hard=removal.hard)
        for user in removal.core_users:
            self.core_files.remove(user, hard=removal.hard)
        if removal.hard or removal.sessions:
            self.journal.rewrite(partial(remove_from_event, removal=removal))
        self._reread(paths)
        if removal.hard and not self.index.stale:
            self.purge_index()

    def remove_files(
        self, changes: ChangeSet, now: datetime, batch: IndexBatch
    ) -> list[StoredFile]:
        """Trash, archive and erase files with their copies. Return the files in the trash."""
        copies = self._find_copies(changes)
        files: list[StoredFile] = []
        for memory in changes.trashed:
            trashed = self.vault.read(self.vault.trash(require_path(memory), now))
            batch.forget_file(require_path(memory), memory.id)
            if trashed is not None:
                files.append(trashed)
            for path in copies.get(memory.id, ()):  # or the memory would come back from it
                self.vault.trash(path, now)
                batch.forget_file(path)
                self.index.stale = True  # which of the two is the memory's is left to a sync
        if changes.archived:
            archived_files = {require_path(memory): memory.id for memory in changes.archived}
            for memory in changes.archived:
                archived_files |= dict.fromkeys(copies.get(memory.id, ()), memory.id)
            self.versions_folder.archive(archived_files)
            for path, memory_id in archived_files.items():
                batch.forget_file(path, memory_id)
        for memory_id in changes.erased:
            self.versions_folder.forget(memory_id)
            known = self.index.get(memory_id, include_deleted=True)
            if known is not None and known.file_path is not None:
                self.vault.erase(known.file_path)
                batch.forget_file(known.file_path, memory_id)
            for path in copies.get(memory_id, ()):
                self.vault.erase(path)
                batch.forget_file(path)
            while archived := self.versions_folder.archived_path(memory_id):
                self.vault.erase(archived)
        return files

    def _find_copies(self, changes: ChangeSet) -> dict[str, list[str]]:
        """Return files that have the ID of a memory that is moved or erased, by ID.

        For example a conflict copy of a program that synchronizes folders. To erase, all files are
        listed, as one may have been renamed since the last sync; to move, the reported copies are
        enough.
        """
        moved = [*changes.trashed, *changes.archived]
        own = {require_path(memory) for memory in moved}
        found: dict[str, str] = {}
        if changes.erased:
            found = find_files_of(self.vault, changes.erased, self.index)
        elif moved:
            ids = {memory.id for memory in moved}
            for problem in self.index.problems():
                is_copy = problem.reason.startswith(DUPLICATE) and problem.path[0] != "."
                if is_copy and problem.path not in own:
                    with suppress(BrokenFile):
                        file = self.vault.read(problem.path)
                        if file is not None and file.memory.id in ids:
                            found[problem.path] = file.memory.id
        copies: dict[str, list[str]] = {}
        for path, memory_id in found.items():
            copies.setdefault(memory_id, []).append(path)
        return copies

    def trashed_messages(self) -> list[Message]:
        """Return the messages in the trash."""
        from muisti.lifecycle.journal_projection import assign_messages
        from muisti.storage.files.conversation_trash import read_trash

        with disk_errors(self.vault.root):
            found = list(read_trash(self.vault.root))
        if not found:
            return []
        parts = self.journal.read_parts({})
        return assign_messages(found, [event for part in parts for event in part.events])

    def restore_messages(self, conversation: str) -> int:
        """Put a conversation's messages back from the trash, and return how many."""
        from muisti.storage.files.conversation_trash import restore_messages

        paths, count = restore_messages(self.vault.root, self.disk, conversation)
        self._reread(paths)
        return count

    def _reread(self, paths: Sequence[str]) -> None:
        """Read changed files of conversations, and the journal, into the index."""
        batch = IndexBatch(self.index, self._settings)
        try:
            for path in paths:
                if self.conversations.exists(path):
                    batch.read_conversation(self.conversations.read(path, None))
                else:
                    batch.forget_conversation(path)
            batch.read_journal(self.journal.read(self.index.journal_offsets()))
            batch.write()
        except (IndexProblem, VaultError) as error:
            get_log().warning("the texts are removed, but the index is not updated yet: %s", error)
            self.index.stale = True

    def purge_index(self) -> None:
        """Remove deleted text from the index file."""
        try:
            self.index.purge()
        except IndexProblem as error:
            get_log().warning("the text is deleted, but the index is not purged yet: %s", error)


def find_files_of(vault: FileVault, ids: Collection[str], index: SyncedIndex) -> dict[str, str]:
    """Return the ID by path of all files that have one of these IDs, also broken ones.

    They may be copies, or files that were renamed since the last sync. A file that is unchanged
    since it was seen with another ID is not read.
    """
    known = index.find_seen(ids)
    settled, _ = index.settled(TICK_NS)
    found: dict[str, str] = {}
    for path, stat in (*vault.scan(), *scan_folder(vault.tree, ARCHIVE)):
        if settled.get(path) == stat:
            memory_id = known.get(path)
        else:
            memory_id = None
            with suppress(BrokenFile):
                memory_id = read_memory_id(vault.load(path).data)
        if memory_id in ids:
            found[path] = str(memory_id)
    return found
