"""An embedder behind a circuit breaker, with all its vectors validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.models.embedders.query_cache import QueryCache
from muisti.models.embedders.vectors import is_unit_vector, validate_vectors

if TYPE_CHECKING:
    from muisti.models.http.breaker import Breaker
    from muisti.ports import Embedder, Identity, Matrix, Vector


class GuardedEmbedder:
    """Validates the vectors of an inner embedder.

    Raises EmbedderMisbehaved for invalid vectors, EmbedderUnavailable while the breaker is open,
    and what the inner embedder raises.
    """

    def __init__(self, inner: Embedder, breaker: Breaker) -> None:
        self.max_tokens = inner.max_tokens
        self.unrelated = inner.unrelated
        self.is_remote = inner.is_remote
        self.is_parallel = inner.is_parallel
        self._inner = inner
        self._breaker = breaker
        self._identity: Identity | None = None
        self._queries = QueryCache()

    def identity(self) -> Identity:
        """Return the identity. Cached here, so that repeated calls do not count as successes."""
        if self._identity is None:
            with self._breaker.watch():
                self._identity = self._inner.identity()
        return self._identity

    def is_ready(self) -> bool:
        """Return whether it can embed now; False while the breaker is open."""
        return not self._breaker.is_open and self._inner.is_ready()

    @property
    def is_paused(self) -> bool:
        """Whether it has failed and is not tried again yet."""
        return self._breaker.is_open

    def understands(self, text: str) -> float:
        """Return what the inner embedder returns."""
        return self._inner.understands(text)

    def reads(self, text: str) -> bool:
        """Return what the inner embedder returns."""
        return self._inner.reads(text)

    def count_tokens(self, text: str) -> int:
        """Return what the inner embedder counts."""
        return self._inner.count_tokens(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one validated row for each text."""
        identity = self.identity()
        with self._breaker.watch():
            return validate_vectors(
                self._inner.embed_documents(texts), len(texts), identity.dimensions, identity.model
            )

    def embed_query(self, text: str) -> Vector:
        """Return a validated vector, which must not be changed.

        Those of a local model are cached. A server is always asked, so that its failure is noticed.
        """
        if not self.is_remote:
            known = self._queries.get(text)
            if known is not None:
                return known
        identity = self.identity()
        with self._breaker.watch():
            row = self._inner.embed_query(text)
            if is_unit_vector(row, identity.dimensions):
                row = row.copy()  # the inner embedder may keep its own
            else:
                row = validate_vectors([row], 1, identity.dimensions, identity.model)[0]
        if not self.is_remote:
            self._queries.put(text, row)
        return row

    def knows_query(self, text: str) -> bool:
        """Return whether the vector of a query is cached."""
        return self._queries.get(text) is not None

    def forget_queries(self) -> None:
        """Clear the cache of queries."""
        self._queries.clear()

    def close(self) -> None:
        """Close the inner embedder."""
        self._queries.clear()
        self._inner.close()
