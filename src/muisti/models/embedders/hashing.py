"""Vectors without a model: words are hashed into a fixed number of buckets (spec 3's feature hashing).

A word counts 1 + ln(how often it stands in the text). How rare a word is among all texts is left out on purpose: it
would make a text's vector depend on what else was saved, and old vectors could not be compared with new ones. What
stands in its place is fixed: stop words are dropped, and longer words, which are rarer, count a little more.

Such vectors know equal words, not equal meanings: good for near-duplicates, no match for a model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from muisti.models.embedders.registry import EmbedderOptions, EmbedderSpec
from muisti.ports import Identity, Matrix, Vector
from muisti.text.tokens import tokenize

_REVISION = "fnv1a-r1"
_COMMON = """
a an and are as at be but by for from had has have he her his i if in into is it its me my
no not of on or our she so that the their them they this to was we were what when which who will with you your
"""
_OFFSET, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 0xFFFFFFFFFFFFFFFF


class HashingEmbedder:
    """The same text always has the same vector, on every machine. Needs no file and no network."""

    max_tokens = 1_000_000
    unrelated = -1.0
    """There is no window: whole texts are read."""

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    def identity(self) -> Identity:
        """The way of hashing."""
        return Identity("hashing", self._dimensions, _REVISION)

    def is_ready(self) -> bool:
        """Always: there is nothing to load."""
        return True

    def understands(self, text: str) -> float:
        """Nothing: it knows words, and keyword search knows them better."""
        return 0.0

    def count_tokens(self, text: str) -> int:
        """How many index words a text has."""
        return len(tokenize(text))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row for each text."""
        import numpy as np  # not loaded by those who never embed

        made = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            made[row] = self._vector(text)
        return made

    def embed_query(self, text: str) -> Vector:
        """The same as for a document."""
        row: Vector = self.embed_documents([text])[0]
        return row

    def close(self) -> None:
        """There is nothing to let go of."""

    def _vector(self, text: str) -> list[float]:
        buckets = [0.0] * self._dimensions
        found = tokenize(text)
        for word, times in Counter(
            [word for word in found if word not in _stop_words()] or found
        ).items():
            number = fnv1a(word)
            sign = (
                1.0 if number >> 63 else -1.0
            )  # words that share a bucket cancel out instead of adding up
            buckets[number % self._dimensions] += (
                sign * (1.0 + math.log(times)) * (1.0 + math.log(len(word)) / 4)
            )
        length = math.sqrt(sum(value * value for value in buckets))
        if not length:
            return [
                1.0,
                *[0.0] * (self._dimensions - 1),
            ]  # a text without words, too, has a vector of length 1
        return [value / length for value in buckets]


@lru_cache(maxsize=50_000)
def fnv1a(word: str) -> int:
    """The 64-bit FNV-1a hash of a word's UTF-8; lone surrogates are hashed as they are."""
    number = _OFFSET
    for byte in word.encode("utf-8", "surrogatepass"):
        number = ((number ^ byte) * _PRIME) & _MASK
    return number


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    """English ones, as index words."""
    return frozenset(word for stop in _COMMON.split() for word in tokenize(stop))


def _make(options: EmbedderOptions) -> HashingEmbedder:
    return HashingEmbedder(options.dimensions or 256)


SPEC = EmbedderSpec(_make, is_local=True)
