"""Texts are scored with their neighbours, by lists and by arrays alike."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.ports import Term
from muisti.ports.columns import CandidateTable, Column
from muisti.recall import columns
from muisti.recall.columns import ArrayColumns, ListColumns
from muisti.recall.neighbours import Neighbourhood

TERMS = [Term("rice", 2.0), Term("bean", 1.5, ("beans", "beanbag"))]
NAN = float("nan")
MAKERS = (ListColumns(), ArrayColumns())


def a_table(
    make: ListColumns,
    count: int,
    lengths: list[int],
    words: dict[str, dict[int, float]],
    *,
    in_session: bool = True,
) -> CandidateTable:
    """The texts of one session, or each by itself; the first `count` are candidates."""
    total = len(lengths)
    sides: Column = ()
    if in_session:
        steps = [[n + step for n in range(count)] for step in (-1, -2, 1, 2)]
        sides = make.index([[at if 0 <= at < total else total for at in row] for row in steps])
    zeros = make.make([0.0] * count)
    return CandidateTable(
        keys=list(range(count)),
        lengths=make.make([*lengths, -1]),
        bodies=make.make([*lengths, -1]),
        counts={word: make.fill(total + 1, at) for word, at in words.items()},
        sides=sides,
        created_at=zeros,
        about_at=zeros,
        messages=zeros,
        allowed=None,
        sessions=make.index([0] * count if in_session else range(count)),
        session_count=1 if in_session else count,
        speakers=[""],
        speaker=make.index([0] * count),
    )


@st.composite
def neighbourhoods(draw: st.DrawFn) -> tuple[int, list[int], dict[str, dict[int, float]], bool]:
    total = draw(st.integers(1, 8))
    count = draw(st.integers(1, total))
    lengths = draw(st.lists(st.integers(-1, 60), min_size=total, max_size=total))
    indexed = [place for place, length in enumerate(lengths) if length > 0]
    counts: dict[str, dict[int, float]] = {}
    for word in ("rice", "bean", "beans"):
        places = draw(st.lists(st.sampled_from(indexed), unique=True)) if indexed else []
        if places:
            counts[word] = {place: float(draw(st.integers(1, 9))) for place in places}
    return count, lengths, counts, draw(st.booleans())


@given(neighbourhoods(), st.lists(st.one_of(st.just(NAN), st.floats(-1, 1)), min_size=8))
def test_lists_and_arrays_give_the_same_scores(
    texts: tuple[int, list[int], dict[str, dict[int, float]], bool], cosines: list[float]
) -> None:
    count, lengths, words, in_session = texts
    found = []
    for make in MAKERS:
        around = Neighbourhood(a_table(make, count, lengths, words, in_session=in_session), make)
        near = make.make([*cosines[: len(lengths)], NAN])
        scores = (
            *around.score_words(TERMS),
            around.score_vectors(near),
            around.score_sessions_by_vectors(near),
        )
        found.append([[] if column is None else column.tolist() for column in scores])
    for by_lists, by_arrays in zip(*found, strict=True):
        assert by_lists == pytest.approx(by_arrays, rel=1e-12, abs=1e-12, nan_ok=True)


def score(*lengths: int, words: dict[str, dict[int, float]]) -> list[float]:
    table = a_table(MAKERS[0], len(lengths), list(lengths), words)
    scores = Neighbourhood(table, MAKERS[0]).score_words(TERMS)[0]
    return [] if scores is None else list(scores.tolist())


def test_a_short_text_has_the_words_of_its_neighbours() -> None:
    scores = score(5, 5, 5, 5, words={"rice": {0: 1.0}})
    assert scores[0] > scores[1] > 0
    assert scores[2] > 0
    assert scores[3] == 0


def test_a_long_text_uses_its_neighbours_less() -> None:
    short, long = score(5, 5, words={"rice": {0: 1.0}}), score(5, 500, words={"rice": {0: 1.0}})
    assert 0 < long[1] < short[1]


def test_a_missing_neighbour_ends_its_side() -> None:
    assert score(5, -1, 5, words={"rice": {0: 1.0}})[2] == 0


def test_an_alternative_counts_less_and_only_without_the_word() -> None:
    own, other = score(5, words={"bean": {0: 1.0}})[0], score(5, words={"beans": {0: 1.0}})[0]
    both = score(5, words={"bean": {0: 1.0}, "beans": {0: 3.0}})[0]
    assert 0 < other < own == both


def test_numpy_is_not_imported_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    assert type(columns.choose_columns()) is ListColumns
