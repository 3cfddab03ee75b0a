"""Vectors with and without memories, and an index to put them in, for the suite of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muisti.model import Filter, Memory, Tier
from muisti.ports import Embedded, Identity, IndexChanges, Piece, Space, VectorHit, VectorIndex
from muisti.remember.embed import hash_source
from tests.contract.making import add, filed
from tests.unit.making import NOON

Floats = NDArray[np.float32]
FIRST = Identity("first", 64, "1")
SAME_SIZE = Identity("second", 64, "1")
OTHER_SIZE = Identity("second", 32, "1")
RECALL = 0.98
OFF = 0.01
"""What bytes in place of numbers may change in a cosine."""
TIED = 0.001
"""So close to the tenth, another is as good."""
RARE: dict[int, tuple[dict[str, Any], Filter]] = {
    0: ({"project": "rare"}, Filter(project="rare")),
    1: ({"kind": "decision"}, Filter(kinds=("decision",))),
    2: (
        {"tier": Tier.SESSION, "session_id": "asking"},
        Filter(session_id="asking", tiers=("session",)),
    ),
    3: ({"tier": Tier.SESSION, "session_id": "other"}, Filter(session="other", all_sessions=True)),
    4: ({"created_at": NOON - timedelta(days=10)}, Filter(until=NOON - timedelta(days=5))),
    5: (
        {"created_at": NOON + timedelta(days=10)},
        Filter(since=NOON + timedelta(days=5), until=NOON + timedelta(days=15)),
    ),
    6: (
        {"keywords": ("rare",), "deleted_at": NOON},
        Filter(keywords=("Rare",), include_deleted=True),
    ),
    7: ({"trusted": False}, Filter(trusted=False)),
}
"""One memory in a hundred is like this, and the filter that lets only those through."""


@cache
def clustered(count: int, dimensions: int = 64, seed: int = 1) -> Floats:
    """Vectors of length 1, some of which belong together, as those of texts do; all of them point a
    little one way.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, dimensions)) + 0.3
    return unit(centres[rng.integers(0, 40, count)] + 0.7 * rng.normal(size=(count, dimensions)))


def questions(vectors: Floats, count: int, seed: int = 2) -> Floats:
    """Something near one or another of them."""
    rng = np.random.default_rng(seed)
    chosen = vectors[rng.choice(len(vectors), count)]
    return unit(chosen + 0.4 * rng.normal(size=chosen.shape) * np.abs(chosen).mean())


def unit(vectors: NDArray[np.float64]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1)[:, None]
    return np.asarray(vectors / lengths, np.float32)


def embedded(memory: Memory, vectors: Floats, identity: Identity = FIRST) -> Embedded:
    pieces = tuple(Piece(10 * at, 10 * at + 9, f"part {at}") for at in range(len(vectors)))
    return Embedded(memory.id, hash_source(memory), identity, pieces, vectors)


_plain = cache(lambda n: filed(n, f"text {n}"))


def numbered(count: int, start: int = 1) -> list[Memory]:
    return [_plain(n) for n in range(start, start + count)]


@dataclass(frozen=True)
class Place:
    """An open, empty index with its vectors."""

    index: Any
    """A SearchIndex; some tests ask SQLite's for more."""
    vectors: VectorIndex
    again: Callable[[], Place]
    """The same index as another process, or another thread, has it."""
    rebuild: Callable[[Sequence[Memory]], None]
    """Build the index anew from these memories; vectors of unchanged texts stay."""

    def fill(
        self, memories: Sequence[Memory], vectors: Floats, identity: Identity = FIRST
    ) -> Space:
        """Memories with their vectors, equally many each."""
        self.vectors.prepare(identity)
        each = len(vectors) // len(memories)
        rows = [
            embedded(m, vectors[at * each : (at + 1) * each], identity)
            for at, m in enumerate(memories)
        ]
        add(self.index, *memories)
        self.vectors.add(rows)
        return self.space(identity)

    def embed(self, memory: Memory, vectors: Floats, identity: Identity = FIRST) -> None:
        self.vectors.add([embedded(memory, vectors, identity)])

    def remove(self, memories: Sequence[Memory]) -> None:
        self.index.apply(IndexChanges(removed=[memory.id for memory in memories]))

    def space(self, identity: Identity = FIRST) -> Space:
        return next(space for space in self.vectors.spaces() if space.identity == identity)

    def nearest(
        self,
        query: Floats,
        limit: int = 10,
        where: Filter | None = None,
        identity: Identity = FIRST,
    ) -> list[VectorHit]:
        return self.vectors.find_nearest(self.space(identity), query, where or Filter(), limit)

    def ids(self, query: Floats, limit: int = 10, identity: Identity = FIRST) -> list[str]:
        return [hit.memory_id for hit in self.nearest(query, limit, identity=identity)]


def recall(
    place: Place, memories: Sequence[Memory], vectors: Floats, identity: Identity = FIRST
) -> float:
    """Which share of ten memories is as near as the ten that comparing with all gives, over many
    questions.
    """
    asked = questions(vectors, 30)
    cosines = (asked @ vectors.T).reshape(len(asked), len(memories), -1).max(axis=2)
    found = 0
    for query, row in zip(asked, cosines, strict=True):
        near = {
            memories[at].id for at in np.flatnonzero(row >= np.sort(row)[-10:][0] - TIED).tolist()
        }
        found += len(near & set(place.ids(query, 10, identity)))
    return found / (10 * len(asked))
