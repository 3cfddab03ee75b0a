"""What the core needs from the outside world. Storage back ends and models implement these ports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.ports.language import LanguageModel
    from muisti.ports.location import FileWatch, Location, Notebook, NotebookEntry
    from muisti.ports.search import (
        Candidate,
        Footprint,
        Frequencies,
        IndexChanges,
        JournalChanges,
        MemoryRow,
        MessageLine,
        MessagePlace,
        Order,
        SearchIndex,
        Term,
        TextRow,
        WordMatch,
        Words,
    )
    from muisti.ports.services import (
        ImportedMemory,
        ImportExport,
        MemoryCodec,
        Reconciler,
        Services,
    )
    from muisti.ports.store import (
        ChangeSet,
        Clock,
        Committed,
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
"""Called with how much is done and how much there is."""


class Embedders(Protocol):
    """The embedders that can be had."""

    def __call__(self, identity: Identity | None) -> Embedder | None:
        """Return the embedder of the settings, or the one that made these vectors; None if there is none.

        Raises EmbedderProblem.
        """
        ...

    def close(self) -> None:
        """Close all of them."""
        ...


_MODULES = {
    "language": "LanguageModel",
    "location": "FileWatch Location Notebook NotebookEntry",
    "search": (
        "Candidate Footprint Frequencies IndexChanges JournalChanges MemoryRow MessageLine MessagePlace Order"
        " SearchIndex Term TextRow WordMatch Words"
    ),
    "services": "ImportExport ImportedMemory MemoryCodec Reconciler Services",
    "store": "ChangeSet Clock Committed ExtractionQueue Store Stored StoredVersion Update",
    "vectors": "Embedded Embedder Identity Matrix Piece Space Vector VectorHit VectorIndex",
}
"""Which module has each name."""

__all__ = [
    "Candidate",
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
    "ImportedMemory",
    "IndexChanges",
    "JournalChanges",
    "LanguageModel",
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
    "SearchIndex",
    "Services",
    "Space",
    "Store",
    "Stored",
    "StoredVersion",
    "Term",
    "TextRow",
    "Update",
    "Vector",
    "VectorHit",
    "VectorIndex",
    "WordMatch",
    "Words",
]


def __getattr__(name: str) -> object:
    """Load a name when it is first asked for: a hook that runs with every prompt needs few of them."""
    module = next((module for module, names in _MODULES.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f"{__name__}.{module}"), name)
    return found
