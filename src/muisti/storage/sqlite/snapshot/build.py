"""Builds a snapshot from one state of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from muisti.recall.matching import FIELD_WEIGHTS
from muisti.recall.speaker import find_speaker
from muisti.storage.sqlite.cosines import decode_vectors
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import compute_signs, count_words
from muisti.storage.sqlite.snapshot.file import Array, Shapes, SnapshotWriter
from muisti.storage.sqlite.validity import COUNTS

BATCH = 10_000
"""Rows that are read and indexed at a time: bounds the memory that building needs."""
DELETED, GLOBAL, SESSION, MESSAGE, DOCUMENT, NO_WORDS, REPLACED = 1, 2, 4, 8, 16, 32, 64
"""The flags of a row: in the trash; of the tier global or session; a message or a section; not in
the word index; another memory supersedes it."""
MAX_COUNT = 255
"""Larger weighted counts of a word in a text make no difference to bm25."""

ROWS = f"""
SELECT e.n, e.project, e.user, e.session_id,
    (e.deleted_at IS NOT NULL) + 2 * (e.tier = 'global') + 4 * (e.tier = 'session')
        + 8 * (e.origin = 'message') + 16 * (e.origin = 'document') + 32 * (w.n IS NULL)
        + 64 * EXISTS (SELECT 1 FROM links l WHERE l.target = e.id AND {COUNTS}),
    e.created_at, iif(e.origin = 'message', e.updated_at, e.created_at), e.valid_from,
    substr(e.content, 1, 80), e.id,
    coalesce(w.title, ''), coalesce(w.labels, ''), coalesce(w.body, '')
FROM entries e LEFT JOIN words w USING (n)
"""
"""What a snapshot has of each row, as `Row` names it."""


class Row(NamedTuple):
    """One row of ROWS."""

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


def build_snapshot(
    db: apsw.Connection, path: Path, index: str, is_stopped: Callable[[], bool] = lambda: False
) -> int:
    """Write a snapshot of what a read transaction sees. Return the last change that it contains.

    Raises OSError, Stopped.
    """
    [(seq,)] = fetch(db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changed'")
    texts = _Texts()
    for rows in _read_batches(db, f"{ROWS} ORDER BY e.n"):
        if is_stopped():
            raise Stopped
        texts.add([Row(*row) for row in rows])
    columns = texts.make_columns()
    sql = "SELECT space, dimensions, centre FROM spaces WHERE serving"
    space, dimensions, stored_centre = db.execute(sql).fetchone() or (None, 0, None)
    [(vectors,)] = fetch(db, "SELECT count(*) FROM vectors WHERE space = ?", (space,))
    centre = np.zeros(dimensions, np.float32)
    if stored_centre is not None:
        centre = np.frombuffer(stored_centre, np.float32)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        name: (column.dtype.str, column.shape) for name, column in columns.items()
    }
    shapes |= _get_vector_shapes(vectors, dimensions)
    values = {"space": space, "tokens": texts.tokens}
    writer = SnapshotWriter(path, shapes, index, values)
    try:
        for name, column in columns.items():
            writer.write(name, column)
        writer.write("centre", centre)
        if space is not None and vectors:
            _write_vectors(db, writer, space, columns["n"], centre, is_stopped)
        writer.finish()
    finally:
        writer.close()
    return int(seq)


def make_empty_columns(dimensions: int) -> dict[str, Array]:
    """Return the arrays of a snapshot without texts."""
    shapes = _get_vector_shapes(0, dimensions)
    return _Texts().make_columns() | {
        name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()
    }


def _read_batches(
    db: apsw.Connection, sql: str, values: Sequence[Any] = ()
) -> Iterator[list[tuple[Any, ...]]]:
    cursor = db.execute(sql, values)
    while rows := list(islice(cursor, BATCH)):
        yield rows


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


class _Texts:
    """The columns of all texts, and their postings."""

    def __init__(self) -> None:
        self._words = _Numbers()
        self._names = _Hashes()
        self._speakers = _Numbers({"": 0})
        self._columns: dict[str, list[Array]] = {name: [] for name in COLUMNS}
        self._order: list[tuple[str, int, int, str, int]] = []
        """Session, type, time, ID and place of each text that has neighbours."""
        self._postings: list[tuple[Array, Array, Array]] = []
        """For each batch: numbers of words, places of texts, and weighted counts."""
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
        places = (found & 0xFFFF_FFFF).astype(np.uint32) + np.uint32(self._count)
        self._postings.append(
            (
                (found >> 32).astype(np.uint32),
                places,
                np.minimum(counted, MAX_COUNT).astype(np.uint8),
            )
        )
        for place, row in enumerate(rows, start=self._count):
            if row.session_id is not None and not row.flags & DELETED:
                type_ = row.flags & (MESSAGE | DOCUMENT)
                self._order.append((row.session_id, type_, row.created_at, row.id, place))
        self._count += len(rows)

    def make_columns(self) -> dict[str, Array]:
        """Return all arrays but those of vectors."""
        columns: dict[str, Array] = {
            name: np.concatenate([np.zeros(0, dtype), *self._columns[name]]).astype(dtype)
            for name, dtype in COLUMNS.items()
        }
        names = [name.encode("utf-8", "replace") for name in self._speakers]
        columns["speaker_end"] = np.cumsum([len(name) for name in names], dtype=np.int64)
        columns["speaker_name"] = np.frombuffer(b"".join(names), np.uint8)
        before, after = np.full((2, self._count), -1, np.int32)
        self._order.sort()
        for earlier, later in pairwise(self._order):
            if earlier[:2] == later[:2]:  # of the same session and type
                before[later[-1]], after[earlier[-1]] = earlier[-1], later[-1]
        return {**columns, "before": before, "after": after, **self._collect_postings()}

    def _collect_postings(self) -> dict[str, Array]:
        """Return the postings of all batches by word, the words sorted by their hash."""
        hashes = np.fromiter(map(hash_word, self._words), np.uint64, len(self._words))
        order = np.argsort(hashes)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        counts = np.zeros(len(order), np.int64)
        for words, _, _ in self._postings:
            counts += np.bincount(rank[words], minlength=len(order))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        places = np.empty(int(starts[-1]), np.uint32)
        weights = np.empty(int(starts[-1]), np.uint8)
        filled = starts[:-1].copy()
        for words, texts, counted in self._postings:  # texts only grow from batch to batch
            ranks = rank[words]
            in_batch = np.bincount(ranks, minlength=len(order))
            first = np.zeros(len(order), np.int64)
            # The postings of a word are side by side in a batch.
            changes = np.flatnonzero(np.diff(words, prepend=-1))
            first[ranks[changes]] = changes
            target = filled[ranks] + np.arange(len(ranks)) - first[ranks]
            places[target], weights[target] = texts, counted
            filled += in_batch
        return {
            "word_hash": hashes[order],
            "word_start": starts,
            "posting_text": places,
            "posting_count": weights,
        }


def _get_vector_shapes(vectors: int, dimensions: int) -> Shapes:
    return {
        "centre": ("<f4", (dimensions,)),
        "vector_text": ("<u4", (vectors,)),
        "vector_first": ("<u4", (vectors,)),
        "vector_last": ("<u4", (vectors,)),
        "vector_scale": ("<f4", (vectors,)),
        "vector_codes": ("|i1", (vectors, dimensions)),
        "vector_rest": ("|u1", (vectors, (dimensions + 1) // 2)),
        "vector_signs": ("<u8", (count_words(dimensions), vectors)),
    }


def _write_vectors(
    db: apsw.Connection,
    writer: SnapshotWriter,
    space: int,
    texts: Array,
    centre: NDArray[np.float32],
    is_stopped: Callable[[], bool],
) -> None:
    dimensions = len(centre)
    at = 0
    signs: list[Array] = []
    sql = """SELECT n, scale, codes, rest, first, last FROM vectors
             WHERE space = ? ORDER BY n, v"""
    for rows in _read_batches(db, sql, (space,)):
        if is_stopped():
            raise Stopped
        vectors = decode_vectors(rows, dimensions)
        numbers = np.array([(row[0], row[4], row[5]) for row in rows], np.int64)
        scale = np.array([row[1] for row in rows], np.float32)
        codes = np.frombuffer(b"".join(row[2] for row in rows), np.int8).reshape(-1, dimensions)
        rest = np.frombuffer(b"".join(row[3] for row in rows), np.int8).reshape(-1, dimensions)
        writer.write("vector_text", np.searchsorted(texts, numbers[:, 0]), at)
        writer.write("vector_first", numbers[:, 1], at)
        writer.write("vector_last", numbers[:, 2], at)
        writer.write("vector_scale", scale, at)
        writer.write("vector_codes", codes, at)
        writer.write("vector_rest", pack_residuals(rest), at)
        signs.append(compute_signs(vectors, centre))
        at += len(rows)
    writer.write("vector_signs", np.concatenate(signs).T)
