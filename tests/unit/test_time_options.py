"""Phrases that are nothing but a time, as values of options."""

from __future__ import annotations

from datetime import datetime

import pytest

from muisti.text.time_expressions.phrase import parse_phrase

NOW = datetime(2026, 11, 17, 15, 30)  # a Tuesday


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("yesterday", "2026-11-16", "2026-11-17"),
        ("  Yesterday ", "2026-11-16", "2026-11-17"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("3 days ago", "2026-11-14", "2026-11-15"),
        ("three days ago", "2026-11-14", "2026-11-15"),
        ("2 weeks ago", "2026-11-03", "2026-11-04"),
        ("a year ago", "2025-11-17", "2025-11-18"),
        ("7d", "2026-11-10", "2026-11-11"),
        ("12h", "2026-11-17T03:30", "2026-11-17T03:30"),
        ("30 minutes ago", "2026-11-17T15:00", "2026-11-17T15:00"),
        ("now", "2026-11-17T15:30", "2026-11-17T15:30"),
        ("2024", "2024-01-01", "2025-01-01"),
        ("2024-03", "2024-03-01", "2024-04-01"),
        ("2024-12", "2024-12-01", "2025-01-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("march", "2026-03-01", "2026-04-01"),
        ("may", "2026-05-01", "2026-06-01"),
        ("monday", "2026-11-16", "2026-11-17"),
        ("Q1 2024", "2024-01-01", "2024-04-01"),
        ("3 March 2024", "2024-03-03", "2024-03-04"),
        ("last 7 days", "2026-11-10", "2026-11-18"),
        ("viime viikolla", "2026-11-09", "2026-11-16"),
    ],
)
def test_E4_a_phrase_names_a_span(phrase: str, start: str, end: str) -> None:
    expected = (datetime.fromisoformat(start), datetime.fromisoformat(end))
    assert parse_phrase(phrase, NOW) == expected


@pytest.mark.parametrize(
    "phrase",
    [
        "",
        "soon",
        "yesterday or so",
        "before yesterday",
        "2024-13",
        "31 February 2024",
        "9999 years ago",
        "yesterday" * 10_000,
        "\x00",
    ],
    ids=range(9),
)
def test_E4_what_is_not_a_time_is_none(phrase: str) -> None:
    assert parse_phrase(phrase, NOW) is None
