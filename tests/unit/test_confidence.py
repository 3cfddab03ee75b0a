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
    Constants,
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
    find_capitalised,
    find_forms,
    find_pairs,
    find_words,
    match_passage,
    rate_names,
    space_forms,
    weigh_pairs,
)
from muisti.recall.word_weights import LEAST, PAIR, weigh_word
from muisti.text.stop_words import is_phrase

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
    pairs=st.floats(0, 50),
    names=st.floats(-0.5, 0.5),
    by_words=SHARE,
)
LISTS = st.lists(EVIDENCE, max_size=40)
CONSTANTS = pytest.mark.parametrize("constants", [HYBRID, WORDS, VECTOR])


def evidence(**changes: object) -> Evidence:
    alone = Evidence(None, 0.0, 0.0, 0.0, False, 0.0, False, 8, 0.0, 0.0, 0.0)
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


@pytest.mark.parametrize("constants", [HYBRID, VECTOR])
def test_meaning_alone_counts_for_a_phrase_that_one_text_is_near_to(constants: Constants) -> None:
    far = [evidence(nearness=0.05)] * 9
    near = evidence(nearness=0.35)
    assert estimate([near, *far], constants)[0] < constants.floor
    assert estimate([near, *far], constants, is_phrase=True)[0] > 0.3
    nearer = evidence(nearness=0.4)  # another result answers rather
    assert estimate([near, nearer, *far], constants, is_phrase=True)[0] < constants.floor
    # Off-topic queries are about as near to many texts, or to none.
    assert estimate([near] * 10, constants, is_phrase=True)[0] < 0.3
    assert estimate([far[0]] * 10, constants, is_phrase=True)[0] < constants.floor


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where are credentials stored?", True),
        ("explain our deploy process", True),
        ("asdfqwer zzz", False),
        ("operating system", False),
        ("", False),
    ],
)
def test_a_phrase_has_function_words(text: str, expected: bool) -> None:
    assert is_phrase(text) is expected


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
    weights = {"alpha": 1.0, "beta": 1.0}
    forms = find_forms(weights, [])
    places = find_words(" ".join(body.split()), space_forms(forms))
    return match_passage(Words(title, "", body), places, weights, forms)


def test_words_count_together_only_within_a_passage() -> None:
    both = {"alpha": 1.0, "beta": 1.0}
    assert match("alpha beta") == both
    assert match("alpha " + "x " * (PASSAGE // 2 - 2) + "beta") == both
    assert len(match("alpha " + "x " * 2 * PASSAGE + "beta")) == 1
    assert match("x " * 2 * PASSAGE + "beta", title="alpha") == both
    assert match("") == {}


def weigh(body: list[str], weights: dict[str, float]) -> float:
    """Return the weight of the pairs in a text."""
    places = find_words(" ".join(body), space_forms(find_forms(weights, [])))
    return weigh_pairs(places, weights, find_pairs(weights))


@given(st.lists(st.sampled_from(["old", "harbour", "older", "x"])))
def test_words_are_found_where_they_are(body: list[str]) -> None:
    forms = find_forms({"old": 1.0, "harbour": 1.0}, [])
    expected = [(at, forms[word]) for at, word in enumerate(body) if word in forms]
    assert find_words(" ".join(body), space_forms(forms)) == expected


@pytest.mark.parametrize(
    ("body", "weight"),
    [
        ("old harbour cafe open", 1.5),  # (1 + 0.5) / 2 twice: both pairs
        ("cafe of the old harbour", 0.75),  # the second pair is too far apart
        ("harbour old", 0.75),  # in any order
        ("harbour a b old", 0.75),
        ("harbour a b c old", 0.0),
        ("harbour", 0.0),
        ("harbour harbour", 0.0),
        ("", 0.0),
    ],
)
def test_pairs_of_words_count_if_a_text_has_them_together(body: str, weight: float) -> None:
    weights = {"old": 1.0, "harbour": 0.5, "cafe": 1.0}
    assert weigh(body.split(), weights) == weight


def test_a_long_text_takes_linear_time() -> None:
    weights = {"old": 1.0, "harbour": 1.0}
    body = ["harbour"] * 200_000 + ["x"] * 10 + ["old"] * 200_000
    assert weigh(body, weights) == 0.0


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Where did Anna meet the mayor of Oulu?", {"anna", "oulu"}),
        ("Oulu: what is there?", set()),  # the first word is capitalised anyway
        ("where did anna live", set()),
        ("WHERE DID ANNA LIVE", set()),
        ("Did I go?", set()),
        ("Где живёт Иван?", {"ива"}),
        ("", set()),
    ],
)
def test_names_are_the_capitalised_words(query: str, names: set[str]) -> None:
    known = {"anna", "oulu", "meet", "live", "ива", "where", "did"}
    assert find_capitalised(query, known) == names


def test_names_are_neutral_if_there_are_none() -> None:
    assert rate_names({"meet": 1.0}, set()) == 0.0
    assert rate_names({"meet": 1.0}, {"anna", "oulu"}) == -0.5
    assert rate_names({"anna": 1.0}, {"anna", "oulu"}) == 0.0
    assert rate_names({"anna": 1.0, "oulu": 1.0}, {"anna", "oulu"}) == 0.5


@CONSTANTS
def test_names_and_pairs_of_the_query_raise_the_score(constants) -> None:  # type: ignore[no-untyped-def]
    half = answered(share=0.6, share_around=0.6, nearness=0.3, is_turn=True, length=20)
    rival = half._replace(share=0.5, share_around=0.5)
    together = half._replace(pairs=2.0)
    assert estimate([together, rival], constants) > estimate([half, rival], constants)
    if constants is not VECTOR:  # names say little about what only vectors found
        named, other = half._replace(names=0.5), half._replace(names=-0.5)
        assert estimate([named, rival], constants) > estimate([other, rival], constants)


def test_a_result_that_words_alone_find_has_a_higher_score() -> None:
    half = answered(share=0.6, share_around=0.6, nearness=0.3, is_turn=True, length=20)
    assert estimate([half._replace(by_words=1.0)], HYBRID) > estimate([half], HYBRID)
