"""Copy a vault between a folder and a store, so that a copy that was cut short can be continued.

What is copied in one transaction is there or not, and what is there is not copied again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from muisti.errors import VaultNotFound, VaultUnusable
from muisti.model import MoveReport, Problem
from muisti.ports import Progress, Space, VectorIndex
from muisti.ports.moving import LINES, ListedFile, Part, VaultFile, VaultFolder, VaultStore

BATCH = 2000
"""Files or texts in one transaction. Words that several of them have are counted once."""
BATCH_BYTES = 4_000_000
PASSES = 3
"""How often a vault that is being changed is looked through again."""
CLOCK_NS = 2_000_000_000
"""How much the clock of a file system may differ from that of this machine."""
_CHANGES = "was changed while it was pushed: push again when nothing writes to the vault"
_EMPTY_FIRST = "push into an empty database, or `muisti pull` this one into a folder"


def push(
    folder: VaultFolder, store: VaultStore, where: str, progress: Progress | None = None
) -> MoveReport:
    """Copy a vault in a folder into a store that is empty or has a part of it.

    Where: the store's address, for messages. Raises VaultUnusable if the store has another vault,
    Conflict if a file of lines was rewritten since the push began.
    """
    vault_id = folder.identify()
    state = store.read_state()
    if not state.is_empty and state.vault_id != vault_id:
        raise VaultUnusable(f"{where} has another vault, which is not overwritten; {_EMPTY_FIRST}")
    if not state.is_empty and not state.is_partial:
        raise VaultUnusable(
            f"{where} has this vault already, and changes made since are not merged; {_EMPTY_FIRST}"
        )
    store.begin(vault_id)
    listed = sum(1 for _ in folder.list_files())
    done = copied = 0
    since = time.time_ns()
    for batch in _read_batches(folder, _list_whole(folder)):
        copied += store.write([file for file in batch if file is not None], folder.exists)
        done += len(batch)
        if progress is not None:
            progress(min(done, listed), listed)
    files = done
    copied += _catch_up(folder, store, since)
    lines = [file for file in folder.list_files() if file.part in LINES]
    for file in lines:
        copied += _push_lines(folder, store, file)
        done += 1
        if progress is not None:
            progress(min(done, listed), listed)
    store.index_documents()
    store.write_queue(folder.read_queue())
    return MoveReport(
        files=files,
        line_files=len(lines),
        copied=copied,
        vectors=0,
        problems=tuple(dict.fromkeys(folder.problems)),
    )


def _list_whole(folder: VaultFolder) -> Iterator[ListedFile]:
    return (file for file in folder.list_files() if file.part not in LINES)


def _read_batches(
    folder: VaultFolder, files: Iterator[ListedFile]
) -> Iterator[list[VaultFile | None]]:
    """Yield the files in batches; None for one that is not copied."""
    batch: list[VaultFile | None] = []
    size = 0
    for file in files:
        read = folder.read(file)
        batch.append(read)
        size += 0 if read is None else len(read.data)
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _push_lines(folder: VaultFolder, store: VaultStore, file: ListedFile) -> int:
    copied = end = 0
    for batch in folder.read_lines(file):
        copied += store.write_lines(file, batch)
        end = batch[-1][0] + len(batch[-1][1])
    store.check_end(file, end)
    return copied


def _catch_up(folder: VaultFolder, store: VaultStore, since: int) -> int:
    """Copy whole files that changed since a time, until there are none. Return how many."""
    copied = 0
    for _ in range(PASSES):
        started = time.time_ns()
        changed = store.remove_missing(folder.exists)
        for batch in _read_batches(folder, _find_changed(folder, store, since - CLOCK_NS)):
            changed += store.write([file for file in batch if file is not None], folder.exists)
        copied += changed
        if not changed:
            return copied
        since = started
    folder.problems.append(Problem("", _CHANGES))
    return copied


def _find_changed(folder: VaultFolder, store: VaultStore, since: int) -> Iterator[ListedFile]:
    """Yield the whole files that changed since a time, or that the store does not have."""
    batch: list[ListedFile] = []
    for file in _list_whole(folder):
        if file.changed_ns >= since:
            yield file
        elif file.part is not Part.CORE:
            batch.append(file)
        if len(batch) == BATCH:
            yield from store.find_missing(batch)
            batch = []
    yield from store.find_missing(batch)


def pull(
    store: VaultStore, folder: VaultFolder, where: str, progress: Progress | None = None
) -> MoveReport:
    """Copy a vault in a store into a folder that is empty or has a part of it.

    Where: the store's address, for messages. Raises VaultUnusable if there is anything else in the
    folder or the store is incomplete, VaultNotFound if the store is empty.
    """
    state = store.read_state()
    if state.is_partial:
        raise VaultUnusable(
            f"{where} has a part of a vault only: complete the `muisti push` to it first"
        )
    if state.is_empty:
        raise VaultNotFound(f"{where} has no memories yet: there is nothing to pull")
    is_continued = folder.begin(state.vault_id)
    written: set[int] = set()
    files = lines = 0
    with store.hold():
        total = store.count_files()

        def count(paths: Sequence[str]) -> None:
            if is_continued:
                written.update(map(hash, paths))
            if progress is not None:
                progress(min(files + lines, total), total)

        for batch in store.read_files():
            folder.write(batch)
            files += len(batch)
            count([file.path for file in batch])
        for path, content in store.read_line_files():
            folder.write_lines(path, content)
            lines += 1
            count([path])
        folder.write_queue(store.read_queue())
    if is_continued:  # what the store has deleted since the first attempt
        folder.remove_others(lambda path: hash(path) in written)
    folder.finish(state.vault_id)
    return MoveReport(
        files=files, line_files=lines, copied=0, vectors=0, problems=tuple(folder.problems)
    )


def copy_vectors(
    source: VectorIndex,
    target: VectorIndex,
    lock: Callable[[], AbstractContextManager[None]],
    progress: Progress | None = None,
) -> int:
    """Copy the vectors of the serving model for texts that are the same. Return of how many.

    A target with vectors of another model keeps those: then nothing is copied.
    """
    serving = next((space for space in source.spaces() if space.serving), None)
    if serving is None:
        return 0
    identity = serving.identity
    if any(space.identity != identity for space in target.spaces()):
        return 0
    with lock():
        space: Space = target.prepare(identity, source.get_centre(serving))
    total = space.missing
    copied = 0
    for batch in source.read_all(serving, BATCH):
        with lock():
            known = target.count_pieces(space, [one.memory_id for one in batch])
            missing = [one for one in batch if one.memory_id not in known]
            target.add(missing)
        copied += len(missing)
        if progress is not None:
            progress(min(copied, total), total)
    return copied
