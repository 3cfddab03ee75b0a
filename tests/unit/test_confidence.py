"""From evidence to a probability."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.ports import Words
from muisti.recall.confidence import (
    FIRST,
    HYBRID,
    VECTOR,
    WORDS,
    choose_constants,
    describe_answer,
    describe_topic,
    estimate,
)
from muisti.recall.evidence import (
    PASSAGE,
    UNKNOWN_BACKGROUND,
    Evidence,
    choose_background,
    match_passage,
)
from muisti.recall.features import RankingInputs
from muisti.recall.query import ParsedQuery
from muisti.recall.retrieve import QueryEmbedding, Retrieval
from muisti.recall.word_weights import LEAST, PAIR, weigh_word
from tests.unit.making import NOON

SHARE = st.floats(0, 1)
EVIDENCE = st.builds(
    Evidence,
    nearness=st.none() | SHARE,
    share=SHARE,
    share_around=SHARE,
    matched=st.floats(0, 50),
    is_speaker=st.booleans(),
    nearer_neighbour=st.floats(-1, 1),
    is_turn=st.booleans(),
    length=st.integers(0, 5000),
)
LISTS = st.lists(EVIDENCE, max_size=40)
CONSTANTS = pytest.mark.parametrize("constants", [HYBRID, WORDS, VECTOR])


def evidence(**changes: object) -> Evidence:
    alone = Evidence(None, 0.0, 0.0, 0.0, False, 0.0, False, 8)
    return alone._replace(**changes)


def answered(**changes: object) -> Evidence:
    all_matched = {"nearness": 0.6, "share": 1.0, "share_around": 1.0, "matched": 2.0}
    return evidence(**{**all_matched, **changes})


@CONSTANTS
@given(LISTS)
def test_a_score_is_a_probability_and_never_rises_down_the_list(constants, hits) -> None:  # type: ignore[no-untyped-def]
    scores = estimate(hits, constants)
    assert len(scores) == len(hits)
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@CONSTANTS
@given(LISTS, st.integers(0, 30))
def test_a_score_does_not_depend_on_how_many_follow(constants, hits, more) -> None:  # type: ignore[no-untyped-def]
    shorter = hits[: FIRST + more]
    assert estimate(hits, constants)[: len(shorter)] == estimate(shorter, constants)


@CONSTANTS
def test_more_evidence_makes_a_higher_score(constants) -> None:  # type: ignore[no-untyped-def]
    other = evidence(nearness=0.05)
    little = {"nearness": 0.2, "share": 0.4, "share_around": 0.4, "matched": 1.5}
    (good, _) = estimate([answered(), other], constants)
    (poor, _) = estimate([answered(**little), other], constants)
    (none, _) = estimate([evidence(nearness=0.2), other], constants)
    assert good > 0.7 > poor > none
    assert none < constants.floor


@CONSTANTS
def test_a_rival_that_is_as_good_lowers_the_score(constants) -> None:  # type: ignore[no-untyped-def]
    alone = estimate([answered()], constants)[0]
    crowd = estimate([answered()] * 10, constants)[0]
    assert alone > crowd


def test_without_vectors_the_constants_of_words_are_used() -> None:
    without = [evidence()] * 3
    assert choose_constants("hybrid", without) is WORDS
    assert choose_constants("vector", []) is WORDS
    assert choose_constants("hybrid", [*without, evidence(nearness=0.1)]) is HYBRID
    assert choose_constants("vector", [evidence(nearness=0.1)]) is VECTOR
    assert all(weights[6] == weights[8] == 0 for weights in (WORDS.first, WORDS.further))
    assert WORDS.topic[1] == 0


def test_every_number_has_a_weight() -> None:
    for constants in (HYBRID, WORDS, VECTOR):
        assert len(constants.topic) == len(describe_topic([]))
        assert len(constants.first) == len(constants.further)
        assert len(constants.first) == len(describe_answer([answered()], 0))


def test_an_unknown_background_is_guessed() -> None:
    assert choose_background(-1.0) == UNKNOWN_BACKGROUND
    assert choose_background(0.15) == 0.15


@pytest.mark.parametrize(
    ("word", "weight"), [("first", LEAST), ("zzz", 1.0), ("peanut", 1.0), ("数据", PAIR)]
)
def test_words_have_fixed_weights(word: str, weight: float) -> None:
    assert weigh_word(word) == pytest.approx(weight)


def test_a_common_word_weighs_less_than_a_rare_one() -> None:
    assert weigh_word("first") < weigh_word("music") < weigh_word("narwhal")


def match(body: str, title: str = "") -> dict[str, float]:
    """Return what a text matches of the words `alpha` and `beta`."""
    texts = {"1": Words(title, "", body)}
    retrieval = Retrieval(QueryEmbedding(), {}, {}, {}, texts=texts)
    query = ParsedQuery("alpha beta", "keyword", words=["alpha", "beta"])
    return match_passage(RankingInputs(query, retrieval, NOON), "1")


def test_words_count_together_only_within_a_passage() -> None:
    both = {"alpha": 1.0, "beta": 1.0}
    assert match("alpha beta") == both
    assert match("alpha " + "x " * (PASSAGE // 2 - 2) + "beta") == both
    assert len(match("alpha " + "x " * 2 * PASSAGE + "beta")) == 1
    assert match("x " * 2 * PASSAGE + "beta", title="alpha") == both
    assert match("") == {}
