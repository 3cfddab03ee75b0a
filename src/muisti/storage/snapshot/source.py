"""What a snapshot needs of the index that it is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports import Candidate, Term, WordMatch
    from muisti.storage.snapshot.build import Row

Array: TypeAlias = NDArray[Any]
Shapes: TypeAlias = Mapping[str, tuple[str, tuple[int, ...]]]
"""The type and the shape of each array, by name."""
Values: TypeAlias = Mapping[str, Any]
"""What a snapshot has beside its arrays."""
BATCH = 1000
"""Rows that are read and indexed at a time: bounds the memory that building needs."""


class ServingSpace(NamedTuple):
    """The vector space that serves."""

    number: int | None = None
    """None: there is none."""
    dimensions: int = 0
    centre: bytes | None = None
    vectors: int = 0
    """How many it has."""


class SnapshotSource(Protocol):
    """Reads the index within one read transaction. Texts are named by their row numbers."""

    has_pooled_connection: bool
    """Whether others wait for the connection it holds: no model may run meanwhile."""

    def read_rows(self, numbers: Sequence[int] | None) -> Iterator[list[Row]]:
        """Yield texts in batches, sorted by number; None: all."""
        ...

    def read_sessions(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield number, session and type of the texts in sessions, in batches.

        They are sorted by session, then by time and ID.
        """
        ...

    def read_vectors(
        self, space: int, numbers: Sequence[int] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield vectors in batches, sorted by text: n, scale, codes, rest, first, last."""
        ...

    def read_space(self) -> ServingSpace:
        """Return the vector space that serves."""
        ...

    def find_superseded(self, numbers: Sequence[int]) -> list[int]:
        """Return the texts that these supersede."""
        ...

    def find_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the IDs of texts."""
        ...

    def find_numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of texts by their IDs."""
        ...

    def find_accepted(self, numbers: Sequence[int], where: Filter) -> list[int]:
        """Return those of these texts that match the filter."""
        ...

    def read_sides(
        self, numbers: Sequence[int]
    ) -> Mapping[int, tuple[Sequence[int], Sequence[int]]]:
        """Return the two texts before and the two after each of these in its session.

        Texts without a session are left out.
        """
        ...


class SourceIndex(Protocol):
    """The methods of the search index that a search in a snapshot calls."""

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> list[WordMatch]:
        """As `WordIndex.match`, without the snapshot if a term is a prefix."""
        ...

    def match_literal(self, text: str, where: Filter, limit: int) -> list[str]:
        """As `WordIndex.match_literal`."""
        ...

    def chains(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """As `LinkReader.chains`."""
        ...

    def read_shown(self, numbers: Sequence[int], where: Filter) -> dict[int, Candidate]:
        """Return candidates by their row numbers, without their neighbours."""
        ...


class Distrust(Protocol):
    """Is told that a table cannot be used."""

    def reject(self, error: Exception) -> None:
        """Use the snapshot no more: it turned out to be damaged."""
        ...

    def distrust(self) -> None:
        """Do not use the table in this transaction: it does not agree with the index."""
        ...


class ArrayWriter(Protocol):
    """Takes the arrays of a snapshot, in any order; `finish` makes it valid."""

    def write(self, key: str, rows: Array, at: int = 0) -> None:
        """Write the next rows of an array, beginning with row `at`."""
        ...

    def finish(self) -> None:
        """Make the snapshot valid."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class MemoryWriter:
    """Keeps the arrays in memory."""

    def __init__(self, shapes: Shapes, values: Values) -> None:
        self.columns: dict[str, Array] = {
            name: np.zeros(shape, dtype) for name, (dtype, shape) in shapes.items()
        }
        self.values = values

    def write(self, key: str, rows: Array, at: int = 0) -> None:
        """Write the next rows of an array, beginning with row `at`."""
        self.columns[key][at : at + len(rows)] = rows

    def finish(self) -> None:
        """Do nothing: it is valid as it is."""

    def close(self) -> None:
        """Do nothing: the arrays stay."""
