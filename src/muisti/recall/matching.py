"""Which words of a query a text has, and which other words may stand for one. Pure rules over what the index found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.ports.search import Term, WordIndex, WordMatch, Words

K1 = 1.2
"""The constant of bm25 that bounds how much one word can count for."""
FIELD_WEIGHTS = (3.0, 2.0, 1.0)
"""Of title, labels and body, in bm25 and in counting occurrences."""


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A text that matched words of the query, with what ranking needs to know: most hits are never read whole."""

    memory_id: str
    score: float
    """Between 0 and 1."""
    matched: frozenset[str]
    """The words of the query that it has, or has a stand-in for."""
    loose: frozenset[str] = frozenset()
    """Those of them that only a stand-in matched."""
    found: frozenset[str] = frozenset()
    """The words of the text that matched: what is highlighted."""
    opening: str = ""
    """How its content begins."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often words occur in a text; in its title and labels they count for more."""

    length: int
    counts: dict[str, float]


def explain_match(match: WordMatch, terms: Sequence[Term]) -> LexicalHit:
    """Return which terms a text matched, exactly or by a stand-in, and its score."""
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
    # The bm25 that no text can exceed for this query: what makes scores comparable between queries.
    best = max(1e-6, sum(term.weight for term in terms)) * (K1 + 1)
    matched = frozenset(exact | loose)
    score = min(1.0, match.bm25 / best)
    return LexicalHit(
        match.memory_id, score, matched, frozenset(loose), matched | found, match.opening
    )


def literal_hit(memory_id: str, text: str) -> LexicalHit:
    """Return the hit of a text that has exactly these characters."""
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
        spaced = f" {field.replace(' ', '  ')} "  # each word with blanks of its own, so that repeated words are counted
        for word in wanted:
            times = spaced.count(f" {word} ")
            if times:
                counts[word] = counts.get(word, 0.0) + weight * times
    return Occurrences(length, counts)


def similar_words(index: WordIndex, word: str, limit: int) -> list[str]:
    """Return indexed words that contain this one, the shortest first; failing those, other forms and misspellings of it."""
    if len(word) < 3:
        return []
    containing = index.find_words_containing(word, limit)
    if containing or len(word) < 5:
        return containing
    near = [found for found in index.find_similar_words(word) if found != word]
    forms = [found for found in near if is_one_typo(word, found) or has_same_beginning(word, found)]
    return sorted(forms, key=lambda found: (abs(len(found) - len(word)), found))[:limit]


def has_same_beginning(first: str, second: str) -> bool:
    """Return whether two words look like forms of one: most of both is a common beginning."""
    common = len(commonprefix((first, second)))  # noqa: RUF071  # letters are what is meant here
    return common >= 5 and common >= 0.65 * max(len(first), len(second))


def is_one_typo(first: str, second: str) -> bool:
    """Return whether one letter changed, added, left out, or swapped with its neighbour makes one word the other."""
    if abs(len(first) - len(second)) > 1:
        return False
    shorter = min(len(first), len(second))
    start = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    a, b = first[start:], second[start:]
    swapped = len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped
