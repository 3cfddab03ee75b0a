"""Simhash: a 64-bit fingerprint that changes little when a text changes little.

The features are words; in scripts without spaces, pairs of characters.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter

from muisti.text.normalize import to_nfkc
from muisti.text.scripts import SPACELESS
from muisti.text.tokens import split_words

_SPACELESS = re.compile(f"[{SPACELESS}]")


def simhash(text: str) -> str:
    """Return 16 hexadecimal digits; all zero only for a text without letters and digits."""
    features: list[str] = []
    for word in split_words(to_nfkc(text).casefold()):
        if word.isascii() or not _SPACELESS.search(word):
            features.append(word)
        else:
            features += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
    words = Counter(features)
    # One big integer holds all 64 counters, 16 bits each, so that no loop over bits is needed.
    total = sum(words.values())
    if not total:
        return "0" * 16
    if total >= 1 << 15:
        scale = (1 << 15) / total
        words = Counter(
            {word: max(1, int(count * scale)) for word, count in words.most_common(1 << 12)}
        )
        total = sum(words.values())
    sums = sum(_spread_bits(word) * count for word, count in words.items())
    bits = 0
    for position in range(64):
        if 2 * ((sums >> (16 * position)) & 0xFFFF) > total:
            bits |= 1 << position
    return f"{bits:016x}"


def hamming_distance(first: str, second: str) -> int:
    """Return in how many of the 64 bits two fingerprints differ."""
    return (int(first, 16) ^ int(second, 16)).bit_count()


FAR = 20
"""Bits. No paraphrased pair in benchmarks.pairs differs more; 98 % of random pairs do."""
SHORT = 5
"""Words. In shorter texts, one changed word changes too many bits."""


def is_far_apart(first: str, second: str, words: int) -> bool:
    """Return whether two texts, one with this number of words, differ too much to be duplicates."""
    return words >= SHORT and hamming_distance(first, second) > FAR


def compute_bands(hash_: str) -> tuple[int, ...]:
    """Return four keys. Fingerprints that differ in at most three bits share one of them.

    Empty for a text without words.
    """
    if hash_ == "0" * 16 or len(hash_) != 16:
        return ()
    return tuple(
        position << 16 | int(hash_[4 * position : 4 * position + 4], 16) for position in range(4)
    )


_cache: dict[str, int] = {}


def _spread_bits(word: str) -> int:
    """Return the word's 64 hash bits, each as the lowest bit of its own 16-bit counter."""
    known = _cache.get(word)
    if known is None:
        digest = int.from_bytes(
            hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
        )
        known = int(f"{digest:064b}".replace("0", "0000").replace("1", "0001"), 16)
        if len(_cache) > 50_000:
            _cache.clear()
        _cache[word] = known
    return known
