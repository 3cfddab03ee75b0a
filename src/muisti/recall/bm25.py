"""What every index needs to compute the bm25 of FTS5 by itself. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muisti.recall.matching import FIELD_WEIGHTS

if TYPE_CHECKING:
    from muisti.ports.rows import Words

B = 0.75
"""The bm25 constant for the penalty on long texts."""


def count_occurrences(words: Words) -> dict[str, float]:
    """Return how often each word of a text occurs, weighted by field."""
    counts: dict[str, float] = {}
    for field, weight in zip(words, FIELD_WEIGHTS, strict=True):
        for word in field.split():
            counts[word] = counts.get(word, 0.0) + weight
    return counts


def count_length(words: Words) -> int:
    """Return the number of words of a text."""
    return sum(len(field.split()) for field in words)
