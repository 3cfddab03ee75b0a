"""From memories to vectors: chunk, then embed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from muisti.model import Memory, Origin
from muisti.ports import Embedded, Embedder, Piece
from muisti.remember.chunk import OVERLAP, SIZE, chunks, embedded_text
from muisti.remember.derive import derived_title

SPECIAL_TOKENS = 2
"""Models put one before and one after a text."""


def source_hash(memory: Memory) -> str:
    """Stands for the text that a memory's vectors are made from."""
    return embed_hash(memory.origin.value, _own_title(memory), memory.content, memory.content_hash)


def embed_hash(origin: str, title: str, content: str, content_hash: str) -> str:
    """The same of its parts. A message has no title, and there are many: one hash is enough for them."""
    if origin == Origin.MESSAGE:
        return content_hash[:24]
    return hashlib.blake2b(
        f"{title}\0{content}".encode("utf-8", "surrogatepass"), digest_size=12
    ).hexdigest()


def embed(embedder: Embedder, memories: Sequence[Memory]) -> list[Embedded]:
    """The vectors of memories. Raises EmbedderProblem."""
    size = min(SIZE, embedder.max_tokens - SPECIAL_TOKENS)
    found = [
        chunks(
            m.content,
            embedder.count_tokens,
            title=_own_title(m),
            size=size,
            overlap=min(OVERLAP, size // 5),
        )
        for m in memories
    ]
    texts = [
        embedded_text(m.content, _own_title(m), chunk)
        for m, parts in zip(memories, found, strict=True)
        for chunk in parts
    ]
    vectors = embedder.embed_documents(texts)
    embedded = []
    at = 0
    for memory, parts in zip(memories, found, strict=True):
        pieces = tuple(Piece(chunk.start, chunk.end, " > ".join(chunk.heading)) for chunk in parts)
        rows = vectors[at : at + len(parts)]
        embedded.append(Embedded(memory.id, source_hash(memory), embedder.identity(), pieces, rows))
        at += len(parts)
    return embedded


def _own_title(memory: Memory) -> str:
    """The title, if somebody gave one: a derived one only repeats how the text begins."""
    if memory.origin is not Origin.MEMORY:
        return (
            "" if memory.origin is Origin.MESSAGE or memory.title == memory.source else memory.title
        )
    return "" if memory.title == derived_title(memory.content) else memory.title
