"""When a hook trusts the confidence of a search by meaning (contract J6, E5)."""

from __future__ import annotations

import pytest

from muisti.recall.query import split_query
from muisti.surfaces.hooks.relevance import CONFIDENT, is_confident

ASKED = "What does Sanna like to drink at breakfast?"


@pytest.mark.parametrize(
    ("prompt", "score", "expected"),
    [
        (ASKED, CONFIDENT, True),
        (ASKED, 0.95, True),
        (ASKED, CONFIDENT - 0.001, False),
        (ASKED, 0.0, False),
        ("run the tests and fix the errors", 0.95, False),  # routine, however sure
        ("breakfast", 0.95, False),  # one word says too little
        ("", 0.95, False),
    ],
)
def test_J6_a_confident_search_needs_no_matching_word(
    prompt: str, score: float, expected: bool
) -> None:
    assert is_confident(score, split_query(prompt)) is expected
