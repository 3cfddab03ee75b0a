"""Finds memories by ID, in the index and in the store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile, Conflict, InvalidRequest, MemoryNotFound, MuistiError
from muisti.model import EntryType

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports.services import Services
    from muisti.ports.store import Stored

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""What the ID of a memory looks like."""


def check_id(memory_id: object) -> None:
    """Raise InvalidRequest for what is not a text: a memory instead of its ID, for example."""
    if not isinstance(memory_id, str):
        raise InvalidRequest("id", memory_id, "must be the ID of a memory, such as `memory.id`")


def require_memory(services: Services, memory_id: str) -> Memory:
    """Return an indexed memory.

    Raises MemoryNotFound, or InvalidRequest for the ID of a message or a section of a document.
    """
    found = services.index.get(memory_id)
    if found is None:
        raise make_memory_error(services, memory_id)
    return found


def make_memory_error(services: Services, memory_id: str) -> MuistiError:
    """Return the error for an ID that is not a memory's."""
    found = services.index.get(memory_id, any_origin=True)
    if found is None or found.origin is EntryType.MEMORY:
        return MemoryNotFound(memory_id)
    if found.origin is EntryType.MESSAGE:
        return InvalidRequest("id", memory_id, "is a message; conversations are append-only")
    return InvalidRequest(
        "id", memory_id, f"is a section of a document; edit {found.file_path} instead"
    )


def require_stored(services: Services, memory_id: str, *, content_too: bool = False) -> Stored:
    """Return a memory as it is stored now: its file may have been edited since it was indexed.

    Raises MemoryNotFound, BrokenFile, and Conflict if the file now holds another memory. With
    `content_too`, also raises Conflict if the content differs from the index.
    """
    known = require_memory(services, memory_id)
    stored = services.store.current(known)
    if stored is None:
        raise Conflict(
            f"{known.file_path} no longer holds this memory; run `muisti sync` and try again"
        )
    if content_too and stored.memory.content != known.content:
        raise Conflict(
            f"{known.file_path} was edited outside muisti; read it again and repeat the change"
        )
    return stored


def find_stored(services: Services, known: Memory) -> Stored | None:
    """Return an indexed memory as it is stored now; None if it is gone, broken or replaced."""
    try:
        return services.store.current(known)
    except BrokenFile:
        return None
