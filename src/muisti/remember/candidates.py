"""Choose the stored memories to compare a new one with: a few, however large the vault is."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.model import Memory
from muisti.ports import SearchIndex
from muisti.text.simhash import most_bits
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
    counts = index.count_texts(tokens, 1)
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
    [nearest] = find_nearest(index, [memory], limit)
    return index.filter_current(nearest) if nearest else []


def find_nearest(index: SearchIndex, memories: Sequence[Memory], limit: int) -> list[list[str]]:
    """Return the IDs of the same for each of many memories, with few queries for all of them.

    Those that are no longer current are included.
    """
    near = index.find_near_simhashes(memories, NEAR_BITS, MOST_BY_SIMHASH)
    words = [dict.fromkeys(tokenize(memory.content[:MOST_READ])) for memory in memories]
    counts = index.count_texts(list({word for own in words for word in own}), len(memories))
    most = [most_bits(memory.content.count(" ") + 1) for memory in memories]
    searches: list[tuple[Memory, Sequence[str]]] = []
    searched: list[int] = []
    for at, (memory, own) in enumerate(zip(memories, words, strict=True)):
        known = sorted((counts[word], word) for word in own if word in counts)
        rarest = [word for _, word in known[:RAREST]]
        chosen: list[str] = []
        total = 0
        for word in rarest:
            if chosen and total + counts[word] > MOST_BY_WORDS:
                break
            chosen.append(word)
            total += counts[word]
        if total > MOST_BY_WORDS:  # even the rarest word is common
            near[at] |= index.find_with_words(memory, rarest, MOST_BY_WORDS, all_of_them=True)
        elif chosen:
            searches.append((memory, chosen))
            searched.append(at)
    with_words = index.find_with_any_word(searches, MOST_BY_WORDS, [most[at] for at in searched])
    for at, found in zip(searched, with_words, strict=True):
        near[at] |= found
    nearest = []
    for memory, found, most_different in zip(memories, near, most, strict=True):
        own_hash = int(memory.simhash, 16)
        distances = [
            (bits, id_)
            for id_, simhash in found.items()
            if (bits := (_numbers[simhash] ^ own_hash).bit_count()) <= most_different
        ]
        nearest.append([id_ for _, id_ in sorted(distances)[:limit]])
    return nearest


class _Numbers(dict[str, int]):
    """A cache of simhashes as numbers: a stored memory is compared with many."""

    def __missing__(self, simhash: str) -> int:
        if len(self) >= _MOST_NUMBERS:
            self.clear()
        number = self[simhash] = int(simhash, 16)
        return number


_MOST_NUMBERS = 50_000
_numbers = _Numbers()
