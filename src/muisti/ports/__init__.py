"""What the core needs from the outside world. Adapters implement these; the core names no adapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.ports.chat import Chat
    from muisti.ports.embedding import Embedded, Embedder, Identity, Matrix, Piece, Space, Vector, VectorHit, Vectors
    from muisti.ports.files import (
        Attic,
        Clock,
        Core,
        ImportedMemory,
        ImportExport,
        Journal,
        Kept,
        Known,
        Mark,
        MemoryCodec,
        Reading,
        Stamp,
        StoredFile,
        Vault,
    )
    from muisti.ports.index import Changes, Index, Shadow
    from muisti.ports.recall import Candidate, Frequencies, Lexical, LexicalHit, Links, MemoryReader, Occurrences, Order, Term
    from muisti.ports.talk import (
        Conversations,
        Document,
        Documents,
        Line,
        Messages,
        Section,
        TalkFile,
        TalkReading,
        Waiting,
    )
    from muisti.ports.tend import Census, Footprint, Twins
    from muisti.settings import Settings

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


class Embedders(Protocol):
    """The embedders that can be had."""

    def __call__(self, identity: Identity | None) -> Embedder | None:
        """The embedder of the settings, or the one that made these vectors; None if there is none. Raises EmbedderProblem."""
        ...

    def close(self) -> None:
        """Let go of all of them."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that an operation may touch."""

    vault: Vault
    attic: Attic
    core: Core
    journal: Journal
    conversations: Conversations
    documents: Documents
    waiting: Waiting
    chat: Chat | None
    index: Index
    reader: MemoryReader
    messages: Messages
    links: Links
    twins: Twins
    census: Census
    lexical: Lexical
    vectors: Vectors
    embedders: Embedders
    import_export: ImportExport
    clock: Clock
    settings: Settings


_HOMES = {
    "chat": "Chat",
    "embedding": "Embedded Embedder Identity Matrix Piece Space Vector VectorHit Vectors",
    "files": "Attic Clock Core ImportedMemory ImportExport Journal Kept Known Mark MemoryCodec Reading Stamp StoredFile Vault",
    "index": "Changes Index Shadow",
    "recall": "Candidate Frequencies Lexical LexicalHit Links MemoryReader Occurrences Order Term",
    "talk": "Conversations Document Documents Line Messages Section TalkFile TalkReading Waiting",
    "tend": "Census Footprint Twins",
}
"""Where each name is at home."""

__all__ = [
    "Attic",
    "Candidate",
    "Census",
    "Changes",
    "Chat",
    "Clock",
    "Conversations",
    "Core",
    "Document",
    "Documents",
    "Embedded",
    "Embedder",
    "Embedders",
    "Footprint",
    "Frequencies",
    "Identity",
    "ImportExport",
    "ImportedMemory",
    "Index",
    "Journal",
    "Kept",
    "Known",
    "Lexical",
    "LexicalHit",
    "Line",
    "Links",
    "Mark",
    "Matrix",
    "MemoryCodec",
    "MemoryReader",
    "Messages",
    "Occurrences",
    "Order",
    "Parts",
    "Piece",
    "Progress",
    "Reading",
    "Section",
    "Shadow",
    "Space",
    "Stamp",
    "StoredFile",
    "TalkFile",
    "TalkReading",
    "Term",
    "Twins",
    "Vault",
    "Vector",
    "VectorHit",
    "Vectors",
    "Waiting",
]


def __getattr__(name: str) -> object:
    """Loaded when first asked for: a hook that runs with every prompt needs a few of them."""
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(f"{__name__}.{home}"), name)
    return found
