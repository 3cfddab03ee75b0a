"""Finding the memory that a caller names, in the index and as it is stored now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muisti.errors import BrokenFile, Conflict, InvalidRequest, MemoryNotFound, MuistiError
from muisti.model import EntryType

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports.services import Services
    from muisti.ports.store import Stored


def require_memory(services: Services, memory_id: str) -> Memory:
    """Return a memory of the index. Raises MemoryNotFound, and InvalidRequest for a message or a document."""
    found = services.index.get(memory_id)
    if found is None:
        raise make_memory_error(services, memory_id)
    return found


def make_memory_error(services: Services, memory_id: str) -> MuistiError:
    """Return the error for an id that is not a memory's."""
    found = services.index.get(memory_id, any_origin=True)
    if found is None or found.origin is EntryType.MEMORY:
        return MemoryNotFound(memory_id)
    if found.origin is EntryType.MESSAGE:
        return InvalidRequest(
            "id", memory_id, "it is a message; conversations are only ever appended to"
        )
    return InvalidRequest(
        "id", memory_id, f"it is a section of a document; edit {found.file_path} itself"
    )


def require_stored(services: Services, memory_id: str, *, content_too: bool = False) -> Stored:
    """Return a memory as it is stored now: a person may have edited it since the index looked.

    Content too: raise Conflict if its text is not the one that readers know. Raises MemoryNotFound, Conflict, BrokenFile.
    """
    known = require_memory(services, memory_id)
    stored = services.store.current(known)
    if stored is None:
        raise Conflict(
            f"{known.file_path} now holds something else; run `muisti sync` and try again"
        )
    if content_too and stored.memory.content != known.content:
        raise Conflict(
            f"{known.file_path} was edited by hand in the meantime; read it again and repeat the change"
        )
    return stored


def find_stored(services: Services, known: Memory) -> Stored | None:
    """Return a memory of the index as it is stored now; None if it is gone, broken or another one."""
    try:
        return services.store.current(known)
    except BrokenFile:
        return None
