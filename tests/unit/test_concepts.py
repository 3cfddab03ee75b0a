"""Concepts: what a text mentions by name, then its telling phrases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.remember.concepts import MOST, extract_concepts
from tests.unit.timing import grows_linearly


@pytest.mark.parametrize(
    ("content", "concepts"),
    [
        ("User asked about the authentication flow", ("authentication flow",)),
        ("Frustrated by the slow test suite", ("slow test suite",)),
        ("Set the connection pool size to 20", ("connection pool size",)),
        (
            "Fixed authentication bug causing login failures",
            ("authentication bug", "login failures"),
        ),
        ("Added new export feature for CSV format", ("CSV", "export feature", "CSV format")),
        ("Connection pool handling", ("Connection pool",)),
        ("We use a distributed lock", ("distributed lock",)),
        ("slow test suite", ("slow test suite",)),
    ],
)
def test_phrases(content: str, concepts: tuple[str, ...]) -> None:
    assert extract_concepts(content) == concepts


@pytest.mark.parametrize(
    "content",
    [
        "The function returns a string",  # a verb is no part of a phrase
        "The parser yields the name",  # nor is one that no list knows, where "the" follows it
        "We keep the cache, session and token",  # punctuation parts words
        "about the cache\nsession of it",  # so do line ends
        "about the cache  session of it",
        "Wir haben gestern lange miteinander geredet",  # other languages have other grammar words
        "Poistin vanhan palvelimen eilen illalla",
        "",
        "🎉 !!! ...",
    ],
)
def test_no_phrases(content: str) -> None:
    assert extract_concepts(content) == ()


@pytest.mark.parametrize(
    ("content", "concepts"),
    [
        ("see `make_token` and `x + y`", ("make_token", "x + y")),
        ("it is in src/auth/index.ts, and/or in README.md", ("src/auth/index.ts", "README.md")),
        (
            "the AuthService calls snake_case and camelCase",
            ("AuthService", "snake_case", "camelCase"),
        ),
        ("about the HTTP of it", ("HTTP",)),
        ("as Alice told Bob Smith in New York", ("Alice", "Bob Smith", "New York")),
        ("it was Alice's idea, and Acme’s", ("Alice", "Acme")),
        ("Melanie Smith came", ("Melanie Smith",)),
        ("Alice came. Then Bob came", ("Bob",)),  # the capital of a sentence is no name's
        ("Fixed Redis", ("Redis",)),
        ("Мы спросили, что сказала Анна Петрова из Яндекса", ("Анна Петрова", "Яндекса")),
        ("Siitä kertoi Väinö Äikäs Ylöjärveltä", ("Väinö Äikäs Ylöjärveltä",)),
        ("Το είπε ο Νίκος", ("Νίκος",)),
        ("История СССР", ("СССР",)),
        ("他读了《三体》和「活着」", ("三体", "活着")),
        ("`《》`", ()),
        ("`  `", ()),
    ],
)
def test_things_and_names(content: str, concepts: tuple[str, ...]) -> None:
    assert extract_concepts(content) == concepts


def test_things_come_first_then_the_most_frequent_phrase() -> None:
    content = "The rate limit is in config.yaml. The retry policy is new. The retry policy is ours."
    assert extract_concepts(content) == ("config.yaml", "retry policy", "rate limit")


def test_frequent_names_come_first() -> None:
    assert extract_concepts("so Bob met Alice, and Carol saw Alice") == ("Alice", "Bob", "Carol")


def test_no_phrase_is_a_part_of_another_or_of_a_name() -> None:
    found = extract_concepts(
        "about the connection pool, the connection pool size, and the test suite of `slow test suite`"
    )
    assert found == ("slow test suite", "connection pool size")


def test_case_makes_no_second_concept() -> None:
    assert extract_concepts("Test suite, with Redis and REDIS, and the test suite") == (
        "Redis",
        "Test suite",
    )


def test_at_most_twelve() -> None:
    names = " and ".join(f"Name{letter}" for letter in "abcdefghijklmnop")
    assert len(extract_concepts(f"with {names} about the test suite")) == MOST


_TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="aB ./_`'-\n《》Яя"),
    st.lists(
        st.sampled_from(
            "the The cache session Token API of `x y` 《三》 src/a.py Alice . \n".split(" ")
        )
    ).map(" ".join),
)


@given(_TEXTS)
def test_every_concept_is_in_the_text_and_none_is_there_twice(content: str) -> None:
    found = extract_concepts(content)
    assert all(concept and concept in content for concept in found)
    assert len(found) <= MOST
    assert len({concept.casefold() for concept in found}) == len(found)
    assert extract_concepts(content) == found


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "a" * n,
        lambda n: "a." * (n // 2),
        lambda n: "a" + "." * n,
        lambda n: "a/" * (n // 2),
        lambda n: "`a" * (n // 2),
        lambda n: "《" * n,
        lambda n: "Ab " * (n // 3),
        lambda n: "cache " * (n // 6),
        lambda n: "a'" * (n // 2),
        lambda n: "A_" * (n // 2),
    ],
)
def test_hostile_texts(text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muisti.remember.concepts._READ", 10**9)
    assert grows_linearly(extract_concepts, text, 100_000)
