"""Finding the nearest vectors in a graph (HNSW, by usearch): for more of them than can be gone through at each search.

The graph is made from the table `vectors`, is brought up to date before each search, and is saved beside the index so that
the next process need not make it again. The file is never the only copy: one that is cut short, foreign or of another index
is put out of the way, and the graph is made anew. What it says of itself is checked before usearch sees a byte of it.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import threading
import uuid
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
from numpy.typing import NDArray

from muisti.errors import IndexCorrupt, SettingsError
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Numbers, quantize
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from usearch.index import Index

    from muisti.ports import Space, Vector

log = logging.getLogger("muisti")
CONNECTIONS, EF_ADDING, EF_SEARCHING = 16, 200, 50
"""M, efConstruction and ef of HNSW; a search for more than ef looks at as many as it is to find."""
NARROW = 10_000
"""Among so few, all are compared: a graph finds those that a filter lets through only by finding all others too."""
BATCH = 16_384
SAVED_AGAIN = 0.05
"""Saved once it grew by this share: writing it takes longer than adding so many at the next start."""
_MAGIC = b"muisti-hnsw-1 "

Codes = NDArray[np.int8]


@dataclass
class _Graph:
    """A graph in memory, and what it was made from."""

    origin: dict[str, str | int]
    """The index file, the space and its model: another origin, another graph."""
    index: Index
    last: int = 0
    """The highest number that is in, or was."""
    saved: int = 0
    """How many were in when it was saved."""
    removed: int = 0
    on_disk: bool = False
    """Whether it was there as a file. If that is gone now, so is something that was to leave no trace."""


class HnswScan:
    """Searches a graph of all vectors of a space. Raises SettingsError without the package."""

    def __init__(self) -> None:
        self._make = _usearch()
        self._lock = threading.Lock()
        self._graph: _Graph | None = None

    def find_nearest(
        self,
        db: apsw.Connection,
        file: object,
        space: Space,
        query: Vector,
        take: int,
        among: Numbers | None = None,
    ) -> Numbers:
        """The numbers of about the most similar vectors, in no order. Raises IndexCorrupt."""
        asked = quantize(query[None, :])[0][0]
        if among is not None and len(among) <= NARROW:
            return _compared(db, space, asked, take, among)
        few = fetch(db, "SELECT v FROM vectors WHERE space = ? LIMIT ?", (space.number, take + 1))
        if len(few) <= take:
            every = np.array([v for (v,) in few], np.int64)
            return every if among is None else np.intersect1d(every, among)
        with self._lock:
            graph = self._up_to_date(db, Path(str(file)), space)
            found = _searched(db, graph, space, asked, take, among)
        if among is not None and len(found) < min(take, len(among)):
            return _compared(db, space, asked, take, among)
        return found

    def _up_to_date(self, db: apsw.Connection, file: Path, space: Space) -> _Graph:
        origin = _origin(file, space)
        path = file.with_name(f"vectors-{space.number}.hnsw")
        graph = self._graph
        if graph is None or graph.origin != origin:
            graph = self._loaded(db, path, space, origin) or _Graph(origin, self._empty(space))
        # What is removed is still walked through, and still has its numbers in the file.
        if 2 * graph.removed > len(graph.index) or (graph.on_disk and not path.exists()):
            graph = _Graph(origin, self._empty(space))
        self._graph = None  # if adding fails half-way, the next search begins anew
        _extend(db, graph, space)
        self._graph = graph
        if len(graph.index) - graph.saved > SAVED_AGAIN * graph.saved:
            _save(db, graph, path, space)
        return graph

    def _empty(self, space: Space) -> Index:
        return self._make(
            ndim=space.identity.dimensions,
            metric="cos",
            dtype="i8",
            connectivity=CONNECTIONS,
            expansion_add=EF_ADDING,
            expansion_search=EF_SEARCHING,
        )

    def _loaded(
        self, db: apsw.Connection, path: Path, space: Space, origin: dict[str, str | int]
    ) -> _Graph | None:
        """The saved graph, if there is one of this index and model. What is no graph is put out of the way."""
        try:
            data = path.read_bytes()
        except OSError:
            return None
        index = self._empty(space)
        try:
            head, body = _opened(data)
            if head["origin"] != origin or not _is_of(db, space, head):
                return (
                    None  # of an earlier state of things: it is replaced when the new one is saved
                )
            index.load(body)
            if (index.ndim, len(index)) != (space.identity.dimensions, head["count"]):
                raise ValueError("it is not what it says")
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            log.warning("%s is damaged (%s) and is made anew", path.name, error)
            with suppress(OSError):
                os.replace(path, path.with_name(f"damaged-{path.name}"))
            return None
        return _Graph(origin, index, head["last"], head["count"], head["removed"], on_disk=True)


def _usearch() -> type[Index]:
    """Its index. It brings a C++ library of its own, and onnxruntime, if loaded later, would crash half-way between two."""
    with suppress(OSError):  # not on other systems, nor needed there
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    try:
        from usearch.index import Index  # an extra
    except ImportError as error:
        raise SettingsError(
            "the vector index hnsw needs a package: pip install muisti[hnsw]"
        ) from error
    return Index


def _origin(file: Path, space: Space) -> dict[str, str | int]:
    who = space.identity
    return {
        "index": file.name, "space": space.number, "model": who.model, "dimensions": who.dimensions, "revision": who.revision
    }  # fmt: skip


# -- Searching


def _searched(
    db: apsw.Connection, graph: _Graph, space: Space, asked: Codes, take: int, among: Numbers | None
) -> Numbers:
    """As many as asked for, or all; fewer where the filter lets so few through that comparing those is faster."""
    size = len(graph.index)
    most, want = (size, take) if among is None else (size // 4, take * size // len(among))
    while True:
        keys = graph.index.search(asked, min(want, most), threads=1).keys.astype(np.int64)
        found = _without_removed(db, graph, space, keys)
        if among is not None:
            found = found[np.isin(found, among)]
        if len(found) >= take or want >= most:
            return found
        want *= 2


def _without_removed(db: apsw.Connection, graph: _Graph, space: Space, keys: Numbers) -> Numbers:
    """Those that still have a row. The others leave the graph, unless they are newer than the state that is being read."""
    sql = "SELECT v FROM json_each(?) JOIN vectors ON v = value WHERE space = ?"
    alive = np.array(
        [v for (v,) in fetch(db, sql, (to_json(keys.tolist()), space.number))], np.int64
    )
    gone = np.setdiff1d(keys, alive)
    gone = gone[gone <= _highest(db)]
    if len(gone):
        graph.index.remove(gone)
        graph.removed += len(gone)
    return alive


def _compared(
    db: apsw.Connection, space: Space, asked: Codes, take: int, among: Numbers
) -> Numbers:
    """The nearest of these, each compared."""
    sql = "SELECT v, codes FROM json_each(?) JOIN vectors ON v = value WHERE space = ?"
    numbers, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
    for start in range(0, len(among), BATCH):
        rows = fetch(db, sql, (to_json(among[start : start + BATCH].tolist()), space.number))
        codes = _codes(rows, space).astype(np.float32)
        lengths = np.maximum(np.linalg.norm(codes, axis=1), 1)
        numbers = np.concatenate([numbers, np.array([v for v, _ in rows], np.int64)])
        scores = np.concatenate([scores, (codes @ asked.astype(np.float32)) / lengths])
        if len(numbers) > take:
            best = np.argpartition(-scores, take)[:take]
            numbers, scores = numbers[best], scores[best]
    return numbers


# -- Following the table


def _extend(db: apsw.Connection, graph: _Graph, space: Space) -> None:
    """Add the vectors that came since."""
    sql = "SELECT v, codes FROM vectors WHERE space = ? AND v > ? ORDER BY v LIMIT ?"
    while rows := fetch(db, sql, (space.number, graph.last, BATCH)):
        # By one thread: several leave some vectors where no search gets to (2 in 1,000 of 4,500, with usearch 2.26).
        graph.index.add(np.array([v for v, _ in rows], np.uint64), _codes(rows, space), threads=1)
        graph.last = rows[-1][0]


def _codes(rows: list[tuple[Any, ...]], space: Space) -> Codes:
    if any(len(codes) != space.identity.dimensions for _, codes in rows):
        raise IndexCorrupt("the index has vectors of a wrong length; it is rebuilt from the files")
    return np.frombuffer(b"".join(codes for _, codes in rows), np.int8).reshape(
        len(rows), space.identity.dimensions
    )


def _highest(db: apsw.Connection) -> int:
    """The highest number that was ever given, in the state that is being read: SQLite gives none twice."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").fetchone()
    return 0 if row is None else int(row[0])


# -- The file: a digest of all that follows, a line that says what it is, and the graph


def _save(db: apsw.Connection, graph: _Graph, path: Path, space: Space) -> None:
    """Save it for the next process, at best: without, that one makes its own."""
    graph.saved = len(graph.index)  # also if it fails: a full disk is not tried at each search
    head = {
        "origin": graph.origin,
        "last": graph.last,
        "count": graph.saved,
        "removed": graph.removed,
        "newest": _newest(db, space, graph.last),
    }
    line, body = json.dumps(head).encode() + b"\n", graph.index.save() or b""
    digest = hashlib.sha256(line)
    digest.update(body)
    # A name that is swept when its process is dead.
    temporary = path.with_name(f"build-{os.getpid()}-{uuid.uuid4().hex[:8]}.db-hnsw")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_MAGIC + digest.hexdigest().encode() + b"\n" + line)
            file.write(body)
        os.replace(temporary, path)
        graph.on_disk = True
    except OSError as error:
        log.debug("%s is not saved: %s", path.name, error)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """What a file says of itself, and the graph. Raises ValueError."""
    start = data.find(b"\n") + 1
    rest = data[start:]
    if data[:start] != _MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n":
        raise ValueError("it is cut short, changed or no graph")
    line, _, body = rest.partition(b"\n")
    return json.loads(line), body


def _newest(db: apsw.Connection, space: Space, last: int) -> list[list[int]]:
    sql = "SELECT v, codes FROM vectors WHERE space = ? AND v <= ? ORDER BY v DESC LIMIT 16"
    return [[v, zlib.crc32(codes)] for v, codes in fetch(db, sql, (space.number, last))]


def _is_of(db: apsw.Connection, space: Space, head: dict[str, Any]) -> bool:
    """Whether the table still is the one it was made from: a power cut may take the last rows, and others get their numbers."""
    if head["last"] > _highest(db):
        return False
    sql = "SELECT v, codes FROM json_each(?) JOIN vectors ON v = value WHERE space = ?"
    now = {
        v: zlib.crc32(codes)
        for v, codes in fetch(db, sql, (to_json([v for v, _ in head["newest"]]), space.number))
    }
    return all(now.get(v, digest) == digest for v, digest in head["newest"])


SPEC = HnswScan
