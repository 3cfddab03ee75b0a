"""Columns of numbers: arrays if numpy is loaded, otherwise lists.

Importing numpy takes longer than a keyword search in a fresh process. So a hook or a single command
does without it, and a process that runs on uses it.
"""

from __future__ import annotations

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

    __radd__ = __add__
    __rmul__ = __mul__

    def __getitem__(self, places: Sequence[int]) -> ListColumn:
        values = self.values
        return ListColumn([values[place] for place in places])

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

    def maximum(self, column: Numbers, least: float) -> Numbers:
        """Return the numbers, but at least `least`."""
        return ListColumn([max(value, least) for value in column.values])

    def minimum(self, column: Numbers, most: float) -> Numbers:
        """Return the numbers, but at most `most`."""
        return ListColumn([min(value, most) for value in column.values])

    def find_group_maxima(self, column: Numbers, groups: Any, count: int) -> Numbers:
        """Return the largest number of each group, at least 0; `groups` has each number's group."""
        best = [0.0] * count
        for value, group in zip(column.values, groups, strict=True):
            best[group] = max(best[group], value)
        return ListColumn(best)


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

    def maximum(self, column: Numbers, least: float) -> Numbers:
        """Return the numbers, but at least `least`."""
        return self._numpy.maximum(column, least)

    def minimum(self, column: Numbers, most: float) -> Numbers:
        """Return the numbers, but at most `most`."""
        return self._numpy.minimum(column, most)

    def find_group_maxima(self, column: Numbers, groups: Any, count: int) -> Numbers:
        """Return the largest number of each group, at least 0; `groups` has each number's group."""
        best = self._numpy.zeros(count)
        self._numpy.maximum.at(best, groups, column)
        return best


def choose_columns() -> ListColumns:
    """Return what makes columns: of arrays if numpy is loaded."""
    return ArrayColumns() if "numpy" in sys.modules else ListColumns()
