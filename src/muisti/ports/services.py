"""Everything that an operation of the engine may use, in one object."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from muisti.model import Draft, Usage

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import DocumentSource, Link, Memory, SyncReport, VerifyReport
    from muisti.ports import Embedders, Progress
    from muisti.ports.language import LanguageModel
    from muisti.ports.location import Location
    from muisti.ports.search import SearchIndex
    from muisti.ports.store import Clock, Store
    from muisti.ports.vectors import VectorIndex
    from muisti.settings import Settings


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory from elsewhere, with the use it had there."""

    draft: Draft
    usage: Usage = field(default_factory=Usage)


class ImportExport(Protocol):
    """Memories as text for other programs, and back."""

    def dump(self, memories: Sequence[Memory], form: str) -> str:
        """Return memories as `markdown` or `json`. Raises InvalidRequest for another form."""
        ...

    def load(self, source: Path) -> list[ImportedMemory]:
        """Return what a file or folder holds. Raises ImportFailed."""
        ...


class MemoryCodec(Protocol):
    """How the vault's files write a memory, a link and a time. All raise ImportFailed."""

    def parse_memory(self, path: str, text: str, modified: datetime) -> Memory:
        """Return the memory in a file's text. Path and time fill in what the text does not say."""
        ...

    def format_memory(self, memory: Memory) -> str:
        """Return a memory as the text of a file."""
        ...

    def parse_link(self, line: str) -> Link:
        """Return the link that a line of front matter stands for."""
        ...

    def parse_time(self, field: str, text: str) -> datetime:
        """Return the time that a text stands for. The error names the field."""
        ...


class Reconciler(Protocol):
    """Keeps the index in step with a store that others change too. Raises Unsupported where the store cannot do it."""

    def sync(self, *, confirm: bool = False, paths: Collection[str] | None = None) -> SyncReport:
        """Pick up changes made outside. Confirm: forget vanished memories, however many. Paths: look at these only."""
        ...

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Build the index anew from the store, while others keep reading and writing."""
        ...

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare the index with the store. Deep: also with an index built anew."""
        ...

    def index_path(
        self, path: str, source: str | None, project: str | None, *, trusted: bool | None
    ) -> DocumentSource:
        """Search a file or a folder of documents from now on. Raises InvalidRequest."""
        ...

    def forget_path(self, path: str) -> DocumentSource:
        """Search it no longer; the files stay as they are. Raises InvalidRequest."""
        ...

    def sources(self) -> list[DocumentSource]:
        """Return the files and folders that are searched beside the memories."""
        ...


class ServiceFactory(Protocol):
    """Makes the parts of a vault, each when it is first used."""

    def make_location(self) -> Location:
        """Return where the vault is."""
        ...

    def make_store(self) -> Store:
        """Return the source of truth."""
        ...

    def make_index(self) -> SearchIndex:
        """Return what answers questions."""
        ...

    def make_vectors(self) -> VectorIndex:
        """Return the vectors of the index."""
        ...

    def make_reconciler(self) -> Reconciler:
        """Return what keeps the index in step with the store."""
        ...

    def make_embedders(self) -> Embedders:
        """Return what makes vectors."""
        ...

    def make_language_model(self) -> LanguageModel | None:
        """Return the model that extraction asks; None: extraction goes by rules."""
        ...

    def make_import_export(self) -> ImportExport:
        """Return the formats of other programs."""
        ...

    def close(self) -> None:
        """Remove what was only needed while the vault was open."""
        ...


class Services:
    """The parts of an open vault. Each is made when it is first used: a hook needs few of them."""

    def __init__(self, settings: Settings, clock: Clock, factory: ServiceFactory) -> None:
        self.settings = settings
        self.clock = clock
        self._factory = factory

    @cached_property
    def location(self) -> Location:
        """Where the vault is."""
        return self._factory.make_location()

    @cached_property
    def store(self) -> Store:
        """The source of truth."""
        return self._factory.make_store()

    @cached_property
    def index(self) -> SearchIndex:
        """What answers questions."""
        return self._factory.make_index()

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vectors of the index."""
        return self._factory.make_vectors()

    @cached_property
    def reconciler(self) -> Reconciler:
        """Keeps the index in step with the store."""
        return self._factory.make_reconciler()

    @cached_property
    def embedders(self) -> Embedders:
        """What makes vectors."""
        return self._factory.make_embedders()

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The model that extraction asks; None: extraction goes by rules."""
        return self._factory.make_language_model()

    @cached_property
    def import_export(self) -> ImportExport:
        """Formats of other programs."""
        return self._factory.make_import_export()

    def prepare(self, *, wait: bool) -> None:
        """Make the index ready to be read, as `Store.prepare` does. The store is not touched if it is."""
        if not self.index.is_ready():
            self.store.prepare(wait=wait)

    def close(self) -> None:
        """Close what was used."""
        for name in ("embedders", "language_model", "index"):
            made = self.__dict__.get(name)
            if made is not None:
                made.close()
        self._factory.close()
