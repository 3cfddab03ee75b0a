"""Vectors: what makes them, and what keeps and finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from muisti.errors import EmbedderMisbehaved

if TYPE_CHECKING:  # numpy is not loaded by those who never search
    import numpy as np
    from numpy.typing import NDArray

    from muisti.model import Filter

Vector: TypeAlias = "NDArray[np.float32]"
Matrix: TypeAlias = "NDArray[np.float32]"
"""Rows of vectors."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which vectors can be compared: only those of one and the same model."""

    model: str
    dimensions: int
    revision: str
    """Changes when the same name starts to mean other weights, another tokenizer, another pooling."""


class Embedder(Protocol):
    """Turns texts into vectors of length 1. A text's vector does not depend on what else is embedded with it."""

    max_tokens: int
    """The longest text that the model reads; what is beyond is not seen."""
    unrelated: float
    """Up to this cosine a question and a text most likely have nothing to do with each other; −1 where nobody knows."""

    def identity(self) -> Identity:
        """Which model this is. Cheap: the weights are not loaded. Raises EmbedderProblem where it must ask and cannot."""
        ...

    def is_ready(self) -> bool:
        """Whether embedding starts at once: the model is loaded, or lives elsewhere and answered last time."""
        ...

    def understands(self, text: str) -> float:
        """What its opinion of this text counts for beside that of the words, which is 1. 0: go by the words alone."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many of the model's tokens a text is."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row for each text. Raises EmbedderProblem; never answers fewer rows, other lengths or NaN."""
        ...

    def embed_query(self, text: str) -> Vector:
        """A question, which some models read differently from what answers it. Raises EmbedderProblem."""
        ...

    def close(self) -> None:
        """Let go of the model or of connections."""
        ...


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of one model. One space serves; while the model is being changed, another is filled beside it."""

    number: int
    identity: Identity
    serving: bool
    missing: int
    """Memories that have no vectors in it yet."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a memory's content that has a vector of its own."""

    start: int
    end: int
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A memory's vectors."""

    memory_id: str
    source: str
    """The `source_hash` of the text that they were made from: if the memory changed meanwhile, they are not kept."""
    identity: Identity
    pieces: tuple[Piece, ...]
    vectors: Matrix
    """One row for each piece."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A memory near the question, by its nearest piece."""

    memory_id: str
    score: float
    """The cosine."""
    start: int
    end: int


def check_length(space: Space, query: Vector) -> None:
    """Raise EmbedderMisbehaved for a vector that cannot be of this space."""
    if query.shape != (space.identity.dimensions,):
        raise EmbedderMisbehaved(
            f"the vector of the question has {query.size} dimensions, those of the index have "
            f"{space.identity.dimensions}: `muisti reindex --vectors` makes them anew"
        )


class VectorIndex(Protocol):
    """Keeps vectors and finds the nearest."""

    def spaces(self) -> list[Space]:
        """The serving one first."""
        ...

    def prepare(self, identity: Identity) -> Space:
        """The space of this model; made if there is none, beside the serving one if there is. Call under the lock."""
        ...

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors, if their memory still has the text that they were made from. Call under the lock."""
        ...

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Ids of memories that have no vectors in it yet."""
        ...

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """The nearest memories that the filter lets through, best first; as many as asked, if there are as many."""
        ...

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """The cosine of each of these memories' nearest piece."""
        ...

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """What a memory means as a whole: the mean of its pieces, of length 1. None if it has no vectors."""
        ...
