"""Copy a vault between a folder and a database: `push` and `pull`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from muisti.bootstrap import BackEnd, FilesBackEnd, Location
from muisti.bootstrap_postgres import PostgresBackEnd, check_address
from muisti.errors import InvalidRequest, VaultNotFound, VaultNotTrusted
from muisti.lifecycle import moving
from muisti.locations import find_database
from muisti.model import Problem
from muisti.settings import IN_MEMORY, find_vault, is_foreign, load_settings
from muisti.storage.clock import SystemClock
from muisti.storage.files.init import is_vault
from muisti.storage.files.moving import FolderMover
from muisti.trust import is_trusted, note_use, record_creation

if TYPE_CHECKING:
    from muisti.model import MoveReport
    from muisti.ports import Progress
    from muisti.ports.services import Services

_NOT_COPIED = (
    "its documents are not in the vault and were not copied: run `muisti index` with this path "
    "and --vault for the database"
)
_ADDRESS = "must be an address such as postgresql://user@host/database"


def push(store: str, vault: Location = None, *, progress: Progress | None = None) -> MoveReport:
    """Copy a vault in a folder into a database, byte for byte.

    The database must be empty, or have a part of this vault from a push that was cut short: then
    that is continued. Without `vault`, the one that `open` would find. Its settings are not copied.

    Raises InvalidRequest, VaultError, StoreUnavailable, and Conflict if a conversation or the
    journal was rewritten since the push began.
    """
    address = _check_store(store)
    if find_database(vault) is not None:
        reason = "must be a folder; to copy a vault from a database, use `muisti pull`"
        raise InvalidRequest("vault", "", reason)
    root = find_vault(vault)
    if root == Path(IN_MEMORY):
        raise InvalidRequest("vault", IN_MEMORY, "must be a folder")
    if not is_vault(root):
        raise VaultNotFound(f"there is no vault at {root}; choose one with --vault")
    if is_foreign(root, vault) and not is_trusted(root):
        raise VaultNotTrusted(
            f"{root} is not trusted, so it is not copied; if it is yours, run `muisti trust {root}`"
        )
    note_use(root)
    settings = load_settings(root)
    source = FilesBackEnd(root, settings, SystemClock(), None)
    target = PostgresBackEnd(store, settings, SystemClock())
    with _use(source) as files, _use(target) as rows:
        source.prepare(answer_first=False)
        target.prepare(answer_first=False)
        folder = FolderMover(root, settings, writable=source.writable)
        mover = target.make_mover()
        report = moving.push(folder, mover, address, progress)
        vectors = moving.copy_vectors(files.vectors, rows.vectors, rows.store.lock, progress)
        mover.finish()
        stored = {source.path: source.documents for source in rows.reconciler.sources()}
        missing = [
            Problem(source.path, _NOT_COPIED)
            for source in files.reconciler.sources()
            if source.documents and not stored.get(source.path)
        ]
    return replace(report, vectors=vectors, problems=(*report.problems, *missing))


def pull(store: str, folder: Location, *, progress: Progress | None = None) -> MoveReport:
    """Copy a vault in a database into a folder, byte for byte, as it is at one moment.

    The folder must be empty, but for a `muisti.toml`, or have a part of this vault from a pull that
    was cut short: then that is continued.

    Raises InvalidRequest, VaultError, StoreUnavailable.
    """
    address = _check_store(store)
    if folder is None or str(folder) in ("", IN_MEMORY) or find_database(folder) is not None:
        reason = "must be a folder; to copy a vault into a database, use `muisti push`"
        raise InvalidRequest("folder", "", reason)
    root = find_vault(folder)
    is_new = not is_vault(root)
    settings = load_settings(None if is_new else root)
    source = PostgresBackEnd(store, settings, SystemClock())
    with _use(source) as rows:
        source.prepare(answer_first=False)
        mover = FolderMover(root, settings)
        report = moving.pull(source.make_mover(), mover, address, progress)
        if is_new:
            record_creation(root)
        settings = replace(load_settings(root), sync_on_open=False)
        target = FilesBackEnd(root, settings, SystemClock(), None)
        with _use(target) as files:
            target.prepare(answer_first=False)
            files.reconciler.sync(confirm=True, progress=progress)
            vectors = moving.copy_vectors(rows.vectors, files.vectors, files.store.lock, progress)
    return replace(report, vectors=vectors)


def _check_store(store: str) -> str:
    """Return the address of a database without its password. Raises InvalidRequest."""
    if not isinstance(store, str) or find_database(store) is None:
        raise InvalidRequest("store", "", _ADDRESS)
    return check_address(store)


@contextmanager
def _use(back_end: BackEnd) -> Iterator[Services]:
    """Close the services of a back end at the end of the block."""
    services = back_end.services
    _ = services.index
    try:
        yield services
    finally:
        services.close()
