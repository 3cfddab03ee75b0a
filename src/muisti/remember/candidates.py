"""Choose the stored memories to compare a new one with: a few, however large the vault is."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.model import Memory
from muisti.ports import SearchIndex
from muisti.text.simhash import compute_bands, hamming_distance, is_far_apart
from muisti.text.tokens import tokenize

NEAR_BITS = 3
"""The most bits in which the simhashes of near duplicates differ."""
MOST_BY_WORDS = 200
"""The most memories that are read because they share words."""
MOST_BY_SIMHASH = 5000
"""The most simhashes that are compared."""
RAREST = 8
"""How many of the text's words are searched for."""
MOST_READ = 20_000
"""How many characters of the text are read."""


def find_with_any_word(
    index: SearchIndex, memory: Memory, words: Sequence[str], limit: int
) -> list[Memory]:
    """Return memories in the same scope with any of these words, the latest first.

    Common words are left out as long as there are rarer ones, so that few memories are read.
    """
    tokens = list(dict.fromkeys(tokenize(" ".join(words))))
    counts = index.frequencies(tokens).counts
    chosen: list[str] = []
    total = 0
    for word in sorted(counts, key=lambda word: (counts[word], word)):
        if chosen and total + counts[word] > MOST_BY_WORDS:
            break
        chosen.append(word)
        total += counts[word]
    found = index.find_with_words(memory, chosen, MOST_BY_WORDS, all_of_them=False)
    latest = sorted(found, reverse=True)[:limit]
    return index.filter_current(latest) if latest else []


def find_similar(index: SearchIndex, memory: Memory, limit: int) -> list[Memory]:
    """Return memories in the same scope that may be near duplicates, the nearest first."""
    found = index.find_near_simhash(
        memory, compute_bands(memory.simhash), NEAR_BITS, MOST_BY_SIMHASH
    )
    words = list(dict.fromkeys(tokenize(memory.content[:MOST_READ])))
    counts = index.frequencies(words).counts
    rarest = sorted(counts, key=lambda word: (counts[word], word))[:RAREST]
    chosen: list[str] = []
    total = 0
    for word in rarest:
        if chosen and total + counts[word] > MOST_BY_WORDS:
            break
        chosen.append(word)
        total += counts[word]
    if total <= MOST_BY_WORDS:
        found |= index.find_with_words(memory, chosen, MOST_BY_WORDS, all_of_them=False)
    else:  # even the rarest word is common
        found |= index.find_with_words(memory, rarest, MOST_BY_WORDS, all_of_them=True)
    length = memory.content.count(" ") + 1
    distances = {
        id_: hamming_distance(simhash, memory.simhash)
        for id_, simhash in found.items()
        if not is_far_apart(simhash, memory.simhash, length)
    }
    nearest = sorted(distances, key=lambda id_: (distances[id_], id_))[:limit]
    return index.filter_current(nearest) if nearest else []
