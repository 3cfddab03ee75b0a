"""Vectors without a model: words are hashed into a fixed number of buckets (spec 3).

A word counts 1 + ln(its frequency in the text). There is no inverse document frequency: a vector
would then depend on other texts, and old vectors could not be compared with new ones. Instead, stop
words are dropped, and longer words, which are rarer, count a little more.

Such vectors compare words, not meanings: good for near duplicates, but worse than a model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from muisti.models.embedders.registry import EmbedderSpec
from muisti.ports import Identity, Matrix, Vector
from muisti.text.tokens import tokenize

_REVISION = "fnv1a-r1"
_COMMON = """
a an and are as at be but by for from had has have he her his i if in into is it its me my
no not of on or our she so that the their them they this to was we were what when which who will
with you your
"""
_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 0xFFFFFFFFFFFFFFFF


class HashingEmbedder:
    """Gives a text the same vector on every machine, without files or network."""

    max_tokens = 1_000_000
    """No limit: whole texts are read."""
    unrelated = -1.0
    is_remote = False
    is_parallel = False

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    def identity(self) -> Identity:
        """Return the identity, which names the hash function."""
        return Identity("hashing", self._dimensions, _REVISION)

    def is_ready(self) -> bool:
        """Return True: there is nothing to load."""
        return True

    def understands(self, text: str) -> float:
        """Return 0: it compares words only, which keyword search does better."""
        return 0.0

    def reads(self, text: str) -> bool:
        """Return True: it splits the words of every script."""
        return True

    def count_tokens(self, text: str) -> int:
        """Return the number of index words."""
        return len(tokenize(text))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text."""
        import numpy as np  # slow to import

        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        stop_words = _load_stop_words()
        for row, text in enumerate(texts):
            buckets = [0.0] * self._dimensions
            words = tokenize(text)
            counted = Counter([word for word in words if word not in stop_words] or words)
            for word, times in counted.items():
                number = fnv1a(word)
                sign = 1.0 if number >> 63 else -1.0  # words in one bucket cancel out
                weight = sign * (1.0 + math.log(times)) * (1.0 + math.log(len(word)) / 4)
                buckets[number % self._dimensions] += weight
            length = math.sqrt(sum(value * value for value in buckets))
            if length:
                rows[row] = [value / length for value in buckets]
            else:  # a text without words needs a vector of length 1 too
                rows[row, 0] = 1.0
        return rows

    def embed_query(self, text: str) -> Vector:
        """Return the same vector as for a document."""
        row: Vector = self.embed_documents([text])[0]
        return row

    def close(self) -> None:
        """Do nothing."""


@lru_cache(maxsize=50_000)
def fnv1a(word: str) -> int:
    """Return the 64-bit FNV-1a hash of a word's UTF-8, lone surrogates included."""
    number = _OFFSET
    for byte in word.encode("utf-8", "surrogatepass"):
        number = ((number ^ byte) * _PRIME) & _MASK
    return number


@lru_cache(maxsize=1)
def _load_stop_words() -> frozenset[str]:
    """Return English stop words as index words."""
    return frozenset(word for stop in _COMMON.split() for word in tokenize(stop))


SPEC = EmbedderSpec(
    lambda options: HashingEmbedder(options.dimensions or 256),
    is_local=True,
    name_model=lambda _: "hashing",
)
