"""Protocols that storage back ends and models implement. The core depends on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.ports.change_set import ChangeSet, Committed
    from muisti.ports.importing import (
        ImportedConversation,
        ImportedLink,
        ImportedMemory,
        ImportedMessage,
        ImportExport,
        ImportItem,
        LoadedItems,
        SkippedItem,
    )
    from muisti.ports.language import LanguageModel
    from muisti.ports.location import ChangeQueue, FileWatch, Location, Notebook, NotebookEntry
    from muisti.ports.review import ReviewOrder, Unconfirmed
    from muisti.ports.rows import (
        IndexChanges,
        JournalChanges,
        MemoryRow,
        MessageLine,
        MessagePlace,
        TextRow,
        Words,
    )
    from muisti.ports.search import (
        Candidate,
        Footprint,
        Frequencies,
        Order,
        SearchIndex,
        Term,
        WordCounts,
        WordMatch,
    )
    from muisti.ports.services import MemoryCodec, Reconciler, Services
    from muisti.ports.store import (
        Clock,
        ExtractionQueue,
        Store,
        Stored,
        StoredVersion,
        Update,
    )
    from muisti.ports.vectors import (
        Embedded,
        Embedder,
        Identity,
        Matrix,
        Piece,
        Space,
        Vector,
        VectorHit,
        VectorIndex,
    )

Progress = Callable[[int, int], None]
"""Called with the number of items done and the total."""


class Embedders(Protocol):
    """Creates embedders on demand and keeps them open."""

    def __call__(self, identity: Identity | None) -> Embedder | None:
        """Return the embedder for `identity`; without one, the embedder named in the settings.

        Returns None if the settings switch embedding off, or if no known embedder has this
        identity. Raises EmbedderProblem if the embedder cannot be created.
        """
        ...

    @property
    def fallback(self) -> str:
        """Why another embedder than the first of a chain is used, and which; "" if the first is."""
        ...

    def name(self, model: str) -> str:
        """Return which embedder of the settings makes the vectors of a model, or ""."""
        ...

    def knows_query(self, text: str) -> bool:
        """Return whether the vector of a query is kept."""
        ...

    def forget_queries(self) -> None:
        """Forget the vectors of queries that were kept to embed each query once."""
        ...

    def close(self) -> None:
        """Close every embedder that was created."""
        ...


_MODULES = {
    "language": "LanguageModel",
    "location": "ChangeQueue FileWatch Location Notebook NotebookEntry",
    "rows": "IndexChanges JournalChanges MemoryRow MessageLine MessagePlace TextRow Words",
    "search": "Candidate Footprint Frequencies Order SearchIndex Term WordCounts WordMatch",
    "review": "ReviewOrder Unconfirmed",
    "importing": "ImportExport ImportItem ImportedConversation ImportedLink ImportedMemory"
    " ImportedMessage LoadedItems SkippedItem",
    "services": "MemoryCodec Reconciler Services",
    "change_set": "ChangeSet Committed",
    "store": "Clock ExtractionQueue Store Stored StoredVersion Update",
    "vectors": "Embedded Embedder Identity Matrix Piece Space Vector VectorHit VectorIndex",
}
"""Which module defines each name."""

__all__ = [
    "Candidate",
    "ChangeQueue",
    "ChangeSet",
    "Clock",
    "Committed",
    "Embedded",
    "Embedder",
    "Embedders",
    "ExtractionQueue",
    "FileWatch",
    "Footprint",
    "Frequencies",
    "Identity",
    "ImportExport",
    "ImportItem",
    "ImportedConversation",
    "ImportedLink",
    "ImportedMemory",
    "ImportedMessage",
    "IndexChanges",
    "JournalChanges",
    "LanguageModel",
    "LoadedItems",
    "Location",
    "Matrix",
    "MemoryCodec",
    "MemoryRow",
    "MessageLine",
    "MessagePlace",
    "Notebook",
    "NotebookEntry",
    "Order",
    "Piece",
    "Progress",
    "Reconciler",
    "ReviewOrder",
    "SearchIndex",
    "Services",
    "SkippedItem",
    "Space",
    "Store",
    "Stored",
    "StoredVersion",
    "Term",
    "TextRow",
    "Unconfirmed",
    "Update",
    "Vector",
    "VectorHit",
    "VectorIndex",
    "WordCounts",
    "WordMatch",
    "Words",
]


def __getattr__(name: str) -> object:
    """Import a name on first use: a hook runs with every prompt and needs few of them."""
    for module, names in _MODULES.items():
        if name in names.split():
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
