"""The suite of the port `VectorIndex`: find nearly all of the nearest, filter inside, follow the
memories, never mix models.
"""

from __future__ import annotations  # noqa: I001 (one line of names below in place of thirteen)

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from muisti.errors import EmbedderMisbehaved
from muisti.model import Filter, Tier
from muisti.ports import Identity
from tests.contract.making import add, filed
from tests.contract.vectors_making import (
    FIRST, OFF, OTHER_SIZE, RARE, RECALL, SAME_SIZE, Place, clustered, embedded, numbered, questions, recall, unit
)  # fmt: skip
from tests.contract.vectors_same_suite import SameTextContract
from tests.unit.making import NOON


class VectorsContract(SameTextContract):
    """Subclasses give a fixture `place`, which finds nothing wrong with the index after each test."""

    # -- Finding

    def test_nothing_in_it(self, place: Place) -> None:
        assert place.vectors.spaces() == []
        space = place.vectors.prepare(FIRST)
        assert (space.identity, space.serving, space.missing) == (FIRST, True, 0)
        assert place.nearest(clustered(1)[0]) == []
        assert place.vectors.compute_similarities(space, clustered(1)[0], ["nobody"]) == {}
        assert place.vectors.get_vector(space, "nobody") is None

    def test_the_nearest_of_few_are_exact(self, place: Place) -> None:
        memories, vectors = numbered(60), clustered(60)
        place.fill(memories, vectors)
        for query in questions(vectors, 10):
            hits = place.nearest(query, 100)
            true = {
                memory.id: float(vector @ query)
                for memory, vector in zip(memories, vectors, strict=True)
            }
            assert {hit.memory_id for hit in hits} == set(true)
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            assert all(abs(hit.score - true[hit.memory_id]) < OFF for hit in hits)
            assert place.nearest(query, 7) == hits[:7]

    def test_equal_vectors_come_in_one_order(self, place: Place) -> None:
        place.fill(numbered(12), np.repeat(clustered(1), 12, axis=0))
        assert place.ids(clustered(1)[0], 12) == [memory.id for memory in numbered(12)]

    def test_a_cosine_is_never_above_one(self, place: Place) -> None:
        vectors = clustered(300)
        place.fill(numbered(300), vectors)
        assert max(place.nearest(vector, 1)[0].score for vector in vectors) <= 1

    def test_nearly_all_of_the_nearest_are_found_however_many_there_are(self, place: Place) -> None:
        """The centre of the signs is found at 1,024 vectors and again at 4,096; full blocks of
        4,096 are sealed.
        """
        memories, vectors = numbered(2100), clustered(4200)
        before = 0
        for count in (500, 515, 2045, 2100):
            place.fill(memories[before:count], vectors[2 * before : 2 * count])
            assert recall(place, memories[:count], vectors[: 2 * count]) >= RECALL
            before = count

    def test_removed_from_among_many(self, place: Place) -> None:
        memories, vectors = numbered(900), clustered(4500)
        place.fill(memories, vectors)
        assert recall(place, memories, vectors) >= RECALL
        place.remove(memories[100:103])
        place.remove(memories[:100:3])
        left = [at for at in range(900) if not (100 <= at < 103 or (at < 100 and at % 3 == 0))]
        for place_ in (
            place,
            place.again(),
        ):  # one that has the removed in memory, one that reads anew
            assert (
                recall(
                    place_,
                    [memories[at] for at in left],
                    vectors.reshape(900, 5, -1)[left].reshape(-1, 64),
                )
                >= RECALL
            )
            assert memories[100].id not in place_.ids(vectors[500], 50)

    def test_most_are_removed(self, place: Place) -> None:
        memories, vectors = numbered(1500), clustered(1500)
        place.fill(memories, vectors)
        assert len(place.ids(vectors[0])) == 10
        near = np.argsort(-(vectors @ vectors[0]))
        place.remove([memories[at] for at in near[:900]])
        assert set(place.ids(vectors[0], 10)) & {memories[at].id for at in near[900:950]}
        assert len(place.ids(vectors[0], 10)) == 10
        place.remove([memories[at] for at in near[900:1495]])
        assert set(place.ids(vectors[0], 10)) == {memories[at].id for at in near[1495:]}

    def test_a_memory_is_found_by_its_nearest_piece(self, place: Place) -> None:
        vectors = clustered(90)
        place.fill(numbered(30), vectors)
        for at in (0, 1, 2, 47, 89):
            best = place.nearest(vectors[at], 30)
            assert len({hit.memory_id for hit in best}) == 30
            assert best[0].memory_id == numbered(30)[at // 3].id
            assert (best[0].start, best[0].end) == (10 * (at % 3), 10 * (at % 3) + 9)
            assert best[0].score > 1 - OFF

    def test_a_long_memory_does_not_crowd_out_the_others(self, place: Place) -> None:
        long, *others = numbered(31)
        query = clustered(1)
        place.fill([long], unit(query + 0.01 * np.random.default_rng(3).normal(size=(900, 64))))
        place.fill(others, clustered(30, seed=5))
        assert len(place.ids(query[0], 10)) == 10

    def test_a_question_of_another_length(self, place: Place) -> None:
        space = place.fill(numbered(3), clustered(3))
        for wrong in (clustered(1, 32)[0], clustered(1, 65)[0], clustered(2)):
            with pytest.raises(EmbedderMisbehaved, match="reindex --vectors"):
                place.vectors.find_nearest(space, wrong, Filter(), 5)
            with pytest.raises(EmbedderMisbehaved, match="reindex --vectors"):
                place.vectors.compute_similarities(space, wrong, [numbered(1)[0].id])

    # -- Filters inside

    def test_filters_that_let_one_in_a_hundred_through(self, place: Place) -> None:
        vectors = clustered(2000)
        memories = [
            filed(
                n,
                f"text {n}",
                **{"project": "app", **(RARE[n % 100][0] if n % 100 in RARE else {})},
            )
            for n in range(2000)
        ]
        place.fill(memories, vectors)
        for rest, (_, where) in RARE.items():
            for query in questions(vectors, 4):
                hits = place.nearest(query, 10, where)
                true = {
                    memories[at].id: float(vectors[at] @ query) for at in range(rest, 2000, 100)
                }
                assert len(hits) == 10, where
                assert {hit.memory_id for hit in hits} <= set(true), where
                best = sorted(true.values(), reverse=True)[:10]
                assert all(
                    abs(hit.score - score) < OFF for hit, score in zip(hits, best, strict=True)
                ), where
            assert len(place.nearest(vectors[0], 50, where)) == 20, where

    def test_a_filter_that_lets_half_through(self, place: Place) -> None:
        """And the nearest of all are in the other half."""
        vectors = clustered(2000)
        cosines = vectors @ vectors[0]
        middle = np.median(cosines)
        memories = [
            filed(n + 1, f"text {n}", kind="fact" if cosines[n] >= middle else "decision")
            for n in range(2000)
        ]
        place.fill(memories, vectors)
        hits = place.nearest(vectors[0], 10, Filter(kinds=("decision",)))
        assert len(hits) == 10
        assert all(
            middle - 0.1 < hit.score < middle + OFF for hit in hits
        )  # far away, 64 signs tell little apart

    def test_what_others_may_not_see_is_not_found(self, place: Place) -> None:
        mine = filed(1, "mine", tier=Tier.SESSION, session_id="me")
        gone = filed(2, "gone", deleted_at=NOON)
        vectors = clustered(2)
        place.fill([mine, gone], vectors)
        assert place.nearest(vectors[0]) == []
        assert place.nearest(vectors[0], where=Filter(session_id="you")) == []
        assert [
            hit.memory_id for hit in place.nearest(vectors[0], where=Filter(session_id="me"))
        ] == [mine.id]
        assert [
            hit.memory_id for hit in place.nearest(vectors[1], where=Filter(include_deleted=True))
        ] == [gone.id]

    # -- Reading

    def test_similarities(self, place: Place) -> None:
        memories, vectors = numbered(10), clustered(20)
        space = place.fill(memories, vectors)
        query = clustered(1, seed=9)[0]
        found = place.vectors.compute_similarities(
            space, query, [memories[3].id, "nobody", memories[7].id]
        )
        assert set(found) == {memories[3].id, memories[7].id}
        assert found[memories[3].id] == pytest.approx(float((vectors[6:8] @ query).max()), abs=OFF)
        assert place.vectors.compute_similarities(space, query, []) == {}
        assert (
            place.vectors.compute_similarities(space, -vectors[0], [memories[0].id])[memories[0].id]
            >= -1
        )

    def test_what_a_memory_means_as_a_whole(self, place: Place) -> None:
        memories, vectors = numbered(2), clustered(6)
        space = place.fill(memories, vectors)
        mean = vectors[:3].mean(axis=0)
        found = place.vectors.get_vector(space, memories[0].id)
        assert found is not None
        assert found.dtype == np.float32
        assert float(np.linalg.norm(found)) == pytest.approx(1, abs=1e-5)
        assert float(found @ mean / np.linalg.norm(mean)) == pytest.approx(1, abs=OFF)

    def test_those_that_wait(self, place: Place) -> None:
        memories = numbered(5)
        space = place.vectors.prepare(FIRST)
        add(place.index, *memories)
        assert place.vectors.find_missing(space, 3) == [memory.id for memory in memories[:3]]
        assert place.space().missing == 5
        place.embed(memories[1], clustered(2))
        assert place.vectors.find_missing(space, 10) == [memories[at].id for at in (0, 2, 3, 4)]
        assert place.vectors.get_vector(space, memories[0].id) is None
        assert place.ids(clustered(1)[0]) == [memories[1].id]

    def test_a_memory_without_pieces_waits_no_longer(self, place: Place) -> None:
        place.vectors.prepare(FIRST)
        add(place.index, numbered(1)[0])
        place.embed(numbered(1)[0], np.zeros((0, 64), np.float32))
        assert place.space().missing == 0
        assert place.nearest(clustered(1)[0]) == []

    def test_a_long_text_is_stored_in_parts(self, place: Place) -> None:
        memory, other = numbered(2)
        vectors = clustered(9)
        space = place.vectors.prepare(FIRST)
        add(place.index, memory, other)
        whole = embedded(memory, vectors)

        def store(first: int, end: int) -> tuple[int, list[str]]:
            pieces = {"pieces": whole.pieces[first:end], "vectors": vectors[first:end]}
            place.vectors.add([replace(whole, **pieces, first=first, complete=end == 9)])
            stored = place.vectors.count_pieces(space, [memory.id, other.id])
            return stored.get(memory.id, 0), place.vectors.find_missing(space, 10)

        both = [memory.id, other.id]
        assert store(3, 6) == (0, both), "it does not begin with the first"
        assert store(0, 3) == (3, both)
        assert store(3, 6) == (6, both)
        assert store(3, 6) == (6, both), "of another process"
        assert store(0, 3) == (3, both), "another process begins again"
        assert store(6, 9) == (3, both), "a gap"
        assert store(3, 6) == (6, both)
        assert store(6, 9) == (9, [other.id])
        assert store(0, 3) == (9, [other.id]), "late"
        assert [place.nearest(vector, 1)[0].start for vector in vectors] == [
            piece.start for piece in whole.pieces
        ]

    def test_another_text_loses_its_parts(self, place: Place) -> None:
        (memory,) = numbered(1)
        space = place.vectors.prepare(FIRST)
        add(place.index, memory)
        part = replace(embedded(memory, clustered(3)), complete=False)
        place.vectors.add([part])
        add(place.index, replace(memory, content="another text"))
        assert place.vectors.count_pieces(space, [memory.id]) == {}
        place.vectors.add([part])
        assert place.vectors.count_pieces(space, [memory.id]) == {}
        assert place.vectors.find_missing(space, 10) == [memory.id]

    def test_a_removed_text_and_a_rebuilt_index_lose_the_parts(self, place: Place) -> None:
        memories = numbered(2)
        space = place.vectors.prepare(FIRST)
        add(place.index, *memories)
        parts = [replace(embedded(memory, clustered(3)), complete=False) for memory in memories]
        place.vectors.add(parts)
        place.remove(memories[:1])
        add(place.index, memories[0])
        assert place.vectors.count_pieces(space, [memories[0].id]) == {}
        place.rebuild(memories)
        assert place.vectors.count_pieces(place.space(), [memories[1].id]) == {}
        assert place.space().missing == 2

    # -- Following the memories

    def test_another_text_loses_the_vectors(self, place: Place) -> None:
        memories, vectors = numbered(3), clustered(6)
        space = place.fill(memories, vectors)
        add(place.index, replace(memories[0], content="another text"))
        assert place.vectors.find_missing(space, 10) == [memories[0].id]
        assert memories[0].id not in place.ids(vectors[0])
        assert place.vectors.get_vector(space, memories[0].id) is None

    def test_the_same_text_keeps_them(self, place: Place) -> None:
        memories, vectors = numbered(3), clustered(6)
        space = place.fill(memories, vectors)
        before = place.nearest(vectors[0])
        add(place.index, replace(memories[0], kind="decision", file_path="notes/moved.md"))
        assert place.nearest(vectors[0]) == before
        assert place.vectors.find_missing(space, 10) == []
        assert [
            hit.memory_id for hit in place.nearest(vectors[0], where=Filter(kinds=("decision",)))
        ] == [memories[0].id]

    def test_vectors_of_an_earlier_text_are_not_kept(self, place: Place) -> None:
        (memory,) = numbered(1)
        space = place.vectors.prepare(FIRST)
        late = embedded(memory, clustered(1))
        add(place.index, replace(memory, content="changed meanwhile"))
        place.vectors.add([late])
        assert place.vectors.find_missing(space, 10) == [memory.id]
        assert place.nearest(clustered(1)[0]) == []

    def test_vectors_of_nobody_and_of_no_model_are_not_kept(self, place: Place) -> None:
        (memory,) = numbered(1)
        place.vectors.prepare(FIRST)
        place.embed(memory, clustered(1))
        add(place.index, memory)
        place.embed(memory, clustered(1), SAME_SIZE)
        assert place.nearest(clustered(1)[0]) == []
        assert place.space().missing == 1

    def test_embedded_once_more(self, place: Place) -> None:
        memories, vectors = numbered(2), clustered(6)
        place.fill(memories, vectors)
        place.embed(memories[0], vectors[5:6])
        hit = place.nearest(vectors[5], 1)[0]
        assert (
            place.vectors.compute_similarities(place.space(), vectors[0], [memories[0].id])[
                memories[0].id
            ]
            < 1 - OFF
        )
        assert hit.score > 1 - OFF

    def test_removed_and_back(self, place: Place) -> None:
        memories, vectors = numbered(3), clustered(3)
        space = place.fill(memories, vectors)
        place.remove(memories[:1])
        assert memories[0].id not in place.ids(vectors[0])
        assert place.vectors.find_missing(space, 10) == []
        add(place.index, memories[0])
        assert place.vectors.find_missing(space, 10) == [memories[0].id]
        place.remove(memories[:1])
        assert place.vectors.find_missing(space, 10) == []

    def test_another_process_is_seen_at_once(self, place: Place) -> None:
        memories, vectors = numbered(1200), clustered(1200)
        place.fill(memories[:600], vectors[:600])
        other = place.again()
        for one in (place, other):
            assert one.ids(vectors[0], 1) == [memories[0].id]
        other.fill(memories[600:], vectors[600:])
        assert place.ids(vectors[900], 1) == [memories[900].id]
        place.remove(memories[900:901])
        assert memories[900].id not in other.ids(vectors[900], 20)
        add(other.index, memories[900])
        place.embed(memories[900], vectors[900:901])
        assert other.ids(vectors[900], 1) == [memories[900].id]
        assert recall(place, memories, vectors) >= RECALL
        assert recall(other, memories, vectors) >= RECALL

    def test_searches_beside_changes(self, place: Place) -> None:
        memories, vectors = numbered(1400), clustered(1400)
        place.fill(memories[:500], vectors[:500])
        done = threading.Event()

        def search(seed: int) -> int:
            count = 0
            while not done.is_set() or not count:
                assert len(place.ids(vectors[(seed * 97 + count) % 500], 5)) == 5
                count += 1
            return count

        with ThreadPoolExecutor(3) as pool:
            searching = [pool.submit(search, seed) for seed in range(3)]
            try:
                for start in range(500, 1400, 100):
                    place.fill(memories[start : start + 100], vectors[start : start + 100])
                    place.remove(memories[start : start + 30])
            finally:
                done.set()
            assert all(one.result() for one in searching)

    # -- Another model

    @pytest.mark.parametrize("new", [SAME_SIZE, OTHER_SIZE], ids=["same size", "other size"])
    def test_a_new_model_takes_over_when_it_is_complete(self, place: Place, new: Identity) -> None:
        memories, old = numbered(20), clustered(20)
        fresh = clustered(20, new.dimensions, seed=7)
        place.fill(memories, old)
        space = place.vectors.prepare(new)
        assert (space.serving, space.missing) == (False, 20)
        assert [one.identity for one in place.vectors.spaces()] == [FIRST, new]
        for at in range(19):
            place.embed(memories[at], fresh[at : at + 1], new)
            assert place.space().serving
        assert place.ids(old[19], 1) == [memories[19].id]
        assert place.ids(fresh[3], 1, new) == [memories[3].id]
        assert len(place.ids(fresh[3], 20, new)) == 19
        place.embed(memories[19], fresh[19:], new)
        assert [(one.identity, one.serving, one.missing) for one in place.vectors.spaces()] == [
            (new, True, 0)
        ]
        assert place.ids(fresh[19], 1, new) == [memories[19].id]
        assert all(
            hit.score > 1 - OFF
            for at in range(20)
            for hit in place.nearest(fresh[at], 1, identity=new)
        )
        assert place.vectors.prepare(new) == place.space(new)

    def test_two_models_do_not_mix(self, place: Place) -> None:
        """Many of both, so that they are found by the quick way."""
        memories, old, fresh = numbered(700), clustered(700), clustered(700, seed=7)
        place.fill(memories, old)
        place.vectors.prepare(SAME_SIZE)
        swapped = [
            embedded(memory, fresh[at : at + 1], SAME_SIZE)
            for at, memory in enumerate(memories[:-1])
        ]
        place.vectors.add(swapped)
        for _ in range(2):
            assert recall(place, memories, old) >= RECALL
            assert recall(place, memories[:-1], fresh[:-1], SAME_SIZE) >= RECALL
        place.embed(memories[-1], fresh[-1:], SAME_SIZE)
        assert recall(place, memories, fresh, SAME_SIZE) >= RECALL

    def test_changes_while_a_model_is_being_changed(self, place: Place) -> None:
        memories, old, fresh = numbered(4), clustered(4), clustered(4, 32)
        place.fill(memories[:3], old[:3])
        space = place.vectors.prepare(OTHER_SIZE)
        place.embed(memories[0], fresh[:1], OTHER_SIZE)
        add(place.index, replace(memories[0], content="other"), memories[3])
        assert place.vectors.find_missing(space, 10) == [memory.id for memory in memories]
        assert place.vectors.find_missing(place.space(), 10) == [memories[0].id, memories[3].id]

    def test_a_third_model_takes_the_place_of_the_second(self, place: Place) -> None:
        memories, old, fresh = numbered(3), clustered(3), clustered(3, 32)
        place.fill(memories, old)
        place.vectors.prepare(SAME_SIZE)
        place.embed(memories[0], clustered(1, seed=4), SAME_SIZE)
        place.vectors.prepare(OTHER_SIZE)
        assert [one.identity for one in place.vectors.spaces()] == [FIRST, OTHER_SIZE]
        place.embed(memories[1], clustered(1, seed=4), SAME_SIZE)
        assert place.ids(old[0], 1) == [memories[0].id]
        for at in range(3):
            place.embed(memories[at], fresh[at : at + 1], OTHER_SIZE)
        assert [one.identity for one in place.vectors.spaces()] == [OTHER_SIZE]

    def test_a_model_takes_over_when_the_last_that_waited_is_removed(self, place: Place) -> None:
        memories = numbered(3)
        place.fill(memories, clustered(3))
        place.vectors.prepare(OTHER_SIZE)
        for at in range(2):
            place.embed(memories[at], clustered(1, 32), OTHER_SIZE)
        place.remove(memories[2:])
        assert [(one.identity, one.serving) for one in place.vectors.spaces()] == [
            (OTHER_SIZE, True)
        ]

    def test_a_new_model_where_there_is_nothing_to_embed(self, place: Place) -> None:
        place.vectors.prepare(FIRST)
        assert place.vectors.prepare(OTHER_SIZE).serving

    def test_back_to_the_model_that_serves(self, place: Place) -> None:
        """What was begun for the other must not take over behind its back."""
        memories = numbered(3)
        place.fill(memories, clustered(3))
        place.vectors.prepare(OTHER_SIZE)
        assert place.vectors.prepare(FIRST).serving
        assert [one.identity for one in place.vectors.spaces()] == [FIRST]

    # -- Building the index anew

    def test_a_rebuilt_index_keeps_the_vectors_of_unchanged_texts(self, place: Place) -> None:
        memories, vectors = numbered(1100), clustered(1100)
        place.fill(memories, vectors)
        assert place.ids(vectors[700], 1) == [memories[700].id]
        changed = [*memories[2:], replace(memories[0], content="changed"), filed(5000, "new")]
        place.rebuild(changed[::-1])
        assert set(place.vectors.find_missing(place.space(), 10)) == {
            memories[0].id,
            filed(5000, "new").id,
        }
        assert recall(place, memories[2:], vectors[2:]) >= RECALL
        place.embed(filed(5000, "new"), clustered(1, seed=8))
        assert place.ids(clustered(1, seed=8)[0], 1) == [filed(5000, "new").id]

    def test_a_rebuilt_index_goes_on_with_both_models(self, place: Place) -> None:
        memories = numbered(4)
        place.fill(memories, clustered(4))
        place.vectors.prepare(OTHER_SIZE)
        place.embed(memories[0], clustered(1, 32), OTHER_SIZE)
        place.rebuild(memories)
        assert [(one.identity, one.missing) for one in place.vectors.spaces()] == [
            (FIRST, 0),
            (OTHER_SIZE, 3),
        ]
        assert place.ids(clustered(1, 32)[0], 1, OTHER_SIZE) == [memories[0].id]
