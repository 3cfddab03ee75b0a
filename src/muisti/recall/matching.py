"""Decide which words of a query a text matches, and which other words are alternatives. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING, NamedTuple

from muisti.ports.search import WordCounts

if TYPE_CHECKING:
    from muisti.ports.columns import Key
    from muisti.ports.rows import Words
    from muisti.ports.search import Term, WordIndex

K1 = 1.2
"""The constant of BM25 that limits the weight of one word."""
FIELD_WEIGHTS = (3.0, 2.0, 1.0)
"""The weights of title, labels and body, in BM25 and in counting occurrences."""


class Matched(NamedTuple):
    """The words by which a text matched a query."""

    words: frozenset[str]
    """The words of the query that it has, or has an alternative for."""
    loose: frozenset[str]
    """Those of them that only an alternative matched."""
    found: frozenset[str]
    """The words of the text that matched, for highlighting."""


NO_MATCH = Matched(frozenset(), frozenset(), frozenset())


def rate_matches(matches: Mapping[Key, float], terms: Sequence[Term]) -> dict[Key, float]:
    """Return the hits with scores between 0 and 1 that are comparable between queries."""
    # The highest possible bm25 for this query.
    best = max(1e-6, sum(term.weight for term in terms)) * (K1 + 1)
    return {key: score / best if score < best else 1.0 for key, score in matches.items()}


def explain_match(words: Words, terms: Sequence[Term]) -> Matched:
    """Return which terms a text matches, exactly or by an alternative."""
    stored = f" {' '.join(words)} "
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
    matched = frozenset(exact | loose)
    return Matched(matched, frozenset(loose), matched | found)


def count_words(texts: Iterable[Words | None], wanted: Sequence[str]) -> WordCounts:
    """Return how often these words occur in texts, weighted as the index weighs its fields."""
    lengths: list[int] = []
    bodies: list[int] = []
    counts: dict[str, dict[int, float]] = {}
    for place, text in enumerate(texts):
        fields = [len(field.split()) for field in text or ()]
        lengths.append(-1 if text is None else sum(fields))
        bodies.append(-1 if text is None else fields[-1])
        for field, weight in zip(text or (), FIELD_WEIGHTS, strict=False):
            if field:
                # Doubled, so that adjacent repeats are counted.
                spaced = f" {field.replace(' ', '  ')} "
                for word in wanted:
                    times = spaced.count(f" {word} ")
                    if times:
                        places = counts.setdefault(word, {})
                        places[place] = places.get(place, 0.0) + weight * times
    return WordCounts(lengths, bodies, counts)


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
