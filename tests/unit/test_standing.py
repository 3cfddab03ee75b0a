"""Which texts are standing instructions or preferences."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muisti.text import standing
from muisti.text.standing import MAX_CHARS, Standing, may_begin_rule, recognize_standing
from tests.unit.standing_table import count, read_halves
from tests.unit.timing import grows_linearly

WRITTEN_BY, HELD_OUT = read_halves()


@pytest.mark.parametrize("rows", [WRITTEN_BY, HELD_OUT])
def test_precision_and_recall(rows: list[tuple[str, bool]]) -> None:
    assert len(rows) >= 80
    precision, recall = count([recognize_standing(text) is not None for text, _ in rows], rows)
    assert precision >= 0.95
    assert recall >= 0.9


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Always use type hints", Standing.INSTRUCTION),
        ("I'm allergic to nuts", Standing.PREFERENCE),
        ("I’m allergic to nuts", Standing.PREFERENCE),
        ("Answer in Finnish", Standing.INSTRUCTION),
        ("- Never push on a Friday.\n- Always ask first.", Standing.INSTRUCTION),
        ("I'm vegan. Never suggest cheese.", Standing.INSTRUCTION),
        ("I'm vegan. We met in Oslo.", Standing.PREFERENCE),
        ("", None),
        ("   \n ", None),
        ("?" * 5, None),
        ("Always use tabs. " + "The build is green. " * 30, None),
        ("Always use tabs. " * (MAX_CHARS // 10), None),
    ],
)
def test_whole_texts(text: str, kind: Standing | None) -> None:
    assert recognize_standing(text) is kind


@pytest.mark.parametrize(
    "piece",
    ["please ", "use a ", "i ", "in the a ", "the ", "all a ", "a ", "- ", "; ", "always ", "用"],
)
def test_time_grows_with_the_text(piece: str) -> None:
    assert grows_linearly(recognize_standing, lambda size: (piece * size)[:size], MAX_CHARS // 2)


ASCII = st.characters(min_codepoint=32, max_codepoint=126)
PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for patterns in (
        standing._EN_INSTRUCTION,
        standing._EN_PREFERENCE,
        standing._OTHER_INSTRUCTION,
        standing._OTHER_PREFERENCE,
    )
    for pattern in patterns
    if pattern.isascii()
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:40])
@settings(suppress_health_check=list(HealthCheck), max_examples=25)
@given(st.data())
def test_the_first_words_never_rule_out_a_match(
    pattern: re.Pattern[str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(re.compile(pattern.pattern, re.I | re.A), alphabet=ASCII))
    found = pattern.search(text)
    if found and pattern.match(text[found.start() :]):
        assert may_begin_rule(text[found.start() :])


@pytest.mark.parametrize("text", ["We met in Oslo", "The server restarts", "Thanks for it", "A b"])
def test_the_first_words_rule_out_most_clauses(text: str) -> None:
    assert not may_begin_rule(text)
