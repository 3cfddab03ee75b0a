"""Open a vault: combine storage, models and engine. The only module that names back ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from muisti.errors import (
    IndexCorrupt,
    InvalidRequest,
    MuistiError,
    VaultBusy,
    VaultFull,
    VaultNotFound,
)
from muisti.locations import find_database
from muisti.logs import get_log
from muisti.ports.services import Services
from muisti.roles import ROLES
from muisti.settings import IN_MEMORY, Settings, ValueOrList, find_vault, is_foreign, load_settings
from muisti.storage.clock import SystemClock
from muisti.storage.files.index_folder import copy_index, is_writable, make_index_folder
from muisti.trust import is_trusted, note_use, record_creation

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.engine.reader import Reader
    from muisti.engine.search import Search
    from muisti.model import Memory
    from muisti.ports import (
        Clock,
        Embedders,
        ImportExport,
        LanguageModel,
        Reconciler,
        SearchIndex,
        Store,
        VectorIndex,
    )
    from muisti.ports import Location as StorageLocation
    from muisti.storage.files.disk import Disk
    from muisti.storage.files.store import FileStore
    from muisti.storage.files.sync.reconciler import FileReconciler
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.index import SqliteIndex

OPENING_PATIENCE = 0.3
"""Seconds that opening waits for another process's lock to pick up edited files."""

UNCHECKED = (
    "files that were edited outside muisti just now may be missing; they are checked in the "
    "background (`muisti sync` does it now)"
)
Location = str | os.PathLike[str] | None
Opened = TypeVar("Opened")
Searched = TypeVar("Searched", bound="Search")


@overload
def open(
    location: Location = None,
    *,
    role: Literal["hook"],
    settings: Mapping[str, ValueOrList] | None = None,
    project: str = "",
    foreign: bool | None = None,
) -> Search: ...


@overload
def open(
    location: Location = None,
    *,
    role: Literal["search"],
    settings: Mapping[str, ValueOrList] | None = None,
    project: str = "",
    foreign: bool | None = None,
) -> Reader: ...


@overload
def open(
    location: Location = None,
    *,
    role: Literal["library", "cli", "server", "mcp", "warm", "worker"] = "library",
    create: bool | None = None,
    settings: Mapping[str, ValueOrList] | None = None,
    project: str = "",
    foreign: bool | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> Muisti: ...


def open(
    location: Location = None,
    *,
    role: str = "library",
    create: bool | None = None,
    settings: Mapping[str, ValueOrList] | None = None,
    project: str = "",
    foreign: bool | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> Muisti | Reader | Search:  # shape: one argument for each option
    """Open the vault at a location: a folder, a database, `:memory:`, or None for the one found.

    The role decides whether a missing vault is created, edited files are picked up, accepted
    exchanges are continued and the model is loaded. `create` overrides the role. A hook and
    `muisti search` get a vault that can only be searched, and load as little as possible.

    `project` is the default project unless the vault's settings name one.

    A vault that was found in the working folder (`foreign`) and that the user neither made nor
    approved can only be read, and nothing in it is trusted. By default a vault was found if no
    location is given and it is not the user's own.

    A vault in `:memory:` neither reads from the disk nor writes to it. A database is named by its
    address, `postgresql://user@host/name`; it needs the extra `muisti[postgres]`.

    Raises VaultError, SettingsError, IndexTooNew, InvalidRequest.
    """
    if role not in ROLES:
        raise InvalidRequest("role", role, f"must be one of {', '.join(ROLES)}")
    defaults = ROLES[role]
    arguments = {**(defaults.settings or {}), **(settings or {})}
    back_end: BackEnd
    database = find_database(location)
    if database is not None:
        from muisti.bootstrap_postgres import PostgresBackEnd, check_address

        root = Path(check_address(database))
        vault_settings = load_settings(arguments=arguments)
        if project and not vault_settings.project:
            vault_settings = replace(vault_settings, project=project)
        back_end = PostgresBackEnd(database, vault_settings, clock or SystemClock())
    elif (root := find_vault(location)) == Path(IN_MEMORY):
        back_end = _InMemory(load_settings(arguments=arguments), clock or SystemClock())
    else:
        _ensure_vault(root, create=defaults.create if create is None else create, disk=disk)
        found = is_foreign(root, location) if foreign is None else foreign
        is_stranger = found and not is_trusted(root)
        vault_settings = load_settings(root, arguments=arguments, foreign=is_stranger)
        if not is_stranger and role != "hook" and not vault_settings.read_only:
            note_use(root)
        if project and not vault_settings.project:
            vault_settings = replace(vault_settings, project=project)
        back_end = FilesBackEnd(root, vault_settings, clock or SystemClock(), disk)
    others = back_end.services.settings.vaults.split(",")
    also = [resolve_other(root, one.strip()) for one in others if one.strip()]
    back_end.services.use_threads = defaults.use_threads
    back_end.services.use_all_cores = defaults.use_all_cores
    back_end.services.build_snapshots = defaults.build_snapshots
    if role == "hook":
        from muisti.engine.search import Search

        return add_vaults(back_end.clean_up_after(Search(back_end.services, root)), also, role)
    if role == "search":
        from muisti.engine.reader import Reader

        reader = back_end.clean_up_after(Reader(back_end.services, root))
        back_end.check_settings()
        back_end.prepare(answer_first=defaults.answer_first)
        return add_vaults(reader, also, role)
    from muisti.engine import Muisti

    memory = back_end.clean_up_after(Muisti(back_end.services, root))
    back_end.check_settings()
    back_end.prepare(answer_first=defaults.answer_first)
    if defaults.resume and memory.is_trusted:
        memory.resume_extraction()
    if defaults.warm_up:
        memory.warm_up()
    return add_vaults(memory, also, role)


def resolve_other(root: Path, location: str) -> str:
    """Return the location of another vault. A path is relative to the folder of this one."""
    if "://" in location:
        return location
    return os.path.normpath(root / os.path.expanduser(location))


def add_vaults(memory: Searched, locations: Sequence[str], role: str = "cli") -> Searched:
    """Let reads of an open vault also look into others, and return it.

    They are named by the user, like the location of `open`. None is created; each is opened when it
    is first read.
    """
    own = str(memory.root)
    more = memory.others.locations if memory.others is not None else ()
    wanted = [one for one in (*more, *locations) if one != own]
    if not wanted:
        return memory
    from muisti.engine.other_vaults import OtherVaults

    settings = {"vaults": ""}

    def open_other(location: str) -> Search:
        if role == "hook":
            return open(location, role="hook", settings=settings)
        if role == "search":
            return open(location, role="search", settings=settings)
        return open(location, role="cli", create=False, settings=settings)

    memory.others = OtherVaults(wanted, open_other)
    return memory


def _ensure_vault(root: Path, *, create: bool, disk: Disk | None) -> None:
    from muisti.storage.files.init import create_vault, is_vault

    if is_vault(root):
        return
    if not create:
        raise VaultNotFound(
            f"there is no vault at {root}; `muisti init` or `muisti save` creates one"
        )
    from muisti.storage.files.disk import Disk

    create_vault(root, disk or Disk())
    record_creation(root)


class BackEnd:
    """Makes the services of a vault, each when it is first used."""

    services: Services

    def prepare(self, *, answer_first: bool) -> None:
        """Make the vault ready. Answer first: do not look at the files of a large vault."""

    def clean_up_after(self, memory: Opened) -> Opened:
        """Clean up when the vault is no longer used. Return the vault."""
        return memory

    def close(self) -> None:
        """Remove what was only needed while the vault was open."""

    def check_settings(self) -> None:
        """Raises SettingsError if the embedder or the extractor cannot work. Loads no model.

        The defaults can. Importing them would delay a search by words, which needs neither.
        """
        settings, defaults = self.services.settings, Settings()
        if (settings.embedder, settings.model) != (defaults.embedder, defaults.model):
            from muisti.models.embedders.chain import split_chain

            split_chain(settings)
        if settings.extractor != defaults.extractor:
            from muisti.models.language.factory import check_settings as check_extractor

            check_extractor(settings)

    def make_embedders(self) -> Embedders:
        """Return the embedders."""
        from muisti.models.embedders.factory import SettingsEmbedders

        return SettingsEmbedders(self.services.settings)

    def make_language_model(self) -> LanguageModel | None:
        """Return the language model for extraction, or None."""
        from muisti.models.language.factory import make_language_model

        return make_language_model(self.services.settings)

    def make_import_export(self) -> ImportExport:
        """Return the import and export formats."""
        from muisti.importers import ImportExportFiles
        from muisti.storage.files.markdown_codec import MarkdownCodec

        store = self.services.store

        def read_text(memory: Memory) -> str:
            stored = store.current(memory)
            return "" if stored is None else stored.text

        return ImportExportFiles(MarkdownCodec(self.services.settings, read_text))


class _InMemory(BackEnd):
    """A vault without files."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        from muisti.storage.memory.index import MemoryIndex
        from muisti.storage.memory.store import MemoryStore

        self._index = MemoryIndex(
            clock, settings.kinds, settings.decay_rates, settings.salience_decay_days
        )
        self._store = MemoryStore(settings, clock, self._index)
        self.services = Services(settings, clock, self)

    def make_location(self) -> StorageLocation:
        """Return where the vault is."""
        from muisti.storage.memory.location import MemoryLocation

        return MemoryLocation()

    def make_store(self) -> Store:
        """Return the source of truth."""
        return self._store

    def make_index(self) -> SearchIndex:
        """Return the search index."""
        return self._index

    def make_vectors(self) -> VectorIndex:
        """Return the vector index."""
        from muisti.storage.memory.vectors import MemoryVectors

        return MemoryVectors(self._index)

    def make_reconciler(self) -> Reconciler:
        """Return the reconciler, which only verifies."""
        from muisti.storage.memory.reconciler import MemoryReconciler

        return MemoryReconciler(self._store, self._index)


class FilesBackEnd(BackEnd):
    """A vault in a folder."""

    def __init__(self, root: Path, settings: Settings, clock: Clock, disk: Disk | None) -> None:
        self._root = root
        self._disk = disk
        is_locked = not settings.vault_trusted or settings.read_only
        self.writable = not is_locked and is_writable(root)
        self._index_folder = root / ".muisti"
        if not settings.vault_trusted:  # its index may say anything
            self._index_folder = make_index_folder()
        elif not self.writable:
            settings = replace(settings, record_recall=False)
            self._index_folder = copy_index(self._index_folder)
        self._remove_copy: Callable[[], object] | None = None
        self.services = Services(settings, clock, self)

    def clean_up_after(self, memory: Opened) -> Opened:
        """Remove the private copy of an index when the vault is no longer used."""
        if not self.writable:
            import shutil
            import weakref

            self._remove_copy = weakref.finalize(
                memory, shutil.rmtree, self._index_folder, ignore_errors=True
            )
        return memory

    def close(self) -> None:
        """Remove the private copy of an index: hooks exit without running finalizers."""
        if self._remove_copy is not None:
            self._remove_copy()

    def prepare(self, *, answer_first: bool) -> None:
        """Prepare the index, pick up edited files, and fill core memory from `USER.md` once.

        Answer first: do not look at the files of a large vault, only say so.
        """
        settings = self.services.settings
        try:
            self.store.prepare(wait=True)
            limit = settings.sync_first_below
            if settings.sync_on_open and answer_first and self.index.has_more_files(limit):
                self.services.unchecked = UNCHECKED
            elif settings.sync_on_open:
                try:
                    self.reconciler.sync(timeout=OPENING_PATIENCE)
                except (VaultBusy, VaultFull) as error:
                    # The other process indexes what it writes; a full disk can still be read.
                    self.index.stale = True
                    get_log().info("edited files are picked up later: %s", error)
        except IndexCorrupt:
            self.store.repair()
        if not self.writable:
            return
        try:
            if text := self.store.read_user_file():
                from muisti.engine import Muisti

                Muisti(self.services, self._root).core_init(text, user="")
        except MuistiError as error:
            get_log().warning("core memory is not filled from USER.md: %s", error)

    @cached_property
    def _database(self) -> Database:
        from muisti.storage.sqlite.connect import Database

        settings = self.services.settings
        return Database(
            self._index_folder,
            settings.index_timeout,
            self.services.clock,
            settings.kinds,
            settings.decay_rates,
            identify_vault=lambda: identify_folder(self._root),
            grace_days=settings.salience_decay_days,
            background=self.services.build_snapshots,
        )

    @cached_property
    def index(self) -> SqliteIndex:
        """The search index."""
        from muisti.storage.sqlite.index import SqliteIndex

        return SqliteIndex(self._database, self.services.settings.index_timeout)

    @cached_property
    def store(self) -> FileStore:
        """The files."""
        from muisti.storage.files.store import FileStore

        services = self.services
        store = FileStore(
            self._root,
            services.settings,
            services.clock,
            self.index,
            self._disk,
            writable=self.writable,
        )
        # The reconciler needs the store, so it is made on first use.
        store.catch_up = lambda timeout: self.reconciler.sync(timeout=timeout)
        return store

    @cached_property
    def reconciler(self) -> FileReconciler:
        """Keeps the index up to date with the files."""
        from muisti.storage.files.documents import FileDocuments
        from muisti.storage.files.sync.reconciler import FileReconciler

        services = self.services
        documents = FileDocuments(self._root, services.settings)
        return FileReconciler(self.store, services.settings, services.clock, documents)

    def make_store(self) -> FileStore:
        """Return the files."""
        return self.store

    def make_index(self) -> SqliteIndex:
        """Return the search index."""
        return self.index

    def make_reconciler(self) -> FileReconciler:
        """Return the reconciler."""
        return self.reconciler

    def make_location(self) -> StorageLocation:
        """Return where the vault is."""
        from muisti.storage.files.location import FileLocation

        services = self.services
        return FileLocation(
            self._root, services.settings, services.clock, self._disk, writable=self.writable
        )

    def make_vectors(self) -> VectorIndex:
        """Return the vector index."""
        from muisti.storage.sqlite.vectors import SqliteVectors

        return SqliteVectors(self._database, self.services.settings.vector_index)


def identify_folder(root: Path) -> int:
    """Return a number that stays the same until the folder is copied or moved to another disk."""
    status = root.stat()
    return (status.st_dev * 0x9E3779B97F4A7C15 ^ status.st_ino) & 0x7FFF_FFFF_FFFF_FFFF


def read_settings(location: Location = None) -> Settings:
    """Return the settings that opening a vault would use. Raises SettingsError."""
    if find_database(location):
        return load_settings()
    root = find_vault(location)
    return load_settings(root, foreign=is_foreign(root, location) and not is_trusted(root))
