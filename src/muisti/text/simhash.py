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
    features = split_words(to_nfkc(text).casefold())
    if not text.isascii():
        features = [part for word in features for part in _split_spaceless(word)]
    # One big integer holds all 64 counters, 16 bits each, so that no loop over bits is needed.
    total = len(features)
    if not total:
        return "0" * 16
    if total < 1 << 15:
        sums = sum(map(_SPREAD.__getitem__, features))
    else:
        scale = (1 << 15) / total
        counts = {
            word: max(1, int(count * scale))
            for word, count in Counter(features).most_common(1 << 12)
        }
        total = sum(counts.values())
        sums = sum(_SPREAD[word] * count for word, count in counts.items())
    # A bit is set if more than half of the features have it. Adding this to a counter sets its
    # highest bit then, and never carries: the total is far below 1 << 16.
    sums += _ONES * ((1 << 15) - (total // 2 + 1))
    highest = f"{sums >> 15 & _ONES:0256x}"[3::4]
    return f"{int(highest, 2):016x}"


def _split_spaceless(word: str) -> list[str]:
    """Return a word; in a script without spaces, its pairs of characters."""
    if word.isascii() or not _SPACELESS.search(word):
        return [word]
    return [word[at : at + 2] for at in range(max(1, len(word) - 1))]


def hamming_distance(first: str, second: str) -> int:
    """Return in how many of the 64 bits two fingerprints differ."""
    return (int(first, 16) ^ int(second, 16)).bit_count()


FAR = 20
"""Bits. No paraphrased pair in benchmarks.pairs differs more; 98 % of random pairs do."""
SHORT = 5
"""Words. In shorter texts, one changed word changes too many bits."""


def most_bits(words: int) -> int:
    """Return in how many bits the duplicates of a text with this number of words may differ."""
    return FAR if words >= SHORT else 64


def compute_bands(hash_: str) -> tuple[int, ...]:
    """Return four keys. Fingerprints that differ in at most three bits share one of them.

    Empty for a text without words.
    """
    if hash_ == "0" * 16 or len(hash_) != 16:
        return ()
    bits = int(hash_, 16)
    return (
        bits >> 48,
        1 << 16 | (bits >> 32 & 0xFFFF),
        2 << 16 | (bits >> 16 & 0xFFFF),
        3 << 16 | (bits & 0xFFFF),
    )


_ONES = int("0001" * 64, 16)
"""The lowest bit of each of the 64 counters."""


class _Spread(dict[str, int]):
    """The 64 hash bits of each word, each as the lowest bit of its own 16-bit counter."""

    def __missing__(self, word: str) -> int:
        digest = int.from_bytes(
            hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
        )
        known = int(f"{digest:064b}".replace("0", "0000").replace("1", "0001"), 16)
        if len(self) > 50_000:
            self.clear()
        self[word] = known
        return known


_SPREAD = _Spread()
