"""Whether two texts may be the same memory, decided by their words alone.

Comparing two texts (`near_duplicate.compare`) reads both word by word. Most candidates have words
of which the other text has nothing alike, and for those this check is enough. It never rejects
texts that `compare` finds to be the same, whatever the cosine of their embeddings is.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from muisti.remember.similarity.abbreviations import (
    CANONICAL,
    LIGHT_FINNISH,
    MONTHS,
    NEGATIONS,
    PHRASES,
    PLACES,
    SCALES,
    WEEKDAYS,
)
from muisti.text.tokens import split_words

MOST_READ = 2000
"""Characters; longer texts are always compared."""
SHORTEST = 3
"""Letters of a word that counts: shorter ones are often part of an abbreviation."""
_REPLACED = frozenset(
    word
    for form in (*CANONICAL, *CANONICAL.values(), *PHRASES, *PHRASES.values())
    for word in split_words(form if isinstance(form, str) else " ".join(form))
)
_LEFT_OUT = (
    _REPLACED
    | LIGHT_FINNISH
    | NEGATIONS
    | PLACES
    | WEEKDAYS
    | MONTHS.keys()
    | SCALES.keys()
    | frozenset("with are have will am on in of not".split())
)
"""Words that normalizing may drop, replace or make of others."""


class TextWords:
    """The words of a text. Most texts need only `all`: they share too few words with the other."""

    def __init__(self, text: str) -> None:
        self.all = frozenset(split_words(text[:MOST_READ].casefold()))
        self.is_checked = len(text) <= MOST_READ and text.isascii() and "_" not in text
        """Whether the words tell anything: not of a long text, or one in another script."""

    @cached_property
    def kept(self) -> frozenset[str]:
        """Those that the other text must have, too, or something alike."""
        words = self.all - _LEFT_OUT
        return frozenset([word for word in words if len(word) >= SHORTEST and word.isalpha()])

    @cached_property
    def first_letters(self) -> frozenset[str]:
        """Of all words."""
        return frozenset([word[0] for word in self.all])

    @cached_property
    def endings(self) -> str:
        """All words, each with a space after it: `word ` is in it if one ends with that word."""
        return " ".join(self.all) + " "


read_words = lru_cache(maxsize=2048)(TextWords)
"""Return the words of a text; cached, since a text is compared with many."""


def may_be_same(mine: TextWords, theirs: TextWords) -> bool:
    """Return False if the texts with these words cannot be the same memory.

    A word that only one of them has must be a typo, a plural or another present form of a word of
    the other, which begins with the same letter; or half of a word that the other joins.
    """
    if not (mine.is_checked and theirs.is_checked):
        return True
    for own, other in ((mine, theirs), (theirs, mine)):
        letters, endings = other.first_letters, other.endings
        for word in own.kept - other.all:
            if word[0] not in letters and f"{word} " not in endings:
                return False
    return True
