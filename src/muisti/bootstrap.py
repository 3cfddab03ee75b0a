"""Puts the parts together. The only module that names adapters."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from muisti.adapters.clock import SystemClock
from muisti.adapters.files.create import create_vault, is_vault
from muisti.adapters.files.disk import Disk
from muisti.adapters.files.exchange import FileExchange
from muisti.adapters.files.journal import FileJournal
from muisti.adapters.files.vault import FileVault, ReadOnlyVault
from muisti.adapters.sqlite.connect import Database
from muisti.adapters.sqlite.index import SqliteIndex
from muisti.adapters.sqlite.lexical import SqliteLexical
from muisti.adapters.sqlite.reader import SqliteReader
from muisti.engine import Muisti
from muisti.errors import VaultNotFound
from muisti.ports import Clock, Parts
from muisti.settings import Value, find_vault, load_settings


def open_vault(
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = True,
    clock: Clock | None = None,
    disk: Disk | None = None,
    arguments: Mapping[str, Value] | None = None,
) -> Muisti:
    """Open a vault, creating it unless told not to. Raises VaultError, SettingsError, IndexTooNew."""
    root = find_vault(path)
    if not is_vault(root):
        if not create:
            raise VaultNotFound(f"there is no vault at {root}: `muisti init` makes one, `muisti save` too")
        create_vault(root, disk or Disk())
    settings = load_settings(root, arguments=arguments)
    clock = clock or SystemClock()
    writable = _is_writable(root)
    vault = (FileVault if writable else ReadOnlyVault)(root, settings, clock, disk)
    folder = root / ".muisti" if writable else _private_copy(root / ".muisti")
    database = Database(folder, settings.index_timeout)
    parts = Parts(
        vault=vault,
        journal=FileJournal(root, clock, disk),
        index=SqliteIndex(database, settings.index_timeout),
        reader=SqliteReader(database),
        lexical=SqliteLexical(database),
        exchange=FileExchange(settings),
        clock=clock,
        settings=settings if writable else load_settings(root, arguments={**(arguments or {}), "record_recall": False}),
    )
    memory = Muisti(parts, root)
    if not writable:
        weakref.finalize(memory, shutil.rmtree, folder, ignore_errors=True)
    memory.make_ready()
    if settings.sync_on_open:
        memory.sync()
    return memory


def _is_writable(root: Path) -> bool:
    index = root / ".muisti"
    return os.access(root, os.W_OK | os.X_OK) and (not index.exists() or os.access(index, os.W_OK | os.X_OK))


def _private_copy(index: Path) -> Path:
    """A vault that cannot be written is searched through a copy of its index, brought up to date here."""
    private = Path(tempfile.mkdtemp(prefix="muisti-"))
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # then it is built here from the files
        for file in index.iterdir():
            if file.is_file() and file.name.startswith(("current", "index-")):
                shutil.copy(file, private / file.name)
    return private
