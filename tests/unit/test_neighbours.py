"""Texts are scored with their neighbours, by lists and by arrays alike."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.ports import Candidate, Term, WordCounts
from muisti.recall import columns, neighbours
from muisti.recall.columns import ArrayColumns, ListColumns
from muisti.recall.neighbours import Neighbourhood

TERMS = [Term("rice", 2.0), Term("bean", 1.5, ("beans", "beanbag"))]


def a_candidate(number: int, total: int, session: str | None) -> Candidate:
    before = tuple(str(one) for one in (number - 1, number - 2) if session and one >= 0)
    after = tuple(str(one) for one in (number + 1, number + 2) if session and one < total)
    return Candidate(
        str(number), 0.0, None, None, 0.5, 1.0, "", "", session, "memory", "", before, after
    )


@st.composite
def neighbourhoods(draw: st.DrawFn) -> tuple[dict[str, Candidate], list[str], WordCounts]:
    total = draw(st.integers(1, 8))
    count = draw(st.integers(1, total))
    session = draw(st.sampled_from([None, "s"]))
    candidates = {str(n): a_candidate(n, total, session) for n in range(count)}
    ids = [str(n) for n in range(total)]
    lengths = draw(st.lists(st.integers(-1, 60), min_size=total, max_size=total))
    indexed = [place for place, length in enumerate(lengths) if length > 0]
    counts: dict[str, dict[int, float]] = {}
    for word in ("rice", "bean", "beans"):
        places = draw(st.lists(st.sampled_from(indexed), unique=True)) if indexed else []
        counts[word] = {place: float(draw(st.integers(1, 9))) for place in places}
    return candidates, ids, WordCounts(lengths, counts)


@given(neighbourhoods(), st.dictionaries(st.sampled_from("01234567"), st.floats(-1, 1)))
def test_lists_and_arrays_give_the_same_scores(
    given_texts: tuple[dict[str, Candidate], list[str], WordCounts], cosines: dict[str, float]
) -> None:
    found = []
    for make in (ListColumns, ArrayColumns):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neighbours, "choose_columns", make)
            around = Neighbourhood(*given_texts)
            found.append((*around.score_words(TERMS), around.score_vectors(cosines)))
    for by_lists, by_arrays in zip(*found, strict=True):
        assert by_lists == pytest.approx(by_arrays, rel=1e-12, abs=1e-12)


def score(*lengths: int, words: dict[str, dict[int, float]]) -> dict[str, float]:
    candidates = {str(n): a_candidate(n, len(lengths), "s") for n in range(len(lengths))}
    around = Neighbourhood(candidates, list(candidates), WordCounts(lengths, words))
    return around.score_words(TERMS)[0]


def test_a_short_text_has_the_words_of_its_neighbours() -> None:
    scores = score(5, 5, 5, 5, words={"rice": {0: 1.0}})
    assert scores["0"] > scores["1"] > 0
    assert scores["2"] > 0
    assert scores["3"] == 0


def test_a_long_text_uses_its_neighbours_less() -> None:
    short, long = score(5, 5, words={"rice": {0: 1.0}}), score(5, 500, words={"rice": {0: 1.0}})
    assert 0 < long["1"] < short["1"]


def test_a_missing_neighbour_ends_its_side() -> None:
    assert score(5, -1, 5, words={"rice": {0: 1.0}})["2"] == 0


def test_an_alternative_counts_less_and_only_without_the_word() -> None:
    own, other = score(5, words={"bean": {0: 1.0}})["0"], score(5, words={"beans": {0: 1.0}})["0"]
    both = score(5, words={"bean": {0: 1.0}, "beans": {0: 3.0}})["0"]
    assert 0 < other < own == both


def test_numpy_is_not_imported_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    assert type(columns.choose_columns()) is ListColumns
