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
        if isinstance(places, slice):
            return ListColumn(values[places])
        return ListColumn([values[place] for place in places])

    def __len__(self) -> int:
        return len(self.values)

    def sum(self) -> float:
        """Return the sum."""
        return sum(self.values)

    def dot(self, other: ListColumn) -> float:
        """Return the sum of the products."""
        return float(sum(map(operator.mul, self.values, other.values)))

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

    def index(self, places: Sequence[int] | Sequence[Sequence[int]]) -> Any:
        """Return places by which a column can be indexed, or several rows of them."""
        return places

    def maximum(self, column: Numbers, other: Numbers | float) -> Numbers:
        """Return the larger number at each place."""
        return column._combine(other, max)

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

    def group(self, groups: Any, count: int) -> Any:
        """Return `count` groups for `find_group_maxima`.

        `groups` has the group of each number; no group is empty.
        """
        return groups, count

    def find_group_maxima(self, column: Numbers, grouped: Any, least: float = 0.0) -> Numbers:
        """Return the largest number of each group, at least `least`."""
        groups, count = grouped
        best = [least] * count
        for value, group in zip(column.values, groups, strict=True):
            best[group] = max(best[group], value)
        return ListColumn(best)

    def share_sides(self, short: Numbers, sides: Any, own: Numbers) -> Any:
        """Return the share to which each neighbour counts, in rows as `sides` has them.

        It is the product of `short` of the text, of the neighbour, and of what is between them.
        """
        shares = []
        for near, far in ((0, 1), (2, 3)):
            share = own * short[sides[near]]
            shares += [share, share * short[sides[far]]]
        return shares

    def sum_sides(
        self, column: Numbers, sides: Any, shares: Any, factors: Sequence[float] = (1, 1, 1, 1)
    ) -> Numbers:
        """Return the sum of the numbers of neighbours, each times its share.

        `factors`: one for each row of `sides`.
        """
        total: Numbers = 0.0
        for at, share, factor in zip(sides, shares, factors, strict=True):
            total = share * column[at] * factor + total
        return total

    def stack(self, weighted: Sequence[tuple[Numbers, float]]) -> Iterable[tuple[Numbers, Any]]:
        """Return columns and their weights; those of arrays are rows of one array."""
        return weighted

    def take(self, column: Numbers, places: Any) -> Numbers:
        """Return the numbers at places, of each row if columns are stacked."""
        return column[places]

    def take_all(self, several: Sequence[Numbers], places: Sequence[int]) -> list[list[float]]:
        """Return the numbers of several columns at places, a list for each column."""
        return [[column.values[place] for place in places] for column in several]

    def take_sides(self, sides: Any, places: Sequence[int]) -> list[list[int]]:
        """Return the numbers of all rows of `sides` at each of these places."""
        return [[side[place] for side in sides] for place in places]

    def sum_rows(self, column: Numbers) -> Numbers:
        """Return the sum of stacked columns."""
        return column

    def sort_descending(self, column: Numbers) -> list[int]:
        """Return all places, that of the largest number first."""
        return sorted(range(len(column)), key=column.values.__getitem__, reverse=True)


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

    def index(self, places: Sequence[int] | Sequence[Sequence[int]]) -> Any:
        """Return places by which a column can be indexed, or several rows of them."""
        return self._numpy.array(places, self._numpy.intp)

    def maximum(self, column: Numbers, other: Numbers | float) -> Numbers:
        """Return the larger number at each place."""
        return self._numpy.maximum(column, other)

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
        largest = float(self._numpy.maximum.reduce(column))
        if math.isnan(largest):
            is_unknown = self._numpy.isnan(column)
            if is_unknown.all():
                return None
            column = self._numpy.where(is_unknown, column[~is_unknown].min(), column)
            largest = float(column.max())
        return column, largest

    def group(self, groups: Any, count: int) -> Any:
        """Return `count` groups for `find_group_maxima`."""
        sizes = self._numpy.bincount(groups, minlength=count)
        return groups.argsort(), sizes.cumsum() - sizes

    def find_group_maxima(self, column: Numbers, grouped: Any, least: float = 0.0) -> Numbers:
        """Return the largest number of each group, at least `least`."""
        order, starts = grouped
        best = self._numpy.maximum.reduceat(column[..., order], starts, axis=-1)
        return self._numpy.maximum(best, least)

    def share_sides(self, short: Numbers, sides: Any, own: Numbers) -> Any:
        """Return the share to which each neighbour counts, in rows as `sides` has them."""
        shares = short[sides]
        shares[1] *= shares[0]
        shares[3] *= shares[2]
        shares *= own
        return shares

    def sum_sides(
        self, column: Numbers, sides: Any, shares: Any, factors: Sequence[float] = ()
    ) -> Numbers:
        """Return the sum of the numbers of neighbours, each times its share; of each row."""
        if factors:
            shares = shares * self._numpy.array(factors)[:, None]
        return self._numpy.add.reduce(column[..., sides] * shares, axis=-2)

    def stack(self, weighted: Sequence[tuple[Numbers, float]]) -> Iterable[tuple[Numbers, Any]]:
        """Return columns and their weights; those of arrays are rows of one array."""
        if not weighted:
            return ()
        stacked, weights = zip(*weighted, strict=True)
        return ((self._numpy.array(stacked), self._numpy.array(weights)[:, None]),)

    def take(self, column: Numbers, places: Any) -> Numbers:
        """Return the numbers at places, of each row if columns are stacked."""
        return column[..., places]

    def take_all(self, several: Sequence[Numbers], places: Sequence[int]) -> list[list[float]]:
        """Return the numbers of several columns at places, a list for each column."""
        taken: list[list[float]] = self._numpy.array(several)[:, places].tolist()
        return taken

    def take_sides(self, sides: Any, places: Sequence[int]) -> list[list[int]]:
        """Return the numbers of all rows of `sides` at each of these places."""
        if not len(sides):
            return [[] for _ in places]
        rows: list[list[int]] = sides[:, places].T.tolist()
        return rows

    def sum_rows(self, column: Numbers) -> Numbers:
        """Return the sum of stacked columns."""
        return self._numpy.add.reduce(column, axis=0)

    def sort_descending(self, column: Numbers) -> list[int]:
        """Return all places, that of the largest number first."""
        order: list[int] = (-column).argsort().tolist()
        return order


def choose_columns() -> ListColumns:
    """Return what makes columns: of arrays if numpy is loaded."""
    return ArrayColumns() if "numpy" in sys.modules else ListColumns()
