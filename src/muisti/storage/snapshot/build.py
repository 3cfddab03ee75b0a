"""Makes the arrays of a snapshot from one state of the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from muisti.recall.matching import FIELD_WEIGHTS
from muisti.recall.speaker import find_speaker
from muisti.storage.snapshot.source import Array, ArrayWriter, Shapes, SnapshotSource, Values
from muisti.storage.vector_codes import compute_signs, count_words, decode_vectors

DELETED, GLOBAL, SESSION, MESSAGE, DOCUMENT, NO_WORDS, REPLACED = 1, 2, 4, 8, 16, 32, 64
"""The flags of a row: in the trash; of the tier global or session; a message or a section; not in
the word index; another memory supersedes it."""
SLICE = 200_000
"""About this many postings are sorted and written at a time."""
MAX_COUNT = 255
"""Larger weighted counts of a word in a text make no difference to bm25."""


class Row(NamedTuple):
    """What a snapshot has of each text."""

    n: int
    project: str
    user: str
    session_id: str | None
    flags: int
    created_at: int
    said_at: int
    valid_from: int | None
    opening: str
    id: str
    title: str
    labels: str
    body: str

    def describe(self, hash_name: Callable[[str | None], int], speaker: int) -> tuple[int, ...]:
        """Return the values of COLUMNS but for the lengths."""
        return (
            self.n,
            self.flags,
            hash_name(self.project),
            hash_name(self.user),
            hash_name(self.session_id),
            self.created_at,
            self.said_at,
            self.said_at if self.valid_from is None else self.valid_from,
            speaker,
        )


COLUMNS = {
    "n": "<i8",
    "flags": "|u1",
    "project": "<u8",
    "user": "<u8",
    "session": "<u8",
    "created_at": "<i8",
    "said_at": "<i8",
    "about_at": "<i8",
    "speaker": "<u4",
    "length": "<u4",
    "body": "<u4",
}
"""The columns with one value for each text, and their types. `length` is the number of words, that
of `body` without title and labels; `speaker` is a number in the table of names."""


class Stopped(Exception):
    """Building was cancelled."""


def hash_word(word: str) -> int:
    """Return 64 bits that stand for a word or a name."""
    return int.from_bytes(
        blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little"
    )


def pack_residuals(rest: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Return the rounding errors of codes with four bits each: two components in a byte."""
    levels = np.clip((rest.astype(np.int16) + 128) >> 4, 0, 15).astype(np.uint8)
    if levels.shape[1] % 2:
        levels = np.pad(levels, ((0, 0), (0, 1)))
    packed: NDArray[np.uint8] = levels[:, ::2] << 4 | levels[:, 1::2]
    return packed


def multiply_residuals(
    packed: NDArray[np.uint8], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the product of rounding errors and a vector; each error is the middle of its level."""
    even, odd = query[::2], np.zeros(packed.shape[1], np.float32)
    odd[: len(query) // 2] = query[1::2]
    low = (packed & 15).astype(np.float32) @ (odd * 16 - even)
    product: NDArray[np.float32] = packed.astype(np.float32) @ even + low - 120 * query.sum()
    return product


def write_snapshot(
    source: SnapshotSource,
    make_writer: Callable[[Shapes, Values], ArrayWriter],
    is_stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Write the arrays of what a read transaction sees. Raises OSError, Stopped."""
    texts = _Texts()
    for rows in source.read_rows(None):
        if is_stopped():
            raise Stopped
        texts.add(rows)
    columns = texts.make_columns()
    columns["beside"] = find_neighbours(source, columns["n"])
    space = source.read_space()
    centre = np.zeros(space.dimensions, np.float32)
    if space.centre is not None:
        centre = np.frombuffer(space.centre, np.float32)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        name: (column.dtype.str, column.shape) for name, column in columns.items()
    }
    shapes |= _get_posting_shapes(int(columns["word_start"][-1]))
    shapes |= _get_vector_shapes(len(columns["n"]), space.vectors, space.dimensions)
    writer = make_writer(shapes, {"space": space.number, "tokens": texts.tokens})
    try:
        for name, column in columns.items():
            writer.write(name, column)
        texts.write_postings(writer, columns["word_start"])
        writer.write("centre", centre)
        if space.number is not None and space.vectors:
            _write_vectors(source, writer, space.number, columns["n"], centre, is_stopped)
        writer.finish()
    finally:
        writer.close()


def make_empty_columns(dimensions: int) -> dict[str, Array]:
    """Return the arrays of a snapshot without texts."""
    shapes = {**_get_posting_shapes(0), **_get_vector_shapes(0, 0, dimensions)}
    columns = _Texts().make_columns()
    columns["beside"] = np.full((1, 4), -1, np.int32)
    return columns | {name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()}


def find_neighbours(source: SnapshotSource, texts: Array) -> Array:
    """Return the places of the neighbours of each text, as `SearchTable.find_sides` does.

    `texts` has the row number of each text. The last row is that of no text, so that -1 has no
    neighbours either.
    """
    before, after = np.full((2, len(texts) + 1), -1, np.int32)
    session = None
    latest: dict[str, int] = {}
    """The last text of each type."""
    for rows in source.read_sessions():
        places = np.searchsorted(texts, [n for n, _, _ in rows]).tolist()
        for place, (_, session_id, origin) in zip(places, rows, strict=True):
            if session_id != session:
                session, latest = session_id, {}
            earlier = latest.get(origin, -1)  # neighbours are of the same type
            if earlier >= 0:
                before[place], after[earlier] = earlier, place
            latest[origin] = place
    return np.stack([before, before[before], after, after[after]], axis=1)


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are first asked for."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Hashes(dict[str | None, int]):
    """The hashes of names; 0 for None."""

    def __missing__(self, name: str | None) -> int:
        number = self[name] = 0 if name is None else hash_word(name)
        return number


class _Postings(NamedTuple):
    """The postings of one batch, by word."""

    first: int
    """The place of the first text of the batch."""
    words: Array
    """Numbers of words."""
    starts: Array
    """Where the postings of each begin, and the end of the last."""
    texts: Array
    """Places of texts in the batch."""
    counts: Array
    """Weighted counts."""

    def sort(self, rank: Array) -> _Postings:
        """Return the same with the ranks of words instead of their numbers, sorted by rank."""
        ranks = rank[self.words]
        order = np.argsort(ranks)
        sizes = np.diff(self.starts)[order]
        starts = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])
        source = np.repeat(self.starts[:-1][order] - starts[:-1], sizes) + np.arange(starts[-1])
        return _Postings(self.first, ranks[order], starts, self.texts[source], self.counts[source])


class _Texts:
    """The columns of all texts, and their postings."""

    def __init__(self) -> None:
        self._words = _Numbers()
        self._names = _Hashes()
        self._speakers = _Numbers({"": 0})
        self._columns: dict[str, list[Array]] = {name: [] for name in COLUMNS}
        self._postings: list[_Postings] = []
        """Of each batch."""
        self._count = 0
        self.tokens = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add the next rows."""
        hash_name, speakers = self._names.__getitem__, self._speakers
        cells = [row.describe(hash_name, speakers[find_speaker(row.opening)]) for row in rows]
        for name, values in zip(COLUMNS, zip(*cells, strict=True), strict=False):
            self._columns[name].append(np.array(values, COLUMNS[name]))
        lengths = np.zeros(len(rows), np.int64)
        keys: list[Array] = []
        weights: list[Array] = []
        for field, weight in zip(("title", "labels", "body"), FIELD_WEIGHTS, strict=True):
            words = [getattr(row, field).split() for row in rows]
            counts = np.fromiter(map(len, words), np.int64, len(rows))
            numbers = np.fromiter(
                map(self._words.__getitem__, chain.from_iterable(words)),
                np.int64,
                int(counts.sum()),
            )
            keys.append(numbers << 32 | np.repeat(np.arange(len(rows)), counts))
            weights.append(np.full(len(numbers), int(weight), np.int64))
            lengths += counts
        self._columns["length"].append(lengths)
        self._columns["body"].append(counts)
        self.tokens += int(lengths.sum())
        found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        counted = np.bincount(inverse, np.concatenate(weights), len(found))
        numbers = found >> 32
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        self._postings.append(
            _Postings(
                self._count,
                numbers[starts].astype(np.int32),
                np.append(starts, len(found)).astype(np.int32),
                (found & 0xFFFF_FFFF).astype(np.min_scalar_type(len(rows))),
                np.minimum(counted, MAX_COUNT).astype(np.uint8),
            )
        )
        self._count += len(rows)

    def make_columns(self) -> dict[str, Array]:
        """Return all arrays but those of neighbours, postings and vectors."""
        columns: dict[str, Array] = {
            name: np.concatenate([np.zeros(0, dtype), *self._columns[name]]).astype(dtype)
            for name, dtype in COLUMNS.items()
        }
        names = [name.encode("utf-8", "replace") for name in self._speakers]
        columns["speaker_end"] = np.cumsum([len(name) for name in names], dtype=np.int64)
        columns["speaker_name"] = np.frombuffer(b"".join(names), np.uint8)
        hashes = np.fromiter(map(hash_word, self._words), np.uint64, len(self._words))
        order = np.argsort(hashes)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        sizes = np.zeros(len(order), np.int64)
        for at, postings in enumerate(self._postings):
            self._postings[at] = by_rank = postings.sort(rank)
            sizes[by_rank.words] += np.diff(by_rank.starts)
        columns["word_hash"] = hashes[order]
        columns["word_start"] = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return columns

    def write_postings(self, writer: ArrayWriter, starts: Array) -> None:
        """Write the postings by word, in the order of `word_hash`: once, after `make_columns`.

        `starts` is the column `word_start`.
        """
        first, count = 0, len(starts) - 1
        while first < count:
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + SLICE)))
            last = min(last, count)
            begin = int(starts[first])
            filled = starts[first:last] - begin
            texts = np.empty(int(starts[last]) - begin, np.uint32)
            counts = np.empty(len(texts), np.uint8)
            for batch in self._postings:  # texts only grow from batch to batch
                low, high = np.searchsorted(batch.words, (first, last))
                at, end = batch.starts[low], batch.starts[high]
                sizes = np.diff(batch.starts[low : high + 1])
                words = batch.words[low:high] - first
                target = np.repeat(filled[words] - batch.starts[low:high], sizes)
                target += np.arange(at, end)
                texts[target] = batch.texts[at:end].astype(np.uint32) + np.uint32(batch.first)
                counts[target] = batch.counts[at:end]
                filled[words] += sizes
            writer.write("posting_text", texts, begin)
            writer.write("posting_count", counts, begin)
            first = last
        self._postings.clear()


def _get_posting_shapes(postings: int) -> Shapes:
    return {"posting_text": ("<u4", (postings,)), "posting_count": ("|u1", (postings,))}


def _get_vector_shapes(texts: int, vectors: int, dimensions: int) -> Shapes:
    return {
        "centre": ("<f4", (dimensions,)),
        "vector_start": ("<u4", (texts + 1,)),
        "vector_text": ("<u4", (vectors,)),
        "vector_first": ("<u4", (vectors,)),
        "vector_last": ("<u4", (vectors,)),
        "vector_scale": ("<f4", (vectors,)),
        "vector_codes": ("|i1", (vectors, dimensions)),
        "vector_rest": ("|u1", (vectors, (dimensions + 1) // 2)),
        "vector_signs": ("<u8", (count_words(dimensions), vectors)),
    }


def _write_vectors(
    source: SnapshotSource,
    writer: ArrayWriter,
    space: int,
    texts: Array,
    centre: NDArray[np.float32],
    is_stopped: Callable[[], bool],
) -> None:
    dimensions = len(centre)
    at = 0
    signs: list[Array] = []
    owners: list[Array] = []
    for rows in source.read_vectors(space, None):
        if is_stopped():
            raise Stopped
        vectors = decode_vectors(rows, dimensions)
        numbers = np.array([(row[0], row[4], row[5]) for row in rows], np.int64)
        scale = np.array([row[1] for row in rows], np.float32)
        codes = np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(-1, dimensions)
        rest = np.frombuffer(b"".join(row[3] for row in rows), np.int8).reshape(-1, dimensions)
        owners.append(np.searchsorted(texts, numbers[:, 0]))
        writer.write("vector_text", owners[-1], at)
        writer.write("vector_first", numbers[:, 1], at)
        writer.write("vector_last", numbers[:, 2], at)
        writer.write("vector_scale", scale, at)
        writer.write("vector_codes", codes, at)
        writer.write("vector_rest", pack_residuals(rest), at)
        signs.append(compute_signs(vectors, centre))
        at += len(rows)
    for word, column in enumerate(np.concatenate(signs).T):  # without a copy of all
        writer.write("vector_signs", column[np.newaxis], word)
    starts = np.searchsorted(np.concatenate(owners), np.arange(len(texts) + 1))
    writer.write("vector_start", starts)
