"""Which words of a query a text has, and which other words may stand for one."""

# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.ports import Term, Words
from muisti.recall.matching import (
    K1,
    count_words,
    explain_match,
    find_similar_words,
    has_same_beginning,
    is_one_typo,
    rate_matches,
)

WORD = st.text("abcdef", min_size=2, max_size=8)


class Lexicon:
    """An index that has only words."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.asked_near = 0

    def find_words_containing(self, part: str, limit: int) -> list[str]:
        return sorted((word for word in self.words if part in word and word != part), key=len)[
            :limit
        ]

    def find_similar_words(self, word: str) -> list[str]:
        self.asked_near += 1
        return list(self.words)


# -- Other words


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("postgres", "postgrse", True),  # swapped
        ("postgres", "postgre", True),  # left out
        ("postgres", "postgress", True),  # added
        ("postgres", "postgrxs", True),  # changed
        ("postgres", "xostgres", True),
        ("postgres", "postgres", True),
        ("postgres", "postgxxs", False),
        ("postgres", "postgr", False),
        ("postgres", "psotgrse", False),
        ("ab", "ba", True),
        ("", "a", True),
        ("", "ab", False),
    ],
)
def test_one_typo(first: str, second: str, expected: bool) -> None:
    assert is_one_typo(first, second) is expected
    assert is_one_typo(second, first) is expected


@given(word=WORD, at=st.integers(0, 7), letter=st.sampled_from("abcxyz"))
def test_every_single_slip_is_one_typo(word: str, at: int, letter: str) -> None:
    at %= len(word)
    swapped = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
    for other in (
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
        swapped,
    ):
        assert is_one_typo(word, other)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("replicate", "replicator", True),
        ("päätöksestä", "päätöksen", True),
        ("house", "houses", True),
        ("replicate", "replenish", False),  # too little in common
        ("form", "forms", False),  # too short to tell
        ("international", "internment", False),
    ],
)
def test_a_common_beginning(first: str, second: str, expected: bool) -> None:
    assert has_same_beginning(first, second) is expected
    assert has_same_beginning(second, first) is expected


def test_words_that_contain_one_come_before_misspellings() -> None:
    lexicon = Lexicon("osuuspankki", "pankkiri", "pankkj")
    assert find_similar_words(lexicon, "pankki", 5) == ["pankkiri", "osuuspankki"]
    assert find_similar_words(lexicon, "pankki", 1) == ["pankkiri"]
    assert lexicon.asked_near == 0


def test_failing_those_other_forms_and_misspellings_the_most_alike_in_length_first() -> None:
    lexicon = Lexicon("postgreslq", "postgresq", "mysql", "postgresql")
    assert find_similar_words(lexicon, "postgresql", 5) == ["postgreslq", "postgresq"]
    assert find_similar_words(lexicon, "postgresql", 1) == ["postgreslq"]


@pytest.mark.parametrize("word", ["", "a", "ab"])
def test_short_words_have_no_others(word: str) -> None:
    assert find_similar_words(Lexicon("abc", "abd"), word, 5) == []


@pytest.mark.parametrize("word", ["abc", "abcd"])
def test_of_words_of_three_and_four_letters_only_longer_ones_are_looked_for(word: str) -> None:
    lexicon = Lexicon("abx", "abcx")
    find_similar_words(lexicon, word, 5)
    assert lexicon.asked_near == 0


# -- What a text matched


def test_exact_words_and_stand_ins_are_told_apart() -> None:
    terms = [
        Term("bank"),
        Term("card", alternatives=("cards", "cardboard")),
        Term("none", alternatives=("nothing",)),
    ]
    hit = explain_match(Words(body="my cards of the bank cardboard"), terms)
    assert (hit.words, hit.loose) == ({"bank", "card"}, {"card"})
    assert hit.found == {"bank", "card", "cards", "cardboard"}


def test_a_word_that_is_there_needs_no_stand_in() -> None:
    hit = explain_match(Words(title="card", body="cards"), [Term("card", alternatives=("cards",))])
    assert (hit.words, hit.loose, hit.found) == ({"card"}, frozenset(), {"card"})


@pytest.mark.parametrize(("prefix", "matched"), [(True, {"东"}), (False, frozenset())])
def test_a_prefix_stands_for_words_that_begin_with_it(prefix: bool, matched: set[str]) -> None:
    hit = explain_match(Words(body="东京 塔"), [Term("东", prefix=prefix)])
    assert (hit.words, hit.loose) == (matched, matched)


def test_parts_of_words_do_not_match() -> None:
    assert explain_match(Words(body="riverbank"), [Term("bank")]).words == frozenset()


@pytest.mark.parametrize(
    ("bm25", "weights", "score"),
    [(5.5, (2.0, 3.0), 5.5 / (5 * (K1 + 1))), (1e9, (2.0, 3.0), 1.0), (0.0, (0.0,), 0.0)],
)
def test_the_score_is_the_share_of_what_no_text_can_exceed(
    bm25: float, weights: tuple[float, ...], score: float
) -> None:
    terms = [Term(str(weight), weight=weight) for weight in weights]
    assert rate_matches({"m": bm25}, terms) == {"m": pytest.approx(score)}


# -- Counts


def test_words_are_counted_by_field_and_text() -> None:
    texts = [Words("a b", "a", "a a a c"), None, Words(), Words(body="b")]
    lengths, _, counts = count_words(texts, ["a", "b", "x"])
    assert list(lengths) == [7, -1, 0, 1]
    assert counts == {"a": {0: 3 + 2 + 3}, "b": {0: 3, 3: 1}}
