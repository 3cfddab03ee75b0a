"""Which memories a new one is compared with: few, however many there are. Rules over what the index finds."""

from __future__ import annotations

from muisti.model import Memory
from muisti.ports import SearchIndex
from muisti.text.simhash import compute_bands, hamming_distance, is_far_apart
from muisti.text.tokens import tokenize

NEAR_BITS = 3
"""Bits in which the simhashes of near-duplicates differ at most."""
MOST_BY_WORDS = 200
"""Memories that are looked at for the sake of their words."""
MOST_BY_SIMHASH = 5000
"""Simhashes that are compared."""
RAREST = 8
"""Words that are looked for."""
MOST_READ = 20_000
"""Characters whose words are considered."""


def find_similar(index: SearchIndex, memory: Memory, limit: int) -> list[Memory]:
    """Return memories in the same scope that may say nearly the same, the nearest by simhash first."""
    found = index.find_near_simhash(
        memory, compute_bands(memory.simhash), NEAR_BITS, MOST_BY_SIMHASH
    )
    found |= _with_rare_words(index, memory)
    length = memory.content.count(" ") + 1
    near = {
        id_: hamming_distance(simhash, memory.simhash)
        for id_, simhash in found.items()
        if not is_far_apart(simhash, memory.simhash, length)
    }
    best = sorted(near, key=lambda id_: (near[id_], id_))[:limit]
    return index.filter_current(best) if best else []


def _with_rare_words(index: SearchIndex, memory: Memory) -> dict[str, str]:
    """Memories with any of the rarest words, as long as few have them; with all of them, if even the rarest is common."""
    counts = index.frequencies(list(dict.fromkeys(tokenize(memory.content[:MOST_READ])))).counts
    rarest = sorted(counts, key=lambda word: (counts[word], word))[:RAREST]
    chosen: list[str] = []
    total = 0
    for word in rarest:
        if chosen and total + counts[word] > MOST_BY_WORDS:
            break
        chosen.append(word)
        total += counts[word]
    if total <= MOST_BY_WORDS:
        return index.find_with_words(memory, chosen, MOST_BY_WORDS, all_of_them=False)
    return index.find_with_words(memory, rarest, MOST_BY_WORDS, all_of_them=True)
