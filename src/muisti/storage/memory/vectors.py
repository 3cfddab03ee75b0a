"""The vector index in memory: compares all vectors exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from muisti.ports.unshared import UnclaimedVectors
from muisti.ports.vectors import (
    Centre,
    Embedded,
    Identity,
    Space,
    Vector,
    VectorHit,
    check_length,
)
from muisti.storage.memory.apply import promote_complete_space
from muisti.storage.memory.index import MemoryIndex
from muisti.storage.memory.tables import SpaceTable, Tables

if TYPE_CHECKING:
    from muisti.model import Filter


class MemoryVectors(UnclaimedVectors):
    """Implements the port VectorIndex."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._database = index.database

    def spaces(self) -> list[Space]:
        """Return all spaces, the serving one first."""
        tables = self._database.tables.spaces
        ordered = sorted(tables, key=lambda table: (not table.serving, table.number))
        return [_make_space(table) for table in ordered]

    def prepare(self, identity: Identity, centre: Centre | None = None) -> Space:
        """Return the space of a model; create it if missing. Unfinished spaces are dropped."""
        with self._database.transaction() as tables:
            tables.spaces = [
                table for table in tables.spaces if table.serving or table.identity == identity
            ]
            wanted = _find(tables, identity)
            if wanted is None:
                tables.last_space += 1
                wanted = SpaceTable(tables.last_space, identity, serving=not tables.spaces)
                wanted.waiting = {
                    id_ for id_, entry in tables.entries.items() if entry.memory.content
                }
                tables.spaces.append(wanted)
            promote_complete_space(tables)  # now, if there is nothing to embed
        return _make_space(wanted)

    def add(self, embedded: Sequence[Embedded]) -> None:
        """Store vectors whose text is unchanged; drop the others."""
        with self._database.transaction() as tables:
            for one in embedded:
                space = _find(tables, one.identity)
                entry = tables.entries.get(one.memory_id)
                if space is None or entry is None or entry.source_hash != one.source:
                    continue
                is_part = one.first > 0 or not one.complete
                if is_part and one.memory_id not in space.waiting:
                    continue  # another thread has stored all
                pieces, vectors = one.pieces, one.vectors.copy()
                if one.first:
                    stored = space.parts.get(one.memory_id)
                    if stored is None or len(stored[0]) != one.first:
                        continue  # another thread has stored more or other parts
                    import numpy as np

                    pieces = (*stored[0], *pieces)
                    vectors = np.concatenate([stored[1], vectors])
                if one.complete:
                    space.forget(one.memory_id)
                    space.vectors[one.memory_id] = (pieces, vectors)
                else:
                    space.parts[one.memory_id] = (pieces, vectors)
            promote_complete_space(tables)

    def read_all(self, space: Space, limit: int) -> Iterator[list[Embedded]]:
        """Yield the vectors of all texts that have all theirs, this many texts at a time."""
        tables = self._database.tables
        known = _find(tables, space.identity)
        texts = list(known.vectors.items()) if known is not None else []
        for start in range(0, len(texts), limit):
            yield [
                Embedded(id_, tables.entries[id_].source_hash, space.identity, pieces, vectors)
                for id_, (pieces, vectors) in texts[start : start + limit]
            ]

    def get_centre(self, space: Space) -> None:
        """Return None: all vectors are compared."""

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Return the IDs of texts without vectors in this space, in the order of insertion."""
        tables = self._database.tables
        known = _find(tables, space.identity)
        waiting = known.waiting if known is not None else ()
        return sorted(waiting, key=lambda id_: tables.entries[id_].number)[:limit]

    def measure_missing(self, space: Space) -> int:
        """Return how many characters the texts without vectors have together."""
        tables = self._database.tables
        known = _find(tables, space.identity)
        waiting = known.waiting if known is not None else ()
        return sum(len(tables.entries[id_].memory.content) for id_ in waiting)

    def find_same(self, space: Space, ids: Sequence[str]) -> dict[str, str]:
        """Return, for memories without vectors, the ID of one with the same text that has them."""
        tables = self._database.tables
        known = _find(tables, space.identity)
        same: dict[str, str] = {}
        if known is None:
            return same
        for id_ in ids:
            if id_ not in known.waiting or not tables.entries[id_].is_memory:
                continue
            for other in tables.by_hash[tables.entries[id_].memory.content_hash]:
                if other in known.vectors and _is_same_text(tables, id_, other):
                    same[id_] = other
                    break
        return same

    def copy_same(self, space: Space, same: Mapping[str, str]) -> None:
        """Copy vectors to each memory from the one that `find_same` found."""
        with self._database.transaction() as tables:
            known = _find(tables, space.identity)
            if known is None:
                return
            for id_, other in same.items():
                is_waiting = id_ in known.waiting and other in known.vectors
                if is_waiting and _is_same_text(tables, id_, other):
                    known.forget(id_)
                    known.vectors[id_] = known.vectors[other]
            promote_complete_space(tables)

    def count_pieces(self, space: Space, ids: Sequence[str]) -> dict[str, int]:
        """Return how many pieces of texts are stored in this space; texts without any left out."""
        known = _find(self._database.tables, space.identity)
        if known is None:
            return {}
        stored = {id_: known.vectors.get(id_) or known.parts.get(id_) for id_ in ids}
        return {id_: len(one[0]) for id_, one in stored.items() if one is not None and one[0]}

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int
    ) -> list[VectorHit]:
        """Return the nearest texts that match the filter, best first."""
        check_length(space, query)
        view = self._index.view()
        known = _find(view.tables, space.identity)
        hits = []
        for id_, (pieces, vectors) in known.vectors.items() if known is not None else ():
            if pieces and view.allows(where, view.tables.entries[id_]):
                cosines = (vectors @ query).clip(-1, 1)  # rounding can exceed 1
                best = int(cosines.argmax())
                hits.append(
                    VectorHit(id_, float(cosines[best]), pieces[best].start, pieces[best].end)
                )
        return sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))[:limit]

    def compute_similarities(
        self, space: Space, query: Vector, ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the cosine of each text's nearest piece, by ID."""
        check_length(space, query)
        known = _find(self._database.tables, space.identity)
        found = {}
        for id_ in ids:
            if known is not None and id_ in known.vectors:
                pieces, vectors = known.vectors[id_]
                if pieces:
                    found[id_] = float((vectors @ query).clip(-1, 1).max())
        return found

    def get_vector(self, space: Space, memory_id: str) -> Vector | None:
        """Return the mean of a text's vectors, scaled to length 1, or None."""
        known = _find(self._database.tables, space.identity)
        if known is None or memory_id not in known.vectors:
            return None
        pieces, vectors = known.vectors[memory_id]
        if not pieces:
            return None
        import numpy as np

        total: Vector = vectors.sum(axis=0)
        length = float(np.linalg.norm(total)) or 1.0
        return total / np.float32(length)


def _is_same_text(tables: Tables, id_: str, other: str) -> bool:
    first, second = tables.entries[id_], tables.entries[other]
    is_same = first.source_hash == second.source_hash and second.is_memory
    return is_same and first.memory.content == second.memory.content


def _find(tables: Tables, identity: Identity) -> SpaceTable | None:
    return next((table for table in tables.spaces if table.identity == identity), None)


def _make_space(table: SpaceTable) -> Space:
    return Space(table.number, table.identity, table.serving, len(table.waiting))
