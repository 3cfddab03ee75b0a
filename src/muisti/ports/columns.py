"""Candidates in columns: what ranking needs, with one column for each property.

A back end may implement `ColumnSearch` to search without reading rows. Without it,
`muisti.recall.row_search` makes the same columns of what the search index returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from muisti.model import Filter
    from muisti.ports.search import Candidate, Term
    from muisti.ports.vectors import Space, Vector

Key: TypeAlias = Any
"""What a back end calls a text, for example its ID or its place in a table."""
Column: TypeAlias = Any
"""Numbers: an array of numpy, or a `muisti.recall.columns.ListColumn`."""

Share: TypeAlias = Callable[[Callable[[int], None], Sequence[int]], None]
"""Calls a function for each of some numbers, maybe in several threads; returns at the end."""


def call_each(function: Callable[[int], None], numbers: Sequence[int]) -> None:
    """Implement Share in the calling thread."""
    for number in numbers:
        function(number)


class UnusableColumns(Exception):
    """The columns are damaged or do not agree with the index. Search without them."""


class FoundText(NamedTuple):
    """A text that vectors found."""

    key: Key
    score: float
    """The cosine of its nearest piece."""
    start: int = 0
    end: int = 0
    """Where the nearest piece is in its content."""


class CandidateTable(NamedTuple):
    """Candidates and their neighbours in their sessions, in columns.

    The candidates are the texts that were found, and up to two texts before and two after each. The
    neighbours of all candidates follow. A text is named by its position.
    """

    keys: Sequence[Key]
    """Of the candidates."""
    lengths: Column
    """The number of words of every text; -1 if it is not in the word index. The last number is
    -1 and belongs to no text."""
    bodies: Column
    """The same without title and labels."""
    counts: Mapping[str, Column]
    """For each word of the query how often every text has it; title and labels count more."""
    sides: Column
    """The positions of the candidates' neighbours in four rows: right before, before that, right
    after, after that. The position of a missing one is the last. Empty if no candidate has any."""
    created_at: Column
    """Of the candidates, in seconds since 1970."""
    about_at: Column
    """The start of their validity, or `created_at`."""
    messages: Column
    """1 for messages, 0 for memories and documents."""
    allowed: Sequence[bool] | None
    """Which candidates match the filter; None: all. The others still serve as neighbours."""
    sessions: Column
    """The number of each candidate's session; a text without a session has its own number."""
    session_count: int
    speakers: Sequence[str]
    """Names of the candidates' speakers, as `muisti.recall.speaker` finds them; and maybe ""."""
    speaker: Column
    """The place of each candidate's speaker in `speakers`."""
    session_groups: Any = None
    """What `muisti.recall.columns` makes of `sessions` to group numbers by them; None: not yet."""


class ColumnSearch(Protocol):
    """Searches in columns within one read transaction. Methods may raise UnusableColumns.

    A wrong column may hide a text. It never shows one: `read` checks the filter in the index.
    """

    is_array: bool
    """Whether columns are arrays of numpy."""

    def match(self, terms: Sequence[Term], where: Filter, limit: int) -> dict[Key, float]:
        """Return the texts that `WordIndex.match` returns, best first, and their bm25."""
        ...

    def match_literal(self, text: str, where: Filter, limit: int) -> Sequence[Key]:
        """Return the texts that `WordIndex.match_literal` returns."""
        ...

    def find_nearest(
        self, space: Space, query: Vector, where: Filter, limit: int, share: Share = call_each
    ) -> list[FoundText]:
        """Return the texts that `VectorIndex.find_nearest` returns.

        `share` may do parts of the work in another thread.
        """
        ...

    def list_speakers(self) -> Set[str] | None:
        """Return the names of all speakers, and maybe of some more.

        None if that is not known without reading, or if a model may not run while it searches:
        it holds something that others wait for.
        """
        ...

    def find_speakers(self, keys: Sequence[Key]) -> set[str]:
        """Return the names of those who speak in these texts."""
        ...

    def find_chains(self, keys: Sequence[Key]) -> dict[str, tuple[str, ...]]:
        """Return what `LinkReader.chains` returns for these texts, by ID."""
        ...

    def find_keys(self, ids: Sequence[str]) -> list[Key]:
        """Return the keys of texts by their IDs."""
        ...

    def describe(self, keys: Sequence[Key], words: Sequence[str], where: Filter) -> CandidateTable:
        """Return these texts and their neighbours. Texts that do not exist are left out."""
        ...

    def compute_cosines(self, table: CandidateTable, space: Space, query: Vector) -> Column:
        """Return the cosine of the nearest piece of every text; NaN if it has no vector.

        The column is as long as `lengths`, and its last number is NaN.
        """
        ...

    def read(self, keys: Sequence[Key], where: Filter) -> list[Candidate]:
        """Return the rows of candidates, without their neighbours, in the given order.

        Raises UnusableColumns if one does not match the filter.
        """
        ...
