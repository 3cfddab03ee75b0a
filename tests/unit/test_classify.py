"""Kind and sector from words: the specs' examples, with contract C2's corrections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.model import KINDS, Sector
from muisti.remember.classify import classify_kind, classify_sector
from tests.unit.timing import grows_linearly


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Fixed authentication bug causing login failures", "bugfix"),  # spec 3
        ("Added new export feature for CSV format", "feature"),  # spec 3
        ("We decided to use PostgreSQL instead of MySQL", "decision"),
        ("Päätettiin käyttää Postgresia", "decision"),
        ("Мы решили использовать PostgreSQL", "decision"),
        ("我们决定使用PostgreSQL", "decision"),
        ("I prefer dark mode", "preference"),
        ("Refactored the parser", "refactor"),
        ("Upgraded from 1.2 to 1.3", "change"),
        ("Discovered an undocumented endpoint", "discovery"),
        ("Lesson: tests pay off", "insight"),
        ("Summary of this session", "summary"),
        ("The deadline is March 15", "fact"),
        ("hello", "note"),
        ("prefix and suffix", "note"),
        ("debugging the addressee", "note"),
        ("", "note"),
        ("🎉", "note"),
    ],
)
def test_kinds(content: str, kind: str) -> None:
    assert classify_kind(content) == kind


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("User asked about the authentication flow earlier", "episodic"),  # spec 4, its tests
        ("The auth handler is located in src/auth/handler.ts", "semantic"),
        ("To deploy: first run build, then push to main", "procedural"),
        ("Frustrated by the slow test suite", "emotional"),  # the contract's correction of the tie
        ("This codebase favors composition over inheritance", "reflective"),
        ("The function returns a string", "semantic"),
        ("User asked about auth flow", "episodic"),  # spec 4, its table
        ("API endpoint is /api/users", "semantic"),
        ("Deploy via `bun run deploy`", "procedural"),
        ("Frustrated by slow tests", "emotional"),
        ("This codebase favors composition", "reflective"),
        ("The API endpoint is /api/users", "semantic"),
        ("lorem ipsum", "semantic"),
        ("", "semantic"),
    ],
)
def test_sectors(content: str, sector: str) -> None:
    assert classify_sector(content) == sector


@pytest.mark.parametrize(
    ("content", "sector"),
    [
        ("happy insight", "emotional"),
        ("insight, he said", "reflective"),
        ("he said: run", "episodic"),
        ("run the module", "procedural"),
    ],
)
def test_a_tie_goes_to_the_more_specific(content: str, sector: str) -> None:
    assert classify_sector(content) == sector


@given(st.text())
def test_any_text_has_a_kind_and_a_sector(content: str) -> None:
    assert classify_kind(content) in KINDS
    assert classify_sector(content) in tuple(Sector)
    assert classify_kind(content) == classify_kind(content)


@pytest.mark.parametrize("text", [lambda n: "from a " * (n // 7), lambda n: "extracts " * (n // 9), lambda n: "决" * n])
def test_hostile_texts(text) -> None:
    assert grows_linearly(lambda content: (classify_kind(content), classify_sector(content)), text, 500_000)
