"""From memories to vectors: chunk, then embed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from muisti.model import EntryType, Memory
from muisti.ports import Embedded, Embedder, Piece
from muisti.remember.chunk import OVERLAP, SIZE, format_for_embedding, split_chunks
from muisti.remember.derive import derive_title

SPECIAL_TOKENS = 2
"""Models put one before and one after a text."""


def hash_source(memory: Memory) -> str:
    """Stands for the text that a memory's vectors are made from."""
    return hash_embedding_input(
        memory.origin.value, _own_title(memory), memory.content, memory.content_hash
    )


def hash_embedding_input(origin: str, title: str, content: str, content_hash: str) -> str:
    """The same of its parts. A message has no title, and there are many: one hash is enough for them."""
    if origin == EntryType.MESSAGE:
        return content_hash[:24]
    return hashlib.blake2b(
        f"{title}\0{content}".encode("utf-8", "surrogatepass"), digest_size=12
    ).hexdigest()


def embed(embedder: Embedder, memories: Sequence[Memory]) -> list[Embedded]:
    """The vectors of memories. Raises EmbedderProblem."""
    size = min(SIZE, embedder.max_tokens - SPECIAL_TOKENS)
    found = [
        split_chunks(
            m.content,
            embedder.count_tokens,
            title=_own_title(m),
            size=size,
            overlap=min(OVERLAP, size // 5),
        )
        for m in memories
    ]
    texts = [
        format_for_embedding(m.content, _own_title(m), chunk)
        for m, parts in zip(memories, found, strict=True)
        for chunk in parts
    ]
    vectors = embedder.embed_documents(texts)
    embedded = []
    at = 0
    for memory, parts in zip(memories, found, strict=True):
        pieces = tuple(Piece(chunk.start, chunk.end, " > ".join(chunk.heading)) for chunk in parts)
        rows = vectors[at : at + len(parts)]
        embedded.append(Embedded(memory.id, hash_source(memory), embedder.identity(), pieces, rows))
        at += len(parts)
    return embedded


def _own_title(memory: Memory) -> str:
    """The title, if somebody gave one: a derived one only repeats how the text begins."""
    if memory.origin is not EntryType.MEMORY:
        return (
            ""
            if memory.origin is EntryType.MESSAGE or memory.title == memory.source
            else memory.title
        )
    return "" if memory.title == derive_title(memory.content) else memory.title
