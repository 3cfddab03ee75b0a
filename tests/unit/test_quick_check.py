"""The check before two texts are compared never rejects texts that are the same memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.remember.similarity.abbreviations import CANONICAL, PHRASES
from muisti.remember.similarity.near_duplicate import compare
from muisti.remember.similarity.quick_check import MOST_READ, may_be_same, read_words
from tests.unit.test_near_duplicate import ONE, TWO

PLAIN = "The team of Maija keeps the release notes of every {} in the archive since spring"
REWRITTEN = [
    *((word, " ".join(forms)) for word, forms in CANONICAL.items()),
    *((" ".join(phrase), " ".join(forms)) for phrase, forms in PHRASES.items()),
]


def check(mine: str, theirs: str) -> bool:
    return may_be_same(read_words(mine), read_words(theirs))


@pytest.mark.parametrize(("mine", "theirs"), ONE)
def test_one_memory_is_compared(mine: str, theirs: str) -> None:
    assert check(mine, theirs)
    assert check(theirs, mine)


def test_what_normalizing_rewrites_is_compared() -> None:
    """Every short form and phrase of the tables, for its long form."""
    for short, long in REWRITTEN:
        assert check(PLAIN.format(short), PLAIN.format(long)), (short, long)
        assert check(short, long), (short, long)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("I moved to Rome with Anna", "The quick brown fox jumps over it"),
        ("Maija: I love the new kitchen!", "Maija: I love hiking near Zermatt!"),
        ("The deploy is on Friday", "The xylophone is on Friday"),
    ],
)
def test_texts_with_other_words_are_not_compared(mine: str, theirs: str) -> None:
    assert not check(mine, theirs)
    assert not check(theirs, mine)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("Привет из Турку", "Совсем другой текст"),
        ("call __init__ first", "xylophones are quick"),
        ("a " * MOST_READ, "something else"),
    ],
)
def test_long_texts_and_other_scripts_are_always_compared(mine: str, theirs: str) -> None:
    assert check(mine, theirs)


WORDS = sorted({word for pair in (*ONE, *TWO) for text in pair for word in text.split()})


@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=9),
    st.integers(0, 8),
    st.sampled_from(["plural", "typo", "joined", "split", "quoted", "emphasis", "upper", "code"]),
)
def test_a_text_typed_again_is_compared(words: list[str], at: int, how: str) -> None:
    at %= len(words)
    word = words[at]
    again = {
        "plural": f"{word}s",
        "typo": word[:1] + word[2:3] + word[1:2] + word[3:],
        "joined": "".join(words[at : at + 2]),
        "split": f"{word[:3]} {word[3:]}",
        "quoted": f"“{word}”",
        "emphasis": f"_{word}_",
        "upper": word.upper(),
        "code": f"`{word}`",
    }[how]
    mine = " ".join(words)
    theirs = " ".join([*words[:at], again, *words[at + (2 if how == "joined" else 1) :]])
    if compare(mine, theirs, cosine=1.0).same:
        assert check(mine, theirs)
