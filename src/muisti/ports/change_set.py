"""One change of the store, and its result. A search records with one that it found memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from muisti.model import Event, Memory, Message
    from muisti.ports.store import StoredVersion, Update


class ChangeSet(NamedTuple):
    """One change of the store. It is written in the order of these fields, the events last.

    A tuple, as `Committed`: every search makes one, and a dataclass is slow to define.
    """

    created: Sequence[Memory] = ()
    extra: Mapping[str, Mapping[str, str | tuple[str, ...]]] = MappingProxyType({})
    """Further front-matter keys of created memories, by ID. A store without files drops them."""
    merged: Sequence[tuple[Memory, str]] = ()
    """Texts to keep beside the memory with this ID."""
    updated: Sequence[Update] = ()
    """Memories in the trash and in the archive may be updated too; they stay there."""
    trashed: Sequence[Memory] = ()
    restored: Sequence[str] = ()
    """IDs of memories to restore from the trash or the archive."""
    archived: Sequence[Memory] = ()
    erased: Sequence[str] = ()
    """IDs of memories to delete permanently: with all versions, archived copies and index rows."""
    dropped: Sequence[StoredVersion] = ()
    """Versions and merged texts to delete."""
    core: Mapping[str, Mapping[str, str | None]] = MappingProxyType({})
    """Core memory entries by section; None removes one."""
    core_user: str = ""
    """Whose core memory `core` changes; empty: the vault's."""
    messages: Sequence[Message] = ()
    """New messages, all of one conversation."""
    events: Sequence[Event] = ()
    durable: bool = True
    """Whether events are synced to disk before `commit` returns. Memories always are."""


class Committed(NamedTuple):
    """The result of a commit."""

    memories: Mapping[str, Memory]
    """The created, updated, trashed and restored memories as they are stored, by ID.

    Without those that are in the archive.
    """
    indexed: bool
    """False if the index could not be written: the change is stored, the index catches up later."""
