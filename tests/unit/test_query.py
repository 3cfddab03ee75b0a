"""Which words of a question are looked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.ports import Frequencies
from muisti.recall.query import (
    ALTERNATIVES,
    MAX_TERMS,
    MAX_WORDS,
    POSTINGS,
    RARE,
    choose_terms,
    compute_idf,
    split_query,
)
from muisti.text.stop_words import remove_stop_words


def no_others(word: str, limit: int) -> list[str]:
    return []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("which database did we choose", {"databas", "choos"}),
        ("What is the name of the cat?", {"name", "cat"}),
        ("missä tietokanta on", {"tietokanta"}),
        ("где и когда мы видели базу", {"видел", "баз"}),
        ("数据库", {"数据", "据库"}),
        ("the of and", {"the", "of", "and"}),
        ("who", {"who"}),
        ("to be or not to be", {"to", "be", "or", "not"}),
        ("war crimes", {"war", "crime"}),
        (":-)", set()),
        ("", set()),
    ],
)
def test_words_that_only_hold_a_sentence_together_are_left_out(
    question: str, expected: set[str]
) -> None:
    assert set(split_query(question)) == expected


@given(st.text())
def test_a_question_with_words_keeps_some(question: str) -> None:
    found = split_query(question)
    assert len(found) == len(set(found))
    assert bool(found) == bool(split_query(f"{question} {question}"))


@given(st.lists(st.sampled_from(["the", "of", "cat", "dog", "und"]), unique=True))
def test_stop_words_are_left_out_in_order(found: list[str]) -> None:
    left = remove_stop_words(found)
    assert left == [word for word in found if word in left]
    assert bool(left) == bool(found)


def test_an_endless_question_is_cut() -> None:
    endless = "".join(chr(0x4E00 + number % 20_000) for number in range(100_000))
    assert len(split_query(endless)) <= MAX_WORDS
    assert len(split_query(" ".join(f"w{number}" for number in range(50_000)))) <= MAX_WORDS


def test_the_rarest_words_come_first() -> None:
    counts = {"common": 500, "rare": 4, "middle": 50}
    terms = choose_terms(list(counts), Frequencies(1000, counts), no_others)
    assert [term.text for term in terms] == ["rare", "middle", "common"]
    assert terms[0].weight > terms[1].weight > terms[2].weight


def test_common_words_lead_nowhere_once_the_budget_is_spent_but_still_count() -> None:
    counts = {"a1": 10, "b1": POSTINGS - 10, "c1": POSTINGS}
    terms = choose_terms(list(counts), Frequencies(10 * POSTINGS, counts), no_others)
    assert [(term.text, term.sought) for term in terms] == [
        ("a1", True),
        ("b1", True),
        ("c1", False),
    ]


def test_the_only_word_is_looked_for_however_common() -> None:
    terms = choose_terms(["all"], Frequencies(10 * POSTINGS, {"all": 9 * POSTINGS}), no_others)
    assert [term.text for term in terms] == ["all"]


def test_words_that_nobody_wrote_are_dropped_unless_others_stand_for_them() -> None:
    terms = choose_terms(
        ["gone", "pankki"],
        Frequencies(10, {}),
        lambda word, _: ["osuuspankki"] if word == "pankki" else [],
    )
    assert [(term.text, term.alternatives) for term in terms] == [("pankki", ("osuuspankki",))]


@pytest.mark.parametrize(
    ("word", "count", "asks"),
    [
        ("word", 0, True),
        ("word", RARE - 1, True),
        ("word", RARE, False),
        ("2026", 0, False),
        ("忆", 0, False),
        ("记忆", 0, True),
    ],
)
def test_stand_ins_are_asked_for_rare_words_only(word: str, count: int, asks: bool) -> None:
    asked: list[tuple[str, int]] = []

    def similar(word: str, limit: int) -> list[str]:
        asked.append((word, limit))
        return []

    choose_terms([word], Frequencies(100, {word: count}), similar)
    assert asked == ([(word, ALTERNATIVES)] if asks else [])


def test_a_lone_character_stands_for_all_pairs_that_begin_with_it() -> None:
    (term,) = choose_terms(["忆"], Frequencies(10, {}), no_others)
    assert term.prefix


def test_there_is_a_most() -> None:
    many = [f"w{number}" for number in range(500)]
    assert (
        len(choose_terms(many, Frequencies(1000, dict.fromkeys(many, 1)), no_others)) == MAX_TERMS
    )


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 60_000), max_size=80))
def test_the_budget_holds_for_any_frequencies(counts: dict[str, int]) -> None:
    known = {word: count for word, count in counts.items() if count}
    terms = choose_terms(list(counts), Frequencies(100_000, known), no_others)
    assert len(terms) <= MAX_TERMS
    assert {term.text for term in terms} <= set(counts)
    assert bool(terms) == bool(known)
    sought = [term for term in terms if term.sought]
    assert bool(sought) == bool(terms)
    assert len(sought) <= 1 or sum(known.get(term.text, 0) for term in sought) <= POSTINGS


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_weights_are_positive_and_fall_with_frequency(first: int, second: int) -> None:
    few, many = sorted((first, second))
    assert compute_idf(few, 10**6) >= compute_idf(many, 10**6) > 0
