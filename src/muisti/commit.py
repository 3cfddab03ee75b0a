"""How every change ends: first the files, then the journal, then one transaction of the index.

The files and the journal are the truth. If the index cannot follow (it is locked, damaged, its disk is
full), the change stands all the same: the index is marked as behind and catches up at the next call.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from muisti.errors import Conflict, IndexCorrupt, IndexProblem, InvalidMemory, InvalidRequest, NotFound, VaultError
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
