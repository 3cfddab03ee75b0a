"""Decide which words of a query a text matches, and which other words are alternatives. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.ports.rows import Words
    from muisti.ports.search import Term, WordIndex, WordMatch

K1 = 1.2
"""The constant of BM25 that limits the weight of one word."""
FIELD_WEIGHTS = (3.0, 2.0, 1.0)
"""Of title, labels and body, in BM25 and in counting occurrences."""


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A text that matched words of the query. The text itself is not read until it is shown."""

    memory_id: str
    score: float
    """Between 0 and 1."""
    matched: frozenset[str]
    """The words of the query that it has, or has an alternative for."""
    loose: frozenset[str] = frozenset()
    """Those of them that only an alternative matched."""
    found: frozenset[str] = frozenset()
    """The words of the text that matched, for highlighting."""
    opening: str = ""
    """The beginning of its content."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often words occur in a text. In title and labels they count more."""

    length: int
    counts: dict[str, float]


def explain_match(match: WordMatch, terms: Sequence[Term]) -> LexicalHit:
    """Return which terms a text matched, exactly or by an alternative, and its score."""
    stored = f" {' '.join(match.words)} "
    exact: set[str] = set()
    loose: set[str] = set()
    found: set[str] = set()
    for term in terms:
        if f" {term.text} " in stored:
            exact.add(term.text)
            continue
        others = [other for other in term.alternatives if f" {other} " in stored]
        if others or (term.prefix and f" {term.text}" in stored):
            loose.add(term.text)
            found.update(others)
    # The highest possible BM25 for this query: it makes scores comparable between queries.
    best = max(1e-6, sum(term.weight for term in terms)) * (K1 + 1)
    matched = frozenset(exact | loose)
    score = min(1.0, match.bm25 / best)
    return LexicalHit(
        match.memory_id, score, matched, frozenset(loose), matched | found, match.opening
    )


def make_literal_hit(memory_id: str, text: str) -> LexicalHit:
    """Return the hit for a text that contains exactly these characters."""
    same = frozenset((text,))
    return LexicalHit(memory_id, 0.5, same, found=same)


def count_occurrences(words: Words, wanted: Sequence[str]) -> Occurrences:
    """Return how often these words occur in a text, weighted as the index weighs its fields."""
    counts: dict[str, float] = {}
    length = 0
    for field, weight in zip(words, FIELD_WEIGHTS, strict=True):
        if not field:
            continue
        length += field.count(" ") + 1
        spaced = f" {field.replace(' ', '  ')} "  # doubled, so that adjacent repeats are counted
        for word in wanted:
            times = spaced.count(f" {word} ")
            if times:
                counts[word] = counts.get(word, 0.0) + weight * times
    return Occurrences(length, counts)


def find_similar_words(index: WordIndex, word: str, limit: int) -> list[str]:
    """Return indexed words that contain this one; if there are none, other forms and typos of it.

    The shortest, or nearest in length, come first.
    """
    if len(word) < 3:
        return []
    containing = index.find_words_containing(word, limit)
    if containing or len(word) < 5:
        return containing
    near = [found for found in index.find_similar_words(word) if found != word]
    forms = [found for found in near if is_one_typo(word, found) or has_same_beginning(word, found)]
    return sorted(forms, key=lambda found: (abs(len(found) - len(word)), found))[:limit]


def has_same_beginning(first: str, second: str) -> bool:
    """Return whether two words look like forms of one word, by their common prefix."""
    common = len(commonprefix((first, second)))  # noqa: RUF071  # of words, not of paths
    return common >= 5 and common >= 0.65 * max(len(first), len(second))


def is_one_typo(first: str, second: str) -> bool:
    """Return whether one changed, added, missing or swapped letter makes one word the other."""
    if abs(len(first) - len(second)) > 1:
        return False
    shorter = min(len(first), len(second))
    start = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    a, b = first[start:], second[start:]
    swapped = len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped
