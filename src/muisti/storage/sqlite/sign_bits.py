"""The signs of vectors as bits: a forty-eighth of the numbers, and nearly as good at telling near from far.

How many signs two vectors share follows their angle. A search counts them for every vector (two instructions for 64
dimensions), and only the best few hundred are then compared by their numbers. Pure but for numpy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]
BLOCK = 4096
"""How many make a block."""


def count_words(dimensions: int) -> int:
    """How many words of 64 bits hold the signs of a vector."""
    return (dimensions + 63) // 64


def compute_signs(vectors: Floats, centre: Floats | None) -> Bits:
    """A row of words for each vector. Taking the centre off first spreads vectors that all point one way."""
    shifted = vectors if centre is None else vectors - centre
    packed = np.packbits(shifted > 0, axis=1)
    whole = np.zeros((len(vectors), count_words(vectors.shape[1]) * 8), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view(np.uint64)


def quantize(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Each component as a byte, and what to multiply it with: four times smaller, cosines off by less than 0.005."""
    scale = np.abs(vectors).max(axis=1) / np.float32(127)
    scale[scale == 0] = 1
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)


FINE = np.float32(254)


def compute_residuals(vectors: Floats, codes: NDArray[np.int8], scale: Floats) -> NDArray[np.int8]:
    """What the bytes leave of each component, in 254ths of a step: of two alike, bytes alone cannot tell which is nearer."""
    rest: NDArray[np.int8] = (
        np.rint((vectors / scale[:, None] - codes) * FINE).clip(-127, 127).astype(np.int8)
    )
    return rest


def dequantize(codes: NDArray[np.int8], rest: NDArray[np.int8], scale: Floats) -> Floats:
    """The vectors of which these are the bytes."""
    return (codes + rest.astype(np.float32) / FINE) * scale[:, None]


class SignTable:
    """The signs of all vectors of a space, column by column, with room to grow."""

    def __init__(self, dimensions: int) -> None:
        self._numbers: Numbers = np.zeros(BLOCK, np.int64)
        self._columns: Bits = np.zeros((count_words(dimensions), BLOCK), np.uint64)
        self.count = 0
        self.last = 0
        """The highest number that is in."""

    def add(self, numbers: Numbers, rows: Bits) -> None:
        """More vectors, whose numbers are above all that are in."""
        if not len(numbers):
            return
        start, end = self.count, self.count + len(numbers)
        if end > len(self._numbers):
            self._grow(end)
        self._numbers[start:end] = numbers
        self._columns[:, start:end] = rows.T
        # The count goes up last: a search in another thread never sees a row that is half there.
        self.count, self.last = end, max(self.last, int(numbers.max()))

    def _grow(self, needed: int) -> None:
        size = max(needed, 2 * len(self._numbers))
        numbers, columns = np.zeros(size, np.int64), np.zeros((len(self._columns), size), np.uint64)
        numbers[: self.count], columns[:, : self.count] = (
            self._numbers[: self.count],
            self._columns[:, : self.count],
        )
        self._numbers, self._columns = numbers, columns

    def find_nearest(self, asked: Bits, take: int, among: Numbers | None = None) -> Numbers:
        """The numbers of the vectors that share most signs with the one asked for, in no order; a few more than asked."""
        count = self.count
        numbers, columns = self._numbers[:count], self._columns[:, :count]
        if among is not None:
            chosen = np.flatnonzero(np.isin(numbers, among))
            numbers, columns = numbers[chosen], columns[:, chosen]
        if len(numbers) <= take:
            return numbers[numbers > 0]
        different = np.zeros(len(numbers), np.uint16)
        for column, word in zip(columns, asked, strict=True):
            different += np.bitwise_count(column ^ word)
        # Where to cut is found by counting: there are few distances, and sorting a million of them takes as long as the scan.
        up_to = int(np.searchsorted(np.cumsum(np.bincount(different)), take))
        found: Numbers = numbers[
            np.flatnonzero(different <= up_to)[: 4 * take]
        ]  # of countless equal ones a few will do
        return found[found > 0]
