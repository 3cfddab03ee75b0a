"""Reciprocal rank fusion, with the cases of spec 2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.recall.fuse import reciprocal_rank_fusion

RANKING = st.lists(st.sampled_from("abcdefghij"), unique=True)


def test_rrf_combines_vector_and_fts_results() -> None:
    assert set(reciprocal_rank_fusion(["a", "b"], ["c", "d"])) == {"a", "b", "c", "d"}


def test_document_in_both_results_gets_higher_score() -> None:
    fused = reciprocal_rank_fusion(["a", "x", "both"], ["b", "y", "both"])
    assert next(iter(fused)) == "both"
    assert fused["both"] == pytest.approx(2 / 63)


def test_top_k_is_respected() -> None:
    vector, words = [f"v{n}" for n in range(20)], [f"w{n}" for n in range(20)]
    assert list(reciprocal_rank_fusion(vector, words, top_k=3)) == ["v0", "w0", "v1"]
    assert len(reciprocal_rank_fusion(vector, words, top_k=10)) == 10
    assert len(reciprocal_rank_fusion(vector, words)) == 40


def test_k_is_60_unless_given() -> None:
    assert reciprocal_rank_fusion(["a"], []) == {"a": 1 / 61}
    assert reciprocal_rank_fusion(["a"], [], k=0) == {"a": 1.0}
    # With a small k the first place of one list is worth more than two middle places.
    vector, words = ["first", "v2", "both"], ["w1", "w2", "both"]
    assert next(iter(reciprocal_rank_fusion(vector, words, k=60))) == "both"
    assert next(iter(reciprocal_rank_fusion(vector, words, k=0))) == "first"


def test_one_empty_list_leaves_the_other_as_it_is() -> None:
    assert list(reciprocal_rank_fusion([], ["a", "b", "c"])) == ["a", "b", "c"]
    assert list(reciprocal_rank_fusion(["a", "b", "c"], [])) == ["a", "b", "c"]
    assert reciprocal_rank_fusion([], []) == {}


def test_an_id_counts_once_in_a_list() -> None:
    assert reciprocal_rank_fusion(["a", "a", "b"]) == {"a": 1 / 61, "b": 1 / 62}


@given(RANKING, RANKING, st.integers(0, 100))
def test_the_score_is_the_formula(vector: list[str], words: list[str], k: int) -> None:
    fused = reciprocal_rank_fusion(vector, words, k=k)
    assert set(fused) == {*vector, *words}
    assert list(fused.values()) == sorted(fused.values(), reverse=True)
    for id_, score in fused.items():
        places = [ranking.index(id_) for ranking in (vector, words) if id_ in ranking]
        assert score == pytest.approx(sum(1 / (k + place + 1) for place in places))
