"""Columns of numbers: arrays if numpy is loaded, otherwise lists.

Importing numpy takes longer than a keyword search in a fresh process. So a hook or a single command
does without it, and a process that runs on uses it.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Numbers: TypeAlias = Any
"""A column: a `ListColumn` or an array of numpy."""


class ListColumn:
    """A list of numbers with the arithmetic of arrays."""

    __slots__ = ("values",)

    def __init__(self, values: Iterable[float]) -> None:
        self.values = list(values)

    def _combine(
        self, other: ListColumn | float, operate: Callable[[Any, Any], float]
    ) -> ListColumn:
        if isinstance(other, ListColumn):
            return ListColumn(map(operate, self.values, other.values))
        return ListColumn([operate(value, other) for value in self.values])

    def __add__(self, other: ListColumn | float) -> ListColumn:
        return self._combine(other, operator.add)

    def __sub__(self, other: ListColumn | float) -> ListColumn:
        return self._combine(other, operator.sub)

    def __mul__(self, other: ListColumn | float) -> ListColumn:
        return self._combine(other, operator.mul)

    def __truediv__(self, other: ListColumn | float) -> ListColumn:
        return self._combine(other, operator.truediv)

    def __rtruediv__(self, other: float) -> ListColumn:
        return ListColumn([other / value for value in self.values])

    def __pow__(self, exponent: float) -> ListColumn:
        return ListColumn([value**exponent for value in self.values])

    def __rpow__(self, base: float) -> ListColumn:
        return ListColumn([base**value for value in self.values])

    def __rsub__(self, other: float) -> ListColumn:
        return ListColumn([other - value for value in self.values])

    __radd__ = __add__
    __rmul__ = __mul__

    def __getitem__(self, places: Any) -> Any:
        values = self.values
        if isinstance(places, int):
            return values[places]
        return ListColumn([values[place] for place in places])

    def __len__(self) -> int:
        return len(self.values)

    def sum(self) -> float:
        """Return the sum."""
        return sum(self.values)

    def tolist(self) -> list[float]:
        """Return the numbers."""
        return self.values


class ListColumns:
    """Makes columns of lists."""

    def make(self, values: Sequence[float]) -> Numbers:
        """Return a column with these numbers."""
        return ListColumn(values)

    def fill(self, size: int, values: Mapping[int, float]) -> Numbers:
        """Return a column of zeros with these numbers at their places."""
        column = [0.0] * size
        for place, value in values.items():
            column[place] = value
        return ListColumn(column)

    def index(self, places: Sequence[int]) -> Any:
        """Return places by which a column can be indexed."""
        return places

    def maximum(self, column: Numbers, other: Numbers | float) -> Numbers:
        """Return the larger number at each place."""
        return column._combine(other, max)

    def minimum(self, column: Numbers, other: Numbers | float) -> Numbers:
        """Return the smaller number at each place."""
        return column._combine(other, min)

    def exp(self, column: Numbers) -> Numbers:
        """Return e to the power of each number."""
        return ListColumn(map(math.exp, column.values))

    def is_positive(self, column: Numbers) -> Numbers:
        """Return 1 for numbers above 0, else 0."""
        return ListColumn([float(value > 0) for value in column.values])

    def is_known(self, column: Numbers) -> Numbers:
        """Return 1 for numbers, 0 for NaN."""
        return ListColumn([float(not math.isnan(value)) for value in column.values])

    def replace_unknown(self, column: Numbers, known: Numbers, other: float) -> Numbers:
        """Return the numbers, with `other` wherever `known` is 0."""
        pairs = zip(column.values, known.values, strict=True)
        return ListColumn([value if is_known else other for value, is_known in pairs])

    def fill_unknown(self, column: Numbers) -> tuple[Numbers, float] | None:
        """Return the numbers with the smallest for each NaN, and the largest; None: all are NaN."""
        known = [value for value in column.values if not math.isnan(value)]
        if not known:
            return None
        low = min(known)
        filled = [low if math.isnan(value) else value for value in column.values]
        return ListColumn(filled), max(known)

    def find_group_maxima(
        self, column: Numbers, groups: Any, count: int, least: float = 0.0
    ) -> Numbers:
        """Return the largest number of each group, at least `least`.

        `groups` has the group of each number; no group is empty.
        """
        best = [least] * count
        for value, group in zip(column.values, groups, strict=True):
            best[group] = max(best[group], value)
        return ListColumn(best)

    def stack(self, weighted: Sequence[tuple[Numbers, float]]) -> Iterable[tuple[Numbers, Any]]:
        """Return columns and their weights; those of arrays are rows of one array."""
        return weighted

    def take(self, column: Numbers, places: Any) -> Numbers:
        """Return the numbers at places, of each row if columns are stacked."""
        return column[places]

    def sum_rows(self, column: Numbers) -> Numbers:
        """Return the sum of stacked columns."""
        return column

    def sort_descending(self, column: Numbers, ties: Numbers) -> list[int]:
        """Return all places, that of the largest number first; of equal ones, by `ties`."""
        values, later = column.values, ties.values
        return sorted(range(len(values)), key=lambda at: (-values[at], -later[at]))


class ArrayColumns(ListColumns):
    """Makes columns of arrays."""

    def __init__(self) -> None:
        import numpy

        self._numpy = numpy

    def make(self, values: Sequence[float]) -> Numbers:
        """Return a column with these numbers."""
        return self._numpy.array(values, self._numpy.float64)

    def fill(self, size: int, values: Mapping[int, float]) -> Numbers:
        """Return a column of zeros with these numbers at their places."""
        column = self._numpy.zeros(size)
        if values:
            column[[*values]] = [*values.values()]
        return column

    def index(self, places: Sequence[int]) -> Any:
        """Return places by which a column can be indexed."""
        return self._numpy.array(places, self._numpy.intp)

    def maximum(self, column: Numbers, other: Numbers | float) -> Numbers:
        """Return the larger number at each place."""
        return self._numpy.maximum(column, other)

    def minimum(self, column: Numbers, other: Numbers | float) -> Numbers:
        """Return the smaller number at each place."""
        return self._numpy.minimum(column, other)

    def exp(self, column: Numbers) -> Numbers:
        """Return e to the power of each number."""
        return self._numpy.exp(column)

    def is_positive(self, column: Numbers) -> Numbers:
        """Return 1 for numbers above 0, else 0."""
        return (column > 0).astype(self._numpy.float64)

    def is_known(self, column: Numbers) -> Numbers:
        """Return 1 for numbers, 0 for NaN."""
        return (~self._numpy.isnan(column)).astype(self._numpy.float64)

    def replace_unknown(self, column: Numbers, known: Numbers, other: float) -> Numbers:
        """Return the numbers, with `other` wherever `known` is 0."""
        return self._numpy.where(known, column, other)

    def fill_unknown(self, column: Numbers) -> tuple[Numbers, float] | None:
        """Return the numbers with the smallest for each NaN, and the largest; None: all are NaN."""
        if not len(column):
            return None
        if math.isnan(column.sum()):
            is_unknown = self._numpy.isnan(column)
            if is_unknown.all():
                return None
            column = self._numpy.where(is_unknown, column[~is_unknown].min(), column)
        return column, float(column.max())

    def find_group_maxima(
        self, column: Numbers, groups: Any, count: int, least: float = 0.0
    ) -> Numbers:
        """Return the largest number of each group, at least `least`.

        `groups` has the group of each number; no group is empty.
        """
        order = groups.argsort(kind="stable")
        starts = groups[order].searchsorted(self._numpy.arange(count))
        best = self._numpy.maximum.reduceat(column[..., order], starts, axis=-1)
        return self._numpy.maximum(best, least)

    def stack(self, weighted: Sequence[tuple[Numbers, float]]) -> Iterable[tuple[Numbers, Any]]:
        """Return columns and their weights; those of arrays are rows of one array."""
        if not weighted:
            return ()
        stacked, weights = zip(*weighted, strict=True)
        return ((self._numpy.stack(stacked), self._numpy.array(weights)[:, None]),)

    def take(self, column: Numbers, places: Any) -> Numbers:
        """Return the numbers at places, of each row if columns are stacked."""
        return column[..., places]

    def sum_rows(self, column: Numbers) -> Numbers:
        """Return the sum of stacked columns."""
        return column.sum(axis=0)

    def sort_descending(self, column: Numbers, ties: Numbers) -> list[int]:
        """Return all places, that of the largest number first; of equal ones, by `ties`."""
        order: list[int] = self._numpy.lexsort((-ties, -column)).tolist()
        return order


def choose_columns() -> ListColumns:
    """Return what makes columns: of arrays if numpy is loaded."""
    return ArrayColumns() if "numpy" in sys.modules else ListColumns()
