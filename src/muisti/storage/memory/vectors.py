"""Vectors in memory: compared with all of them, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.ports.vectors import Embedded, Identity, Space, Vector, VectorHit, check_length
from muisti.storage.memory.apply import promote_complete_space
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.tables import SpaceTable, Tables

if TYPE_CHECKING:
    from muisti.model import Filter


class MemoryVectors:
    """The vectors of an index in memory."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._database = index.database

    def spaces(self) -> list[Space]:
        """All spaces, the serving one first."""
        tables = self._database.tables
        return [
            _space(one)
            for one in sorted(tables.spaces, key=lambda one: (not one.serving, one.number))
        ]

    def prepare(self, identity: Identity) -> Space:
        """The space of a model, made if there is none. What was begun for another model is dropped."""
        with self._database.transaction() as tables:
            tables.spaces = [
                one for one in tables.spaces if one.serving or one.identity == identity
            ]
            wanted = _find(tables, identity)
            if wanted is None:
                tables.last_space += 1
                wanted = SpaceTable(tables.last_space, identity, serving=not tables.spaces)
                wanted.waiting = {
                    id_ for id_, entry in tables.entries.items() if entry.memory.content
                }
                tables.spaces.append(wanted)
            promote_complete_space(tables)  # at once where there is nothing to embed
        return _space(wanted)

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors whose memories still have the text that they were made from."""
        with self._database.transaction() as tables:
            for one in embedded:
                space = _find(tables, one.identity)
                entry = tables.entries.get(one.memory_id)
                if space is not None and entry is not None and entry.source_hash == one.source:
                    space.vectors[one.memory_id] = (one.pieces, one.vectors.copy())
                    space.waiting.discard(one.memory_id)
            promote_complete_space(tables)

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Memories that wait for their vectors, in the order in which they came."""
        tables = self._database.tables
        known = _find(tables, space.identity)
        waiting = known.waiting if known is not None else ()
        return sorted(waiting, key=lambda id_: tables.entries[id_].number)[:limit]

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """The nearest memories that the filter lets through, each by its nearest piece."""
        check_length(space, query)
        view = self._index.view()
        known = _find(view.tables, space.identity)
        hits = []
        for id_, (pieces, vectors) in known.vectors.items() if known is not None else ():
            if pieces and view.allows(where, view.tables.entries[id_]):
                cosines = (vectors @ query).clip(-1, 1)  # rounded, equal ones come out above 1
                best = int(cosines.argmax())
                hits.append(
                    VectorHit(id_, float(cosines[best]), pieces[best].start, pieces[best].end)
                )
        return sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))[:limit]

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """The cosine of each memory's nearest piece."""
        check_length(space, query)
        known = _find(self._database.tables, space.identity)
        found = {}
        for id_ in ids:
            pieces, vectors = (
                known.vectors.get(id_, ((), None)) if known is not None else ((), None)
            )
            if pieces and vectors is not None:
                found[id_] = float((vectors @ query).clip(-1, 1).max())
        return found

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """The mean of a memory's pieces, of length 1."""
        known = _find(self._database.tables, space.identity)
        pieces, vectors = (
            known.vectors.get(memory_id, ((), None)) if known is not None else ((), None)
        )
        if not pieces or vectors is None:
            return None
        import numpy as np

        total: Vector = vectors.sum(axis=0)
        length = float(np.linalg.norm(total)) or 1.0
        return total / np.float32(length)


def _find(tables: Tables, identity: Identity) -> SpaceTable | None:
    return next((one for one in tables.spaces if one.identity == identity), None)


def _space(table: SpaceTable) -> Space:
    return Space(table.number, table.identity, table.serving, len(table.waiting))
