"""What embedders on a server have in common: batches, prefixes, checks, and an identity that has to be asked for."""

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
"""What a model wants in front of a document and of a question, by how its name begins; the longest match counts."""
_NOTHING = "."
"""Stands for an empty text, which servers refuse or answer with an empty vector."""
_REVISION = "r1"


def choose_prefixes(model: str) -> tuple[str, str]:
    """What goes in front of documents and of questions. `library/nomic-embed-text:v1.5` is `nomic-embed-text`."""
    name = model.rsplit("/", 1)[-1].split(":", 1)[0].casefold()
    best = max((known for known in _PREFIXES if name.startswith(known)), key=len, default=None)
    return _PREFIXES[best] if best else ("", "")


class RemoteEmbedder(ABC):
    """Asks a server. Subclasses say what the question looks like and where in the answer the vectors are."""

    def __init__(
        self, post: JsonClient, model: str, *, dimensions: int | None, batch: int, max_tokens: int
    ) -> None:
        self.max_tokens = max_tokens
        self.unrelated = -1.0
        self._post = post
        self._model = model
        self._dimensions = dimensions
        self._batch = batch
        self._for_documents, self._for_query = choose_prefixes(model)
        self._answered = True

    @abstractmethod
    def _question(self, texts: Sequence[str]) -> Mapping[str, object]: ...

    @abstractmethod
    def _vectors(self, answer: Mapping[str, object]) -> object:
        """May raise KeyError, TypeError or ValueError for an answer that is not what it should be."""

    def identity(self) -> Identity:
        """Where the dimensions were not told, one short text is embedded to learn them. Raises EmbedderProblem."""
        return Identity(self._model, self._known_dimensions(), _REVISION)

    def is_ready(self) -> bool:
        """Whether it answered when it was last asked."""
        return self._answered

    def understands(self, text: str) -> float:
        """Taken to know every language."""
        return 1.0

    def count_tokens(self, text: str) -> int:
        """An estimate that is rather too high: the server's tokenizer is not known here."""
        if text.isascii():
            return -(-len(text) // 3)
        plain = len(text.encode("ascii", "ignore"))
        return -(-plain // 3) + len(text) - plain

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row for each text, asked for in batches. Raises EmbedderProblem; then no vector of any batch is kept."""
        import numpy as np  # not loaded by those who never embed

        if not texts:
            return np.zeros((0, self._known_dimensions()), dtype=np.float32)
        cut = [self._for_documents + self._sendable(text) for text in texts]
        return np.concatenate(
            [self._ask(cut[at : at + self._batch]) for at in range(0, len(cut), self._batch)]
        )

    def embed_query(self, text: str) -> Vector:
        """The vector of a question. Raises EmbedderProblem."""
        row: Vector = self._ask([self._for_query + self._sendable(text)])[0]
        return row

    def close(self) -> None:
        """Close the connections."""
        self._post.close()

    def _known_dimensions(self) -> int:
        if self._dimensions is None:
            self._ask([_NOTHING])
        assert self._dimensions is not None
        return self._dimensions

    def _ask(self, texts: Sequence[str]) -> Matrix:
        try:
            answer = self._post(self._question(texts))
            rows = validate_vectors(
                self._found(answer),
                len(texts),
                self._dimensions,
                f"{self._model} at {self._post.shown}",
            )
        except EmbedderProblem:
            self._answered = False
            raise
        self._answered = True
        self._dimensions = int(rows.shape[1])
        return rows

    def _found(self, answer: object) -> object:
        try:
            if isinstance(answer, dict):
                return self._vectors(answer)
        except (KeyError, TypeError, ValueError):
            pass
        raise EmbedderMisbehaved(
            f"{self._post.shown} answered without vectors; is it the right kind of embedder?"
        )

    def _sendable(self, text: str) -> str:
        """Cut to what the model may read at most, so that no server refuses it, and valid Unicode."""
        limit = 3 * self.max_tokens
        text = text[:limit]
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
            while self.count_tokens(text) > self.max_tokens:
                text = text[: len(text) * 9 // 10]
        text = text.replace("\0", " ")
        return text if text.strip() else _NOTHING
