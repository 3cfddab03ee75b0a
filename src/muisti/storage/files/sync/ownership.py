"""Decide whether an index was made from the files of this vault."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile
from muisti.storage.files.jsonl import hash_tail

if TYPE_CHECKING:
    from muisti.storage.files.store import FileStore
    from muisti.storage.sync_state import ReadOffset

SAMPLE = 200
"""The most files of each type that are compared."""


def is_own_index(store: FileStore) -> bool:
    """Return whether at least half of the files that an index has read are in this vault.

    Memories are compared by path and ID, conversations by path and the bytes that were read. An
    index that has read neither can be used: everything else is read from the journal anyway.
    """
    found: list[bool] = []
    memories = {path: seen.memory_id for path, seen in store.index.seen().items() if seen.memory_id}
    for path in _choose(list(memories)):
        memory_id = None
        with suppress(BrokenFile):
            file = store.vault.read(path)
            memory_id = file.memory.id if file is not None else None
        found.append(memory_id == memories[path])
    conversations = store.index.conversation_offsets()
    found += [
        _is_continued(store, path, conversations[path].read)
        for path in _choose(list(conversations))
    ]
    return 2 * sum(found) >= len(found)


def _choose(paths: list[str]) -> list[str]:
    """Return some paths from the whole list: those of one folder may all be gone."""
    return sorted(paths)[:: len(paths) // SAMPLE + 1]


def _is_continued(store: FileStore, path: str, read: ReadOffset) -> bool:
    if not store.conversations.exists(path):
        return False
    with suppress(OSError):
        return hash_tail(store.vault.tree, store.vault.root / path, read.offset) == read.tail_sha
    return False
