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
    NotFound,
    VaultError,
)
from muisti.model import Event
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
        raise MemoryNotFound(memory_id)
    try:
        file = parts.vault.read(known.file_path)
    except BrokenFile:
        parts.index.behind = True
        raise
    if file is None or file.memory.id != memory_id:
        parts.index.behind = True
        raise Conflict(f"{known.file_path} now holds something else; run `muisti sync` and try again")
    if content_too and file.memory.content != known.content:
        parts.index.behind = True
        raise Conflict(f"{known.file_path} was edited by hand in the meantime; read it again and repeat the change")
    return file


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
