"""The services of an open vault, in one object."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model import DocumentSource, Link, Memory, SyncReport, VerifyReport
    from muisti.ports import Embedder, Embedders, Progress
    from muisti.ports.documents import DocumentFormat
    from muisti.ports.importing import ExtraValue, ImportExport
    from muisti.ports.language import LanguageModel
    from muisti.ports.location import Location
    from muisti.ports.search import SearchIndex
    from muisti.ports.store import Clock, Store
    from muisti.ports.vectors import VectorIndex
    from muisti.settings import Settings
    from muisti.side_thread import SideThread


class MemoryCodec(Protocol):
    """Reads and writes the format of the vault's files. The parsers raise ImportFailed."""

    def parse_memory(self, path: str, text: str, modified: datetime) -> Memory:
        """Return the memory in a file's text. Path and time supply fields that it does not set."""
        ...

    def parse_note(self, text: str) -> tuple[dict[str, ExtraValue], str]:
        """Return all keys of a note's front matter, with their values as text, and its body."""
        ...

    def format_memory(self, memory: Memory, extra: Mapping[str, ExtraValue] | None = None) -> str:
        """Return the text of a memory's file. Extra: further keys of its front matter."""
        ...

    def get_extra(self, memory: Memory) -> Mapping[str, ExtraValue]:
        """Return the keys of a stored memory's file that are no fields of muisti, for exports."""
        ...

    def parse_link(self, line: str) -> Link:
        """Return the link in a line of front matter."""
        ...

    def parse_time(self, field: str, text: str) -> datetime:
        """Return the time in a text. The error names the field."""
        ...


class VaultFormat(MemoryCodec, Protocol):
    """The files of a vault, for a store that keeps their bytes but has no folder."""

    @property
    def documents(self) -> DocumentFormat:
        """How documents are read."""
        ...

    def encode_memory(self, memory: Memory, extra: Mapping[str, ExtraValue] | None = None) -> bytes:
        """Return the bytes of a new file. Raises InvalidMemory if its fields are too long."""
        ...

    def rewrite_memory(self, data: bytes, memory: Memory) -> bytes:
        """Return a file's bytes with the fields and the content of a memory.

        Other keys, their order and comments stay. Raises BrokenFile, InvalidMemory.
        """
        ...

    def decode_memory(self, path: str, data: bytes) -> Memory:
        """Return the memory in a file. Raises BrokenFile."""
        ...

    def make_path(self, memory: Memory) -> str:
        """Return the path of a memory's file, relative to the vault, if it is not taken."""
        ...

    def make_trash_path(self, path: str, at: datetime) -> str:
        """Return the path that a file gets in the trash when it is deleted."""
        ...

    def make_restored_path(self, path: str) -> str:
        """Return the path that a file in the trash had before."""
        ...


class Reconciler(Protocol):
    """Keeps the index in sync with a store that other programs change.

    A store that has no files raises Unsupported where a method needs them.
    """

    def sync(
        self,
        *,
        confirm: bool = False,
        paths: Collection[str] | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> SyncReport:
        """Pick up external changes and return what was found. Raises VaultBusy.

        Confirm: remove missing memories from the index, however many. Paths: check only these.
        Timeout: seconds to wait for the lock, instead of the setting.
        """
        ...

    def has_outside_sources(self) -> bool:
        """Return whether documents outside the store's own folder are indexed."""
        ...

    def rebuild(self, progress: Progress | None = None) -> SyncReport:
        """Rebuild the index from the store. Other processes can read and write meanwhile."""
        ...

    def verify(self, *, deep: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Compare the index with the store. Deep: also with a newly built index."""
        ...

    def index_path(
        self,
        path: str,
        source: str | None,
        project: str | None,
        *,
        trusted: bool | None,
        user: str | None = None,
    ) -> DocumentSource:
        """Index a file or a folder of documents, now and on every sync. Raises InvalidRequest.

        None keeps the earlier value, or the default for a new source.
        """
        ...

    def forget_path(self, path: str) -> DocumentSource:
        """Stop indexing a path and return its source. The files stay. Raises InvalidRequest."""
        ...

    def sources(self) -> list[DocumentSource]:
        """Return the indexed files and folders."""
        ...


class ServiceFactory(Protocol):
    """Creates the services of a vault, each on first use."""

    def make_location(self) -> Location:
        """Create the location."""
        ...

    def make_store(self) -> Store:
        """Create the store."""
        ...

    def make_index(self) -> SearchIndex:
        """Create the search index."""
        ...

    def make_vectors(self) -> VectorIndex:
        """Create the vector index."""
        ...

    def make_reconciler(self) -> Reconciler:
        """Create the reconciler."""
        ...

    def make_embedders(self) -> Embedders:
        """Create the embedders."""
        ...

    def make_language_model(self) -> LanguageModel | None:
        """Create the model for extraction; None: extraction uses rules."""
        ...

    def make_import_export(self) -> ImportExport:
        """Create the converter for other formats."""
        ...

    def close(self) -> None:
        """Remove temporary files of the open vault."""
        ...


class QueryHint(NamedTuple):
    """How a search embedded its query. Most likely the next one does the same."""

    embedder: Embedder
    speakers: Set[str]
    """The names of all speakers, and maybe of some more."""


class Services:
    """The services of an open vault. Each is created on first use: a hook needs few of them."""

    use_threads = True
    """False for a single command: what it does not embed is left to another process."""
    build_snapshots = True
    """Whether search snapshots are built in the background."""
    use_all_cores = True
    """False for a server: a core is left to requests while it embeds in bulk."""

    unchecked = ""
    """Why searches may lack external changes: the files were not checked yet. "" if they were."""

    query_hint: QueryHint | None = None
    """None: no search has embedded its query, or no model may run while one searches."""

    def __init__(self, settings: Settings, clock: Clock, factory: ServiceFactory) -> None:
        self.settings = settings
        self.clock = clock
        self._factory = factory

    @cached_property
    def location(self) -> Location:
        """Where the vault is stored."""
        return self._factory.make_location()

    @cached_property
    def store(self) -> Store:
        """The source of truth."""
        return self._factory.make_store()

    @cached_property
    def index(self) -> SearchIndex:
        """The search index."""
        return self._factory.make_index()

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector index."""
        return self._factory.make_vectors()

    @cached_property
    def reconciler(self) -> Reconciler:
        """Keeps the index in sync with the store."""
        return self._factory.make_reconciler()

    @cached_property
    def embedders(self) -> Embedders:
        """The embedders of the settings and of stored vectors."""
        return self._factory.make_embedders()

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The model for extraction; None: extraction uses rules."""
        return self._factory.make_language_model()

    @cached_property
    def import_export(self) -> ImportExport:
        """Converts other formats."""
        return self._factory.make_import_export()

    @cached_property
    def side_thread(self) -> SideThread:
        """Embeds a query while the calling thread searches by words, then compares vectors too."""
        from muisti.side_thread import SideThread  # a single command uses none

        return SideThread("muisti-query")

    def prepare(self, *, wait: bool) -> None:
        """Make the index readable, as `Store.prepare` does; do nothing if it already is."""
        if not self.index.is_ready():
            self.store.prepare(wait=wait)

    def forget_queries(self) -> None:
        """Forget the vectors of earlier queries, and the names of speakers."""
        self.query_hint = None
        embedders: Embedders | None = self.__dict__.get("embedders")
        if embedders is not None:
            embedders.forget_queries()

    @property
    def lag(self) -> str:
        """Why searches may lack recent changes; "" if they do not. Creates no store."""
        store: Store | None = self.__dict__.get("store")
        return store.lag if store is not None else ""

    def close(self) -> None:
        """Close the services that were used."""
        for name in ("side_thread", "embedders", "language_model", "index"):
            service = self.__dict__.get(name)
            if service is not None:
                service.close()
        self._factory.close()
