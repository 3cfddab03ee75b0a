"""The part of the suite of `VectorIndex` about several memories with the same text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.contract.making import add
from tests.contract.vectors_making import (
    RECALL,
    Place,
    clustered,
    embedded,
    numbered,
    recall,
)


class SameTextContract:
    """A part of `VectorsContract`."""

    def test_the_same_text_of_another_memory(self, place: Place) -> None:
        known, other = numbered(2)
        vectors = clustered(6)
        space = place.fill([known, other], vectors)
        twins = [
            replace(known, id=id_, user=id_, file_path=f"notes/{id_}.md") for id_ in ("p", "q")
        ]
        changed = replace(twins[0], id="r", title="Its own title", file_path="notes/r.md")
        add(place.index, *twins, changed)
        ids = ["p", "q", "r", known.id, "nobody"]
        same = place.vectors.find_same(space, ids)
        assert same == {"p": known.id, "q": known.id}
        assert place.vectors.measure_missing(space) == 3 * len(known.content)
        place.vectors.copy_same(space, {**same, "r": known.id, "nobody": known.id})
        assert place.vectors.find_missing(space, 10) == ["r"]
        assert place.vectors.measure_missing(space) == len(known.content)
        for at in range(3):
            hits = {hit.memory_id: hit for hit in place.nearest(vectors[at], 3)}
            assert set(hits) == {known.id, "p", "q"}
            assert len({(hit.score, hit.start, hit.end) for hit in hits.values()}) == 1
        place.remove([known])
        assert set(place.ids(vectors[0], 2)) == {"p", "q"}, "the copies are their own"

    def test_copied_vectors_are_found_among_many(self, place: Place) -> None:
        memories, vectors = numbered(600), clustered(600)
        space = place.fill(memories, vectors)
        twins = [
            replace(memory, id=f"t{at}", user="b", file_path=f"notes/t{at}.md")
            for at, memory in enumerate(memories)
        ]
        add(place.index, *twins)
        same = place.vectors.find_same(space, [twin.id for twin in twins])
        assert len(same) == 600
        place.vectors.copy_same(space, same)
        assert place.space().missing == 0
        both = np.concatenate([vectors, vectors])
        assert recall(place, [*memories, *twins], both) >= RECALL

    def test_a_text_that_changed_meanwhile_gets_no_copy(self, place: Place) -> None:
        (known,) = numbered(1)
        space = place.fill([known], clustered(1))
        twin = replace(known, id="p", user="p", file_path="notes/p.md")
        add(place.index, twin)
        same = place.vectors.find_same(space, ["p"])
        add(place.index, replace(twin, content="changed meanwhile"))
        place.vectors.copy_same(space, same)
        assert place.vectors.find_missing(space, 10) == ["p"]
        add(place.index, twin)
        place.remove([known])
        place.vectors.copy_same(space, same)
        assert place.vectors.find_missing(space, 10) == ["p"]

    def test_all_vectors_can_be_read_and_stored_again(self, place: Place) -> None:
        memories, vectors = numbered(7), clustered(14)
        space = place.fill(memories[:6], vectors[:12])
        add(place.index, memories[6])  # not embedded yet
        batches = list(place.vectors.read_all(space, 4))
        assert [len(batch) for batch in batches] == [4, 2]
        read = {one.memory_id: one for batch in batches for one in batch}
        assert set(read) == {memory.id for memory in memories[:6]}
        for at, memory in enumerate(memories[:6]):
            expected = embedded(memory, vectors[2 * at : 2 * at + 2])
            one = read[memory.id]
            assert (one.source, one.identity, one.pieces) == (
                expected.source, expected.identity, expected.pieces,
            )  # fmt: skip
            assert np.allclose(one.vectors, expected.vectors, atol=1e-3)
        before = place.nearest(vectors[3], 6)
        place.vectors.add(list(read.values()))
        after = place.nearest(vectors[3], 6)
        assert [hit.memory_id for hit in after] == [hit.memory_id for hit in before]
        assert np.allclose([hit.score for hit in after], [hit.score for hit in before], atol=1e-6)
