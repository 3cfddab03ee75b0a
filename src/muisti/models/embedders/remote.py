"""The common part of remote embedders: batches, prefixes, validation and identity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from muisti.errors import EmbedderMisbehaved, EmbedderProblem
from muisti.models.embedders.vectors import validate_vectors
from muisti.models.http.json_client import JsonClient
from muisti.ports import Identity, Matrix, Vector

_ASK = "Represent this sentence for searching relevant passages: "
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", _ASK),
    "snowflake-arctic-embed": ("", _ASK),
    "snowflake-arctic-embed2": ("", "query: "),
    "bge-small-en": ("", _ASK),
    "bge-base-en": ("", _ASK),
    "bge-large": ("", _ASK),
    "multilingual-e5": ("passage: ", "query: "),
    "e5-": ("passage: ", "query: "),
    "embeddinggemma": ("title: none | text: ", "task: search result | query: "),
}
"""Prefixes of documents and queries, by the beginning of the model's name. The longest wins."""
_EMPTY = "."
"""Replaces an empty text, which servers reject or embed as an empty vector."""
_REVISION = "r1"


def choose_prefixes(model: str) -> tuple[str, str]:
    """Return the prefixes of documents and queries.

    `library/nomic-embed-text:v1.5` counts as `nomic-embed-text`.
    """
    name = model.rsplit("/", 1)[-1].split(":", 1)[0].casefold()
    best = max((known for known in _PREFIXES if name.startswith(known)), key=len, default=None)
    return _PREFIXES[best] if best else ("", "")


class RemoteEmbedder(ABC):
    """Embeds by requests to a server. Subclasses read the response."""

    extra_fields: Mapping[str, object] = {}
    """Fields of a request besides `model` and `input`."""
    is_remote = True
    is_parallel = False

    def __init__(
        self, client: JsonClient, model: str, *, dimensions: int | None, batch: int, max_tokens: int
    ) -> None:
        self.max_tokens = max_tokens
        self.unrelated = -1.0
        self._client = client
        self._model = model
        self._dimensions = dimensions
        self._batch = batch
        self._for_documents, self._for_query = choose_prefixes(model)
        self._is_ready = True

    @abstractmethod
    def _find_vectors(self, response: Mapping[str, object]) -> object:
        """May raise KeyError, TypeError or ValueError for an unexpected response."""

    def identity(self) -> Identity:
        """Return the identity. Embeds a short text if the dimensions are not known.

        Raises EmbedderProblem.
        """
        return Identity(self._model, self._get_dimensions(), _REVISION)

    def is_ready(self) -> bool:
        """Return whether the last request succeeded."""
        return self._is_ready

    def understands(self, text: str) -> float:
        """Return 1: remote models are assumed to know every language."""
        return 1.0

    def reads(self, text: str) -> bool:
        """Return True: remote models are assumed to know every script."""
        return True

    def count_tokens(self, text: str) -> int:
        """Return an estimate that is rather too high: the server's tokenizer is not known."""
        if text.isascii():
            return -(-len(text) // 3)
        plain = len(text.encode("ascii", "ignore"))
        return -(-plain // 3) + len(text) - plain

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text. Raises EmbedderProblem if any batch fails."""
        import numpy as np  # slow to import

        if not texts:
            return np.zeros((0, self._get_dimensions()), dtype=np.float32)
        prefixed = [self._for_documents + self._cut(text) for text in texts]
        starts = range(0, len(prefixed), self._batch)
        return np.concatenate([self._embed(prefixed[at : at + self._batch]) for at in starts])

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. Raises EmbedderProblem."""
        row: Vector = self._embed([self._for_query + self._cut(text)])[0]
        return row

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _get_dimensions(self) -> int:
        if self._dimensions is None:
            self._embed([_EMPTY])
        assert self._dimensions is not None
        return self._dimensions

    def _embed(self, texts: Sequence[str]) -> Matrix:
        try:
            request = {"model": self._model, "input": list(texts), **self.extra_fields}
            response = self._client(request)
            try:
                vectors = self._find_vectors(response) if isinstance(response, dict) else None
            except (KeyError, TypeError, ValueError):
                vectors = None
            if vectors is None:
                raise EmbedderMisbehaved(
                    f"{self._client.shown} returned no vectors; check the setting embedder"
                )
            source = f"{self._model} at {self._client.shown}"
            rows = validate_vectors(vectors, len(texts), self._dimensions, source)
        except EmbedderProblem:
            self._is_ready = False
            raise
        self._is_ready = True
        self._dimensions = int(rows.shape[1])
        return rows

    def _cut(self, text: str) -> str:
        """Return valid Unicode of at most `max_tokens`: servers reject longer texts."""
        limit = 3 * self.max_tokens
        text = text[:limit]
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
            while self.count_tokens(text) > self.max_tokens:
                text = text[: len(text) * 9 // 10]
        text = text.replace("\0", " ")
        return text if text.strip() else _EMPTY
