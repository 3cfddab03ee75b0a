"""The vectors of recent queries. Agents and pages repeat theirs, and embedding is slow."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.ports import Vector

MOST_QUERIES = 1024
"""About 1.5 MB of vectors."""


class QueryCache:
    """Vectors by query, the latest used ones. In memory only, and without the queries' texts.

    A query is represented by a hash with a random key, so nobody can find out from the cache what
    was asked. Thread-safe.
    """

    def __init__(self, most: int = MOST_QUERIES) -> None:
        self._most = most
        self._key = os.urandom(16)
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = Lock()

    def get(self, query: str) -> Vector | None:
        """Return the vector of a query, or None."""
        key = self._hash(query)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, query: str, vector: Vector) -> None:
        """Store a vector, which becomes read-only. The one used longest ago makes room."""
        vector.flags.writeable = False
        with self._lock:
            self._vectors[self._hash(query)] = vector
            if len(self._vectors) > self._most:
                self._vectors.popitem(last=False)

    def clear(self) -> None:
        """Forget all queries."""
        with self._lock:
            self._vectors.clear()

    def __len__(self) -> int:
        return len(self._vectors)

    def _hash(self, query: str) -> bytes:
        data = query.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=16).digest()
