"""The signs of vectors as bits: 1/48 of the size, and nearly as good for finding near vectors.

The number of signs that two vectors share depends on their angle. A search counts them for every
vector (two instructions for 64 dimensions); only the best few hundred are compared exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muisti.storage.vector_codes import (
    Bits,
    Floats,
    compute_residuals,
    compute_signs,
    count_words,
    dequantize,
    quantize,
)

__all__ = [
    "BLOCK",
    "Bits",
    "Floats",
    "Numbers",
    "SignTable",
    "compute_residuals",
    "compute_signs",
    "count_words",
    "dequantize",
    "quantize",
]

Numbers = NDArray[np.int64]
BLOCK = 4096
"""Vectors per block."""


class SignTable:
    """The signs of all vectors of a space, by column, with spare capacity."""

    def __init__(self, dimensions: int) -> None:
        self._numbers: Numbers = np.zeros(BLOCK, np.int64)
        self._columns: Bits = np.zeros((count_words(dimensions), BLOCK), np.uint64)
        self.count = 0
        self.last = 0
        """The highest vector number in the table."""

    def add(self, numbers: Numbers, rows: Bits) -> None:
        """Add vectors. Their numbers must be higher than all that are in the table."""
        if not len(numbers):
            return
        start, end = self.count, self.count + len(numbers)
        if end > len(self._numbers):
            size = max(end, 2 * len(self._numbers))
            larger_numbers = np.zeros(size, np.int64)
            larger_columns = np.zeros((len(self._columns), size), np.uint64)
            larger_numbers[:start] = self._numbers[:start]
            larger_columns[:, :start] = self._columns[:, :start]
            self._numbers, self._columns = larger_numbers, larger_columns
        self._numbers[start:end] = numbers
        self._columns[:, start:end] = rows.T
        # The count goes up last, so that a search in another thread never sees an incomplete row.
        self.count, self.last = end, max(self.last, int(numbers.max()))

    def find_nearest(self, query: Bits, take: int, among: Numbers | None = None) -> Numbers:
        """Return the numbers of at least `take` vectors that share the most signs, in no order."""
        count = self.count
        numbers, columns = self._numbers[:count], self._columns[:, :count]
        if among is not None:
            chosen = np.flatnonzero(np.isin(numbers, among))
            numbers, columns = numbers[chosen], columns[:, chosen]
        if len(numbers) <= take:
            return numbers[numbers > 0]
        different = np.zeros(len(numbers), np.uint16)
        for column, word in zip(columns, query, strict=True):
            different += np.bitwise_count(column ^ word)
        # Counting finds the cut-off: there are few distinct distances, and sorting is slow.
        up_to = int(np.searchsorted(np.cumsum(np.bincount(different)), take))
        chosen = np.flatnonzero(different <= up_to)[: 4 * take]  # many may have equal distances
        found: Numbers = numbers[chosen]
        return found[found > 0]
