"""Vectors: the embedder that computes them and the index that stores and searches them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from muisti.errors import EmbedderMisbehaved

if TYPE_CHECKING:  # importing numpy is slow, and only searches need it
    import numpy as np
    from numpy.typing import NDArray

    from muisti.model import Filter

Vector: TypeAlias = "NDArray[np.float32]"
Matrix: TypeAlias = "NDArray[np.float32]"
"""One vector in each row."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identifies a model. Only vectors of the same identity can be compared."""

    model: str
    dimensions: int
    revision: str
    """Changes if the same model name gets other weights, another tokenizer or other pooling."""


@dataclass(frozen=True, slots=True)
class Chunking:
    """How texts are split into chunks, in tokens. Vectors of other chunks are another space."""

    size: int
    overlap: int

    def mark(self, identity: Identity, usual: Chunking) -> Identity:
        """Return the identity of a space with these chunks; unchanged if they are the usual ones.

        So the vectors of the usual chunks, which have no mark, stay valid.
        """
        if self == usual:
            return identity
        mark = f"{_CHUNKS}{self.size}-{self.overlap}"
        return replace(identity, revision=identity.revision + mark)


_CHUNKS = "+chunks-"


def get_model_identity(identity: Identity) -> Identity:
    """Return the identity of the model whose vectors a space has."""
    return replace(identity, revision=identity.revision.partition(_CHUNKS)[0])


class Embedder(Protocol):
    """Turns texts into vectors of length 1. A vector does not depend on the rest of its batch."""

    max_tokens: int
    """The longest text that the model reads; the rest is ignored."""
    unrelated: float
    """A query and a text with at most this cosine are most likely unrelated; −1 if unknown."""
    is_remote: bool
    """Whether texts are sent to a server, which may hang. A local model always comes to an end."""
    is_parallel: bool
    """Whether several threads embed faster than one."""

    def identity(self) -> Identity:
        """Return the model's identity without loading its weights.

        Raises EmbedderProblem if a server has to be asked and does not reply.
        """
        ...

    def is_ready(self) -> bool:
        """Return whether embedding can start at once: the model is loaded or its server replied."""
        ...

    def understands(self, text: str) -> float:
        """Return the weight of vector search for this text; that of keywords is 1. 0: skip it."""
        ...

    def reads(self, text: str) -> bool:
        """Return whether the model knows the script of a text; other texts are not embedded."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of model tokens in a text."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text. Raises EmbedderProblem.

        Never returns fewer rows, other lengths or NaN.
        """
        ...

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query, which some models encode differently from documents.

        Raises EmbedderProblem.
        """
        ...

    def close(self) -> None:
        """Release the model or its connections."""
        ...


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of one model.

    Searches use the serving space. When the model changes, a second one is filled beside it.
    """

    number: int
    identity: Identity
    serving: bool
    missing: int
    """How many texts have no vectors in this space yet."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text's content that has its own vector."""

    start: int
    end: int
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one text, or of a part of a long one."""

    memory_id: str
    source: str
    """The `source_hash` of the embedded text. If it has changed since, the vectors are dropped."""
    identity: Identity
    pieces: tuple[Piece, ...]
    vectors: Matrix
    """One row for each piece."""
    first: int = 0
    """How many pieces of the text come before these, and are stored already."""
    complete: bool = True
    """Whether these are the last pieces. Until then the text counts as missing."""


class VectorHit(NamedTuple):
    """A text near the query, with its nearest piece."""

    memory_id: str
    score: float
    """The cosine."""
    start: int
    end: int


class Centre(NamedTuple):
    """What is subtracted from vectors before their signs are compared: the mean of the first."""

    mean: bytes
    """32-bit floats."""
    vector_count: int
    """The number of vectors that it is the mean of."""


FEWEST_COMPARED, MOST_COMPARED, COMPARED_SHARE = 500, 4000, 32
"""One in this many vectors is compared exactly, within these bounds."""


def count_compared(vectors: int, limit: int) -> int:
    """Return how many of a space's vectors to compare exactly: those that share the most signs.

    Limit: how many texts are wanted. Of 12,000 real vectors, 500 have a recall of .98 for the ten
    nearest. Of 100,000, 500 have .945, 2,000 have .988, and 4,000 have .997.
    """
    enough = min(MOST_COMPARED, max(FEWEST_COMPARED, vectors // COMPARED_SHARE))
    return max(enough, 4 * limit)


def check_length(space: Space, query: Vector) -> None:
    """Raise EmbedderMisbehaved if a vector has other dimensions than the space."""
    if query.shape != (space.identity.dimensions,):
        raise EmbedderMisbehaved(
            f"the query vector has {query.size} dimensions, but those of the index have "
            f"{space.identity.dimensions}; `muisti reindex --vectors` recomputes them"
        )


class VectorIndex(Protocol):
    """Stores vectors and finds the nearest. Texts are memories, messages and sections."""

    def spaces(self) -> list[Space]:
        """Return all spaces, the serving one first."""
        ...

    def prepare(self, identity: Identity, centre: Centre | None = None) -> Space:
        """Return the space of a model; create it if it does not exist. Call within `Store.lock`.

        Centre: that of a space to be copied, so that both find the same. It is ignored if there are
        vectors.

        The first space serves at once. Another one serves as soon as nothing is missing in it;
        the old one is then deleted. An unfinished space of a third model is deleted.
        """
        ...

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors whose text is unchanged; drop the others. Call within `Store.lock`.

        A part that does not continue the stored pieces is dropped too.
        """
        ...

    def read_all(self, space: Space, limit: int) -> Iterator[list[Embedded]]:
        """Yield the vectors of all texts that have all theirs, this many texts at a time."""
        ...

    def get_centre(self, space: Space) -> Centre | None:
        """Return the centre of a space; None if it has none."""
        ...

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Return the IDs of texts without vectors in this space, oldest row first."""
        ...

    def claim_missing(
        self, space: Space, limit: int, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Return IDs as `find_missing` does, of texts that no other process embeds.

        They are this process's own until they have vectors, are released, or the process ends. Ids:
        choose among these texts only.
        """
        ...

    def count_claimed(self, space: Space) -> int:
        """Return how many texts are being embedded, by this process or by another."""
        ...

    def release(self, space: Space, ids: Sequence[str]) -> None:
        """Let any process embed these texts. Those that have vectors are ignored."""
        ...

    def postpone(self, space: Space, ids: Sequence[str], error: str, pause: float) -> None:
        """Release texts that the model cannot embed.

        They are tried again after this many seconds, and longer after each failure. After several
        failures they are given up, which `Store.problems` reports.
        """
        ...

    def measure_missing(self, space: Space) -> int:
        """Return how many characters the texts without vectors in this space have together."""
        ...

    def find_same(self, space: Space, ids: Sequence[str]) -> dict[str, str]:
        """Return, for memories without vectors, the ID of one with the same text that has them.

        Same text means the same `source_hash` and content. Others are left out.
        """
        ...

    def copy_same(self, space: Space, same: Mapping[str, str]) -> None:
        """Copy vectors to each memory from the one that `find_same` found.

        Pairs whose texts differ by now are left out. Call within `Store.lock`.
        """
        ...

    def count_pieces(self, space: Space, ids: Sequence[str]) -> dict[str, int]:
        """Return how many pieces of texts are stored in this space; texts without any left out."""
        ...

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """Return the nearest texts that match the filter, best first, one hit for each text.

        Returns `limit` hits if that many texts match. Raises EmbedderMisbehaved if the query has
        other dimensions than the space.
        """
        ...

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the cosine of each text's nearest piece, by ID; texts without vectors left out.

        Raises EmbedderMisbehaved if the query has other dimensions than the space.
        """
        ...

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """Return the mean of a text's vectors, scaled to length 1, or None if it has none."""
        ...
