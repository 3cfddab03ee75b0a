"""What a result shows, and what may move it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.ports import LexicalHit
from muisti.recall.rank import BOUND, LOOSE, closeness, prior, ranked
from muisti.recall.snippet import LENGTH, snippet
from muisti.recall.words import words
from tests.unit.making import ANY_SHARE, NOON, a_memory
from tests.unit.timing import grows_linearly

MARKS = len("… ") + len(" …")
FILLER = "Nothing of interest stands in this sentence at all. "


def test_a_short_text_is_shown_whole() -> None:
    assert snippet(" Short.\n", {"absent"}) == "Short."


@pytest.mark.parametrize("place", [0, 1, 10, 30, 40])
def test_the_sentence_with_the_word_is_shown(place: int) -> None:
    text = FILLER * place + "The needle is here. " + FILLER * (40 - place)
    shown = snippet(text, {"needl"})
    assert "The needle is here." in shown
    assert len(shown) <= LENGTH + MARKS
    assert shown.startswith("… ") == (place > 0)
    assert shown.endswith(" …") == (place < 40)


@pytest.mark.parametrize("before", [0, 1, 59, 60, 61, 119, 200, 237, 239, 240])
def test_the_word_is_shown_wherever_it_is_in_a_sentence_without_end(before: int) -> None:
    text = "foo " * before + "needle" + " bar" * (240 - before)
    shown = snippet(text, {"needl"})
    assert "needle" in shown
    assert len(shown) <= LENGTH + MARKS


def test_chinese_without_a_single_full_stop() -> None:
    text = "天" * 700 + "数据库" + "地" * 300
    assert "数据库" in snippet(text, {"数据", "据库"})


def test_the_sentence_with_most_words_wins() -> None:
    text = "Only apples. " + FILLER * 10 + "Apples and pears. " + FILLER * 10
    assert "Apples and pears." in snippet(text, {"appl", "pear"})


def test_the_beginning_is_shown_when_only_the_title_matched() -> None:
    text = "It begins here, with a sentence of some length. " + FILLER * 20 + "Ok. " + FILLER
    assert snippet(text, {"absent"}).startswith("It begins here")


@given(st.text(max_size=2000), st.sets(st.sampled_from(["a", "b", "needl"])), st.integers(20, 300))
def test_a_snippet_is_a_part_of_the_text_and_not_too_long(text: str, wanted: set[str], length: int) -> None:
    shown = snippet(text, wanted, length)
    assert len(shown) <= length + MARKS
    inner = shown.removeprefix("… ").removesuffix(" …")
    assert "".join(inner.split()) in "".join(text.split())


_SENTENCE = st.lists(st.sampled_from(["apple", "pear", "fig", "plum", "x" * 50]), min_size=1, max_size=30).map(" ".join)


@given(st.lists(st.tuples(_SENTENCE, st.sampled_from([". ", "\n", " ", "。"])), min_size=1, max_size=12))
def test_a_snippet_has_a_matched_word_if_the_text_has_one(sentences: list[tuple[str, str]]) -> None:
    text = "".join(sentence + end for sentence, end in sentences)
    if "fig" in words(text):
        assert "fig" in words(snippet(text, frozenset({"fig"}), 240))


@pytest.mark.parametrize("text", [lambda n: "." * n, lambda n: "a. " * (n // 3), lambda n: "a" * n], ids=["dots", "many", "one"])
def test_snippets_of_hostile_texts_take_linear_time(text) -> None:
    assert grows_linearly(lambda content: snippet(content, {"a"}), text, 500_000)


def hit(
    number: int = 1, score: float = 0.5, matched: tuple[str, ...] = ("a",), loose: tuple[str, ...] = (), **fields
) -> LexicalHit:
    memory = a_memory(number, **fields)
    weights = (memory.created_at, memory.importance, memory.salience)
    return LexicalHit(memory.id, score, *weights, frozenset(matched), frozenset(loose))


@given(ANY_SHARE, ANY_SHARE, st.integers(-10_000, 10_000))
def test_strength_importance_and_age_move_a_score_within_the_bound(salience: float, importance: float, days: int) -> None:
    weighed = hit(salience=salience, importance=importance, created_at=NOON - timedelta(days=days))
    assert 1 - BOUND - 1e-9 <= prior(weighed, NOON) <= 1 + 1e-9


def test_each_of_them_counts() -> None:
    base = {"salience": 0.5, "importance": 0.5, "created_at": NOON - timedelta(days=10)}
    middle = prior(hit(**base), NOON)
    assert prior(hit(**{**base, "salience": 0.9}), NOON) > middle
    assert prior(hit(**{**base, "importance": 0.9}), NOON) > middle
    assert prior(hit(**{**base, "created_at": NOON}), NOON) > middle


@pytest.mark.parametrize(
    ("matched", "loose", "expected"), [("ab", "", 1.0), ("ab", "a", 1 - LOOSE / 2), ("a", "a", 1 - LOOSE), ("", "", 1.0)]
)
def test_closeness(matched: str, loose: str, expected: float) -> None:
    assert closeness(hit(matched=tuple(matched), loose=tuple(loose))) == pytest.approx(expected)


def test_a_faded_exact_match_stands_above_a_fresh_weak_one() -> None:
    faded = hit(1, 0.9, salience=0.05, importance=0.0, created_at=NOON - timedelta(days=3000))
    fresh = hit(2, 0.7, salience=1.0, importance=1.0)
    assert [h.memory_id for h, _ in ranked([fresh, faded], NOON)] == [faded.memory_id, fresh.memory_id]


def test_equal_scores_the_latest_first_then_by_id() -> None:
    old = hit(1, created_at=NOON - timedelta(days=400))
    hits = [hit(3), hit(2), old]
    assert [h.memory_id[-1] for h, _ in ranked(hits, NOON)] == ["2", "3", "1"]


@given(st.permutations([hit(number, score) for number, score in ((1, 0.5), (2, 0.5), (3, 0.9), (4, 0.1))]))
def test_the_order_does_not_depend_on_the_order_before(hits: list[LexicalHit]) -> None:
    result = ranked(hits, NOON)
    assert [h.memory_id[-1] for h, _ in result] == ["3", "1", "2", "4"]
    assert all(0 <= score <= 1 for _, score in result)
