"""Sentence boundaries, with one rule for all callers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.text.sentences import get_first_sentence, split_sentences
from tests.unit.timing import grows_linearly


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("Version 3.14 of node.js is out.", ["Version 3.14 of node.js is out."]),
        ('He said "Go." Then he left.', ['He said "Go." ', "Then he left."]),
        ("Wait... (Really?) Yes", ["Wait... ", "(Really?) ", "Yes"]),
        ("你好。（再见！）好", ["你好。", "（再见！）", "好"]),
        ("one line\nanother", ["one line\nanother"]),
        ("", []),
    ],
)
def test_a_text_is_split_where_its_sentences_end(text: str, parts: list[str]) -> None:
    assert split_sentences(text) == parts


def test_line_ends_and_abbreviations_count_for_those_who_ask() -> None:
    assert split_sentences("a title\n\nIts text", lines=True) == ["a title\n\n", "Its text"]
    text = "Dr. Smith came at 5 p.m. He left."
    assert split_sentences(text) == ["Dr. ", "Smith came at 5 p.m. ", "He left."]
    assert split_sentences(text, abbreviations=True) == ["Dr. Smith came at 5 p.m. ", "He left."]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("One. Two.", "One."),
        ("No stop", "No stop"),
        ('He said "Go." Then left.', 'He said "Go." Then left.'),
        ("Hm… so. And", "Hm… so."),
        ("真的吗？？好", "真的吗？"),
    ],
)
def test_a_title_ends_where_it_always_did(line: str, first: str) -> None:
    assert get_first_sentence(line) == first


@given(st.text(st.sampled_from("aA .!?…。！\"')\n»"), max_size=40), st.booleans(), st.booleans())
def test_the_parts_are_the_text(text: str, lines: bool, abbreviations: bool) -> None:
    assert "".join(split_sentences(text, lines=lines, abbreviations=abbreviations)) == text


@pytest.mark.parametrize("piece", [".", '."', ". ", "\n", "…!", "。」", "A."])
def test_hostile_texts_take_linear_time(piece: str) -> None:
    assert grows_linearly(
        lambda text: split_sentences(text, lines=True, abbreviations=True),
        lambda size: piece * (size // len(piece)),
        100_000,
    )
