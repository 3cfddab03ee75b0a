"""Finds the nearest vectors in an HNSW graph (usearch), for more vectors than a scan can handle.

The graph is built from the table `vectors`, updated before each search, and saved beside the index
for the next process. A saved graph that is damaged or belongs to another index is not used: its
checksum and header are verified before usearch reads it.
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
from muisti.filesystem import create_file, read_file
from muisti.storage.sqlite.rows import fetch
from muisti.storage.sqlite.sign_bits import Numbers, quantize
from muisti.storage.sqlite.vector_spaces import to_json

if TYPE_CHECKING:
    from usearch.index import Index

    from muisti.ports import Space, Vector

log = logging.getLogger("muisti")
CONNECTIONS, EF_ADDING, EF_SEARCHING = 16, 200, 50
"""M, efConstruction and ef of HNSW; a search for more than ef vectors uses that number."""
NARROW = 10_000
"""Up to this many matching vectors, all are compared: a graph cannot search a subset."""
BATCH = 16_384
SAVED_AGAIN = 0.05
"""Growth after which the graph is saved again: adding fewer vectors is faster than saving."""
MAX_FILE = 1 << 36
_MAGIC = b"muisti-hnsw-1 "

Codes = NDArray[np.int8]


@dataclass
class _Graph:
    """A graph in memory, and what it was built from."""

    origin: dict[str, str | int]
    """The index file, the space and its model. A graph is valid for one origin only."""
    index: Index
    last: int = 0
    """The highest vector number that was added."""
    saved: int = 0
    """How many vectors it had when it was saved."""
    removed: int = 0
    on_disk: bool = False
    """Whether it was saved. If the file is gone now, deleted text was purged."""


class HnswScan:
    """Searches a graph of all vectors of a space. Raises SettingsError without usearch."""

    def __init__(self) -> None:
        # usearch has its own C++ library. If that is loaded first, onnxruntime crashes later.
        with suppress(OSError):  # not needed on other systems
            ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
        try:
            from usearch.index import Index  # an extra
        except ImportError as error:
            raise SettingsError(
                "the vector index hnsw needs a package; run pip install muisti[hnsw]"
            ) from error
        self._make = Index
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
        """Return the numbers of about the nearest vectors, in no order. Raises IndexCorrupt."""
        codes = quantize(query[None, :])[0][0]
        if among is not None and len(among) <= NARROW:
            return _compare(db, space, codes, take, among)
        few = fetch(db, "SELECT v FROM vectors WHERE space = ? LIMIT ?", (space.number, take + 1))
        if len(few) <= take:
            every = np.array([v for (v,) in few], np.int64)
            return every if among is None else np.intersect1d(every, among)
        with self._lock:
            graph = self._update_graph(db, Path(str(file)), space)
            found = _search(db, graph, space, codes, take, among)
        if among is not None and len(found) < min(take, len(among)):
            return _compare(db, space, codes, take, among)
        return found

    def _update_graph(self, db: apsw.Connection, file: Path, space: Space) -> _Graph:
        """Return the graph with all vectors of the index, from memory, from the file or new."""
        identity = space.identity
        origin: dict[str, str | int] = {
            "index": file.name,
            "space": space.number,
            "model": identity.model,
            "dimensions": identity.dimensions,
            "revision": identity.revision,
        }
        path = file.with_name(f"vectors-{space.number}.hnsw")
        graph = self._graph
        if graph is None or graph.origin != origin:
            graph = self._load(db, path, space, origin) or _Graph(origin, self._make_index(space))
        # Removed vectors still cost time in a search, and are still in the file.
        if 2 * graph.removed > len(graph.index) or (graph.on_disk and not path.exists()):
            graph = _Graph(origin, self._make_index(space))
        self._graph = None  # if adding fails halfway, the next search starts over
        sql = "SELECT v, codes FROM vectors WHERE space = ? AND v > ? ORDER BY v LIMIT ?"
        while rows := fetch(db, sql, (space.number, graph.last, BATCH)):
            # With several threads, usearch 2.26 makes some vectors unreachable (9 of 4,500).
            numbers = np.array([v for v, _ in rows], np.uint64)
            graph.index.add(numbers, _decode_codes(rows, space), threads=1)
            graph.last = rows[-1][0]
        self._graph = graph
        if len(graph.index) - graph.saved > SAVED_AGAIN * graph.saved:
            _save(db, graph, path, space)
        return graph

    def _make_index(self, space: Space) -> Index:
        return self._make(
            ndim=space.identity.dimensions,
            metric="cos",
            dtype="i8",
            connectivity=CONNECTIONS,
            expansion_add=EF_ADDING,
            expansion_search=EF_SEARCHING,
        )

    def _load(
        self, db: apsw.Connection, path: Path, space: Space, origin: dict[str, str | int]
    ) -> _Graph | None:
        """Return the saved graph, or None if there is none of this origin.

        A damaged file is moved aside.
        """
        try:
            data, _ = read_file(path, MAX_FILE)
        except OSError:
            return None
        index = self._make_index(space)
        try:
            head, body = _parse_file(data)
            if head["origin"] != origin or not _is_current(db, space, head):
                return None  # outdated; replaced when the new graph is saved
            index.load(body)
            if (index.ndim, len(index)) != (space.identity.dimensions, head["count"]):
                raise ValueError("the header does not match")
        except (ValueError, KeyError, TypeError, RuntimeError) as error:
            log.warning("%s is damaged (%s) and will be rebuilt", path.name, error)
            with suppress(OSError):
                os.replace(path, path.with_name(f"damaged-{path.name}"))
            return None
        return _Graph(origin, index, head["last"], head["count"], head["removed"], on_disk=True)


# -- Searching


def _search(
    db: apsw.Connection, graph: _Graph, space: Space, query: Codes, take: int, among: Numbers | None
) -> Numbers:
    """Return `take` numbers or, if so few match that comparing them is faster, fewer."""
    size = len(graph.index)
    most, want = (size, take) if among is None else (size // 4, take * size // len(among))
    sql = "SELECT v FROM json_each(?) JOIN vectors ON v = value WHERE space = ?"
    while True:
        keys = graph.index.search(query, min(want, most), threads=1).keys.astype(np.int64)
        rows = fetch(db, sql, (to_json(keys.tolist()), space.number))
        found: Numbers = np.array([v for (v,) in rows], np.int64)
        gone = np.setdiff1d(keys, found)
        gone = gone[gone <= _read_highest(db)]  # keep those newer than this snapshot
        if len(gone):
            graph.index.remove(gone)
            graph.removed += len(gone)
        if among is not None:
            found = found[np.isin(found, among)]
        if len(found) >= take or want >= most:
            return found
        want *= 2


def _compare(db: apsw.Connection, space: Space, query: Codes, take: int, among: Numbers) -> Numbers:
    """Return the nearest of these vectors, by comparing each."""
    sql = "SELECT v, codes FROM json_each(?) JOIN vectors ON v = value WHERE space = ?"
    numbers, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
    for start in range(0, len(among), BATCH):
        rows = fetch(db, sql, (to_json(among[start : start + BATCH].tolist()), space.number))
        codes = _decode_codes(rows, space).astype(np.float32)
        lengths = np.maximum(np.linalg.norm(codes, axis=1), 1)
        numbers = np.concatenate([numbers, np.array([v for v, _ in rows], np.int64)])
        scores = np.concatenate([scores, (codes @ query.astype(np.float32)) / lengths])
        if len(numbers) > take:
            best = np.argpartition(-scores, take)[:take]
            numbers, scores = numbers[best], scores[best]
    return numbers


def _decode_codes(rows: list[tuple[Any, ...]], space: Space) -> Codes:
    if any(len(codes) != space.identity.dimensions for _, codes in rows):
        raise IndexCorrupt(
            "the index has vectors of the wrong length; it is rebuilt from the files"
        )
    return np.frombuffer(b"".join(codes for _, codes in rows), np.int8).reshape(
        len(rows), space.identity.dimensions
    )


def _read_highest(db: apsw.Connection) -> int:
    """Return the highest vector number ever used: SQLite does not reuse numbers."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").fetchone()
    return 0 if row is None else int(row[0])


# -- The file: a digest of the rest, a line of JSON (the header), and the graph


def _save(db: apsw.Connection, graph: _Graph, path: Path, space: Space) -> None:
    """Save the graph for the next process. Errors are ignored: it can be built again."""
    graph.saved = len(graph.index)  # also if saving fails, so that it is not tried every time
    sql = "SELECT v, codes FROM vectors WHERE space = ? AND v <= ? ORDER BY v DESC LIMIT 16"
    newest = fetch(db, sql, (space.number, graph.last))
    head = {
        "origin": graph.origin,
        "last": graph.last,
        "count": graph.saved,
        "removed": graph.removed,
        "newest": [[v, zlib.crc32(codes)] for v, codes in newest],
    }
    line, body = json.dumps(head).encode() + b"\n", graph.index.save() or b""
    digest = hashlib.sha256(line)
    digest.update(body)
    # A file with this name is deleted once its process has ended.
    temporary = path.with_name(f"build-{os.getpid()}-{uuid.uuid4().hex[:8]}.db-hnsw")
    try:
        with os.fdopen(create_file(temporary), "wb") as file:
            file.write(_MAGIC + digest.hexdigest().encode() + b"\n" + line)
            file.write(body)
        os.replace(temporary, path)
        graph.on_disk = True
    except OSError as error:
        log.debug("cannot save %s: %s", path.name, error)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _parse_file(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header and the graph of a file. Raises ValueError if the digest is wrong."""
    start = data.find(b"\n") + 1
    rest = data[start:]
    if data[:start] != _MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n":
        raise ValueError("the digest does not match")
    line, _, body = rest.partition(b"\n")
    return json.loads(line), body


def _is_current(db: apsw.Connection, space: Space, head: dict[str, Any]) -> bool:
    """Return whether the table still has the vectors that the graph was built from.

    A power cut may lose the last rows, and other vectors then get their numbers.
    """
    if head["last"] > _read_highest(db):
        return False
    sql = "SELECT v, codes FROM json_each(?) JOIN vectors ON v = value WHERE space = ?"
    rows = fetch(db, sql, (to_json([v for v, _ in head["newest"]]), space.number))
    now = {v: zlib.crc32(codes) for v, codes in rows}
    return all(now.get(v, digest) == digest for v, digest in head["newest"])


SPEC = HnswScan
