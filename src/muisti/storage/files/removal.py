"""Remove texts of a vault that are not memories: messages, core memory, lines of the journal."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from muisti.errors import IndexProblem, VaultError
from muisti.lifecycle.journal_projection import assign_messages, remove_from_event
from muisti.model import Message
from muisti.ports.store import Removal
from muisti.storage.files.conversation_trash import (
    read_trash,
    remove_messages,
    restore_messages,
)
from muisti.storage.files.conversations import FileConversations
from muisti.storage.files.core_memory import FileCoreMemory
from muisti.storage.files.disk import Disk, disk_errors
from muisti.storage.files.journal import FileJournal
from muisti.storage.files.sync.batch import IndexBatch
from muisti.storage.files.vault import FileVault
from muisti.storage.sync_state import SyncedIndex

log = logging.getLogger("muisti")


class FileRemoval:
    """The part of the store that removes texts."""

    index: SyncedIndex
    vault: FileVault
    journal: FileJournal
    conversations: FileConversations
    core_files: FileCoreMemory
    disk: Disk

    def remove(self, removal: Removal) -> None:
        """Remove messages, core memory and lines of the journal; then update the index."""
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

    def trashed_messages(self) -> list[Message]:
        """Return the messages in the trash."""
        with disk_errors(self.vault.root):
            found = list(read_trash(self.vault.root))
        if not found:
            return []
        parts = self.journal.read_parts({})
        return assign_messages(found, [event for part in parts for event in part.events])

    def restore_messages(self, conversation: str) -> int:
        """Put a conversation's messages back from the trash, and return how many."""
        paths, count = restore_messages(self.vault.root, self.disk, conversation)
        self._reread(paths)
        return count

    def _reread(self, paths: Sequence[str]) -> None:
        """Read changed files of conversations, and the journal, into the index."""
        batch = IndexBatch(self.index)
        try:
            for path in paths:
                if self.conversations.exists(path):
                    batch.read_conversation(self.conversations.read(path, None))
                else:
                    batch.forget_conversation(path)
            batch.read_journal(self.journal.read(self.index.journal_offsets()))
            batch.write()
        except (IndexProblem, VaultError) as error:
            log.warning("the texts are removed, but the index is not updated yet: %s", error)
            self.index.stale = True

    def purge_index(self) -> None:
        """Remove deleted text from the index file."""
        try:
            self.index.purge()
        except IndexProblem as error:
            log.warning("the text is deleted, but the index is not purged yet: %s", error)
