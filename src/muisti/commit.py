"""How every change begins and ends: under the lock, with the file as it is now; and first the files, then the journal, then one
transaction of the index.

The files and the journal are the truth. If the index cannot follow (it is locked, damaged, its disk is
full), the change stands all the same: the index is marked as behind and catches up at the next call.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from muisti.errors import (
    BrokenFile,
    Conflict,
    IndexCorrupt,
    IndexProblem,
    InvalidMemory,
    InvalidRequest,
    MemoryNotFound,
    MuistiError,
    NotFound,
    VaultError,
)
from muisti.model import Event, Memory, Origin
from muisti.ports import Changes, Parts, StoredFile

log = logging.getLogger("muisti")


@contextmanager
def writing(parts: Parts) -> Iterator[None]:
    """Hold the vault, with the index that is in use now."""
    with parts.vault.lock():
        if not parts.index.is_current() and parts.index.open():
            raise IndexCorrupt("the index was removed while the vault was in use; it is rebuilt from the files")
        try:
            yield
        except (Conflict, InvalidMemory, InvalidRequest, NotFound):
            raise  # refused before anything was written
        except BaseException:
            parts.index.behind = True  # the disk may have got further than the index: look before the next answer
            raise


def current(parts: Parts, memory_id: str, *, content_too: bool = False) -> StoredFile:
    """The memory as its file has it now: a person may have edited it since the index looked."""
    known = parts.reader.get(memory_id)
    if known is None or known.file_path is None:
        raise no_memory(parts, memory_id)
    file = _read_again(parts, known)
    if file is None:
        raise Conflict(f"{known.file_path} now holds something else; run `muisti sync` and try again")
    if content_too and file.memory.content != known.content:
        raise Conflict(f"{known.file_path} was edited by hand in the meantime; read it again and repeat the change")
    return file


def no_memory(parts: Parts, memory_id: str) -> MuistiError:
    """What to tell whoever takes an id for a memory's."""
    found = parts.reader.get(memory_id, any_origin=True)
    if found is None or found.origin is Origin.MEMORY:
        return MemoryNotFound(memory_id)
    if found.origin is Origin.MESSAGE:
        return InvalidRequest("id", memory_id, "it is a message; conversations are only ever appended to")
    return InvalidRequest("id", memory_id, f"it is a section of a document; edit {found.file_path} itself")


def as_file_says(parts: Parts, known: Memory) -> StoredFile | None:
    """A memory of the index as its file has it now; None if that is gone, broken or another memory's."""
    try:
        return _read_again(parts, known)
    except BrokenFile:
        return None


def _read_again(parts: Parts, known: Memory) -> StoredFile | None:
    """The same, but raises BrokenFile. Where file and index differ, the index is behind: it catches up at the next call."""
    try:
        file = parts.vault.read(str(known.file_path))
    except BrokenFile:
        parts.index.behind = True
        raise
    if file is None or file.memory.id != known.id:
        parts.index.behind = True
        return None
    if _said(file.memory) != _said(known):
        parts.index.behind = True
    return file


def _said(memory: Memory) -> tuple[object, ...]:
    """What decides whether a memory is merged into, or moved by upkeep."""
    return memory.content, memory.kind, memory.pinned


def commit(
    parts: Parts,
    *,
    files: Sequence[StoredFile] = (),
    removed: Sequence[str] = (),
    events: Sequence[Event] = (),
    durable: bool = True,
) -> bool:
    """Write the events to the journal and bring the index up to date. False if the index has to catch up later."""
    parts.journal.append(events, durable=durable)
    try:
        reading = parts.journal.read(parts.index.marks())
        parts.index.apply(Changes(files=files, removed=removed, reading=reading))
    except (IndexProblem, VaultError) as error:
        log.warning("the change is saved, the index follows later: %s", error)
        parts.index.behind = True
        return False
    return True
