"""What the core needs from the outside world. Adapters implement these; the core names no adapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from muisti.ports.embedding import Embedded, Embedder, Identity, Matrix, Piece, Space, Vector, VectorHit, Vectors
from muisti.ports.files import (
    Attic,
    Clock,
    Core,
    Exchange,
    Incoming,
    Journal,
    Kept,
    Known,
    Mark,
    Reading,
    Stamp,
    StoredFile,
    Vault,
)
from muisti.ports.index import Changes, Index, Shadow
from muisti.ports.recall import Candidate, Frequencies, Lexical, LexicalHit, Links, MemoryReader, Occurrences, Order, Term
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
    index: Index
    reader: MemoryReader
    links: Links
    twins: Twins
    census: Census
    lexical: Lexical
    vectors: Vectors
    embedders: Embedders
    exchange: Exchange
    clock: Clock
    settings: Settings


__all__ = [
    "Attic",
    "Candidate",
    "Census",
    "Changes",
    "Clock",
    "Core",
    "Embedded",
    "Embedder",
    "Embedders",
    "Exchange",
    "Footprint",
    "Frequencies",
    "Identity",
    "Incoming",
    "Index",
    "Journal",
    "Kept",
    "Known",
    "Lexical",
    "LexicalHit",
    "Links",
    "Mark",
    "Matrix",
    "MemoryReader",
    "Occurrences",
    "Order",
    "Parts",
    "Piece",
    "Progress",
    "Reading",
    "Settings",
    "Shadow",
    "Space",
    "Stamp",
    "StoredFile",
    "Term",
    "Twins",
    "Vault",
    "Vector",
    "VectorHit",
    "Vectors",
]
