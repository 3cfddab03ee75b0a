"""Embed memories: split each into chunks, then embed the chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from muisti.model import EntryType, Memory
from muisti.ports import Embedded, Embedder, Piece
from muisti.remember.chunk import OVERLAP, SIZE, format_for_embedding, split_chunks
from muisti.remember.derive import derive_title

SPECIAL_TOKENS = 2
"""Models add one before and one after a text."""


def hash_source(memory: Memory) -> str:
    """Return the hash of the text that is embedded for a memory."""
    return hash_embedding_input(
        memory.origin.value, _get_own_title(memory), memory.content, memory.content_hash
    )


def hash_embedding_input(origin: str, title: str, content: str, content_hash: str) -> str:
    """Return the same hash for an entry's fields. Messages have no title: their hash is reused."""
    if origin == EntryType.MESSAGE:
        return content_hash[:24]
    data = f"{title}\0{content}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def embed(embedder: Embedder, memories: Sequence[Memory]) -> list[Embedded]:
    """Return the embeddings of memories. Raises EmbedderProblem."""
    size = min(SIZE, embedder.max_tokens - SPECIAL_TOKENS)
    overlap = min(OVERLAP, size // 5)
    chunked = []
    texts: list[str] = []
    for memory in memories:
        content, title = memory.content, _get_own_title(memory)
        chunks = split_chunks(
            content, embedder.count_tokens, title=title, size=size, overlap=overlap
        )
        chunked.append(chunks)
        texts += [format_for_embedding(content, title, chunk) for chunk in chunks]
    vectors = embedder.embed_documents(texts)
    embedded = []
    at = 0
    for memory, chunks in zip(memories, chunked, strict=True):
        pieces = tuple(Piece(chunk.start, chunk.end, " > ".join(chunk.heading)) for chunk in chunks)
        rows = vectors[at : at + len(chunks)]
        embedded.append(Embedded(memory.id, hash_source(memory), embedder.identity(), pieces, rows))
        at += len(chunks)
    return embedded


def _get_own_title(memory: Memory) -> str:
    """Return the title, or "" for a derived one: it repeats the beginning of the text."""
    match memory.origin:
        case EntryType.MEMORY:
            is_derived = memory.title == derive_title(memory.content)
        case EntryType.MESSAGE:
            is_derived = True
        case _:
            is_derived = memory.title == memory.source
    return "" if is_derived else memory.title
