"""Embed memories: split each into chunks, then embed the chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from muisti.model import EntryType
from muisti.ports import Embedded, Embedder, Matrix, Piece
from muisti.ports.vectors import Chunking
from muisti.remember.chunk import OVERLAP, SIZE, format_for_embedding, split_chunks
from muisti.remember.derive import derive_title

if TYPE_CHECKING:
    from muisti.model import Memory
    from muisti.ports import Identity
    from muisti.settings import Settings

SPECIAL_TOKENS = 2
"""Models add one before and one after a text."""
USUAL = Chunking(SIZE, OVERLAP)
Bulk: TypeAlias = Callable[[Embedder, Sequence[str]], Matrix]
"""Embeds many texts, one row for each."""
PART = 32
"""Chunks that are sent to a server in one request, or stored together of a long memory."""


def get_chunking(settings: Settings) -> Chunking:
    """Return how the settings want texts to be split."""
    return Chunking(settings.chunk_size, settings.chunk_overlap)


def fit_chunking(wanted: Chunking, embedder: Embedder) -> Chunking:
    """Return chunks that are no longer than the model reads."""
    size = min(wanted.size, embedder.max_tokens - SPECIAL_TOKENS)
    return Chunking(size, wanted.overlap * size // wanted.size)


def identify_space(embedder: Embedder, chunking: Chunking) -> Identity:
    """Return the identity of the vector space of a model and these chunks."""
    fitted = fit_chunking(chunking, embedder)
    return fitted.mark(embedder.identity(), fit_chunking(USUAL, embedder))


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


def embed(
    embedder: Embedder,
    memories: Sequence[Memory],
    *,
    chunking: Chunking = USUAL,
    between: Callable[[], None] | None = None,
    bulk: Bulk | None = None,
) -> list[Embedded]:
    """Return the embeddings of memories. Raises EmbedderProblem.

    `between` is called before each chunk, or each request to a server. What it raises ends this.
    `bulk` embeds chunks on several threads instead.
    """
    split = []
    texts: list[str] = []
    for memory in memories:
        if between is not None:
            between()
        pieces, own_texts = _split(embedder, memory, chunking)
        split.append(pieces)
        texts += own_texts
    vectors = _embed_texts(embedder, texts, between, bulk)
    identity = identify_space(embedder, chunking)
    embedded = []
    at = 0
    for memory, pieces in zip(memories, split, strict=True):
        rows = vectors[at : at + len(pieces)]
        embedded.append(Embedded(memory.id, hash_source(memory), identity, pieces, rows))
        at += len(pieces)
    return embedded


def embed_parts(
    embedder: Embedder,
    memory: Memory,
    first: int = 0,
    *,
    chunking: Chunking = USUAL,
    between: Callable[[], None] | None = None,
    bulk: Bulk | None = None,
) -> Iterator[Embedded]:
    """Yield the embeddings of a long memory in parts, from its piece `first` on.

    A part takes a few seconds: that is what a crash may lose. Raises EmbedderProblem.
    """
    pieces, texts = _split(embedder, memory, chunking)
    source = hash_source(memory)
    identity = identify_space(embedder, chunking)
    if first >= len(pieces):
        first = 0
    for start in range(first, max(1, len(pieces)), PART):
        end = start + PART
        vectors = _embed_texts(embedder, texts[start:end], between, bulk)
        is_last = end >= len(pieces)
        yield Embedded(memory.id, source, identity, pieces[start:end], vectors, start, is_last)


def _split(
    embedder: Embedder, memory: Memory, chunking: Chunking
) -> tuple[tuple[Piece, ...], list[str]]:
    """Return the pieces of a memory that the model reads, and what is embedded for each."""
    fitted = fit_chunking(chunking, embedder)
    content, title = memory.content, _get_own_title(memory)
    chunks = split_chunks(
        content, embedder.count_tokens, title=title, size=fitted.size, overlap=fitted.overlap
    )
    pieces: list[Piece] = []
    texts: list[str] = []
    for chunk in chunks:
        text = format_for_embedding(content, title, chunk)
        if embedder.reads(text):
            pieces.append(Piece(chunk.start, chunk.end, " > ".join(chunk.heading)))
            texts.append(text)
    return tuple(pieces), texts


def _embed_texts(
    embedder: Embedder,
    texts: Sequence[str],
    between: Callable[[], None] | None,
    bulk: Bulk | None,
) -> Matrix:
    """Return one row for each text. Equal texts are embedded once."""
    import numpy as np  # slow to import

    unique = list(dict.fromkeys(texts))
    if not unique:
        return embedder.embed_documents(())
    if bulk is not None and not embedder.is_remote:
        rows = bulk(embedder, unique)
    elif between is None:
        rows = embedder.embed_documents(unique)
    else:
        step = PART if embedder.is_remote else 1
        parts: list[Matrix] = []
        for start in range(0, len(unique), step):
            between()
            parts.append(embedder.embed_documents(unique[start : start + step]))
        rows = np.concatenate(parts)
    if len(unique) == len(texts):
        return rows
    places = {text: at for at, text in enumerate(unique)}
    return rows[[places[text] for text in texts]]


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
