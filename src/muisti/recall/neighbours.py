"""Score candidates together with their neighbours in a conversation. Pure.

"Yes, last May!" matches nothing by itself: a short message depends on what was said around it. So
the words and vectors of up to two neighbours on each side count for a memory too. They count less
the longer it is itself, and the longer they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.ports import Term
    from muisti.ports.columns import CandidateTable
    from muisti.recall.columns import ListColumns, Numbers

OWN = 3.0
"""A memory's own words count this many times as much as a neighbour's."""
SHORT = 25
"""Up to this many words a memory uses its neighbours fully, and a neighbour counts fully."""
NEAR, NEXT_BUT_ONE = 0.2, 0.1
"""The weight of the vector of a neighbour, and of the one beyond it."""
LOOSE = 0.7
"""The weight of an alternative for a word, such as a compound or a typo."""
_K1, _B = 1.2, 0.75
"""The constants of BM25."""
_PARTS = (NEAR, NEXT_BUT_ONE, NEAR, NEXT_BUT_ONE)


def score_shortness(lengths: Numbers, columns: ListColumns) -> Numbers:
    """Return 1 for texts of at most SHORT words, less for longer ones."""
    return SHORT / columns.maximum(lengths, float(SHORT))


class Neighbourhood:
    """Candidates and the texts around them. Its scores are columns with one for each candidate."""

    def __init__(self, table: CandidateTable, columns: ListColumns) -> None:
        self._table = table
        self._columns = columns
        self._own = slice(len(table.keys))
        self._lengths = columns.maximum(table.lengths, 0.0)
        self._indexed = columns.is_positive(table.lengths + 1.0)
        self._sessions = table.session_groups
        if self._sessions is None:
            self._sessions = columns.group(table.sessions, table.session_count)
        self._has_sides = len(table.sides) > 0
        if self._has_sides:
            short = score_shortness(self._lengths, columns) * self._indexed
            self._shares = columns.share_sides(short, table.sides, short[self._own])

    def _add_sides(self, column: Numbers, own: float) -> Numbers:
        """Return the numbers of candidates, `own` times, with those of their neighbours."""
        total = self._columns.take(column, self._own) * own
        if self._has_sides:
            total = total + self._columns.sum_sides(column, self._table.sides, self._shares)
        return total

    def _count(self, term: Term) -> Numbers | None:
        """Return how often each text has a term; an alternative counts less. None: none has it."""
        columns = self._columns
        counts = self._table.counts.get(term.text)
        found = None
        for word in term.alternatives:
            other = self._table.counts.get(word)
            if other is not None:
                other = other * LOOSE
                found = other if found is None else columns.maximum(found, other)
        if counts is None or found is None:
            return found if counts is None else counts
        return counts + found * (1.0 - columns.is_positive(counts))

    def score_words(self, terms: Sequence[Term]) -> tuple[Numbers | None, Numbers]:
        """Return the BM25 score of each candidate together with its neighbours.

        Also return how much of the query its session covers: each word counts where it scores best
        in the session. The score of a candidate that is not in the word index is NaN; None if that
        is true of all.
        """
        columns, table = self._columns, self._table
        own_indexed = self._indexed[self._own]
        count = own_indexed.sum()
        words = own_indexed * 0.0
        if not count:
            return None, words
        lengths = self._add_sides(self._lengths, OWN)
        average = max(1.0, (lengths * own_indexed).sum() / count)
        dampening = (lengths * (_B / average) + (1 - _B)) * _K1
        average = max(1.0, self._lengths.sum() / max(1.0, self._indexed.sum()))
        own_dampening = (self._lengths[self._own] * (_B / average) + (1 - _B)) * _K1
        covered: Numbers | None = None
        found = [
            (column, term.weight) for term in terms if (column := self._count(term)) is not None
        ]
        for column, weight in columns.stack(found):
            total = self._add_sides(column, OWN)
            words = words + columns.sum_rows(total * weight / (total + dampening)) * (_K1 + 1)
            own = columns.take(column, self._own)
            score = own * weight / (own + own_dampening)
            best = columns.sum_rows(columns.find_group_maxima(score, self._sessions))
            covered = best if covered is None else covered + best
        if count < len(table.keys):
            words = columns.replace_unknown(words, own_indexed, float("nan"))
        return words, own_indexed * 0.0 if covered is None else covered[table.sessions]

    def score_vectors(self, cosines: Numbers) -> Numbers | None:
        """Return the cosine of each candidate, averaged with those of its neighbours.

        NaN for a candidate without a vector, or that is not in the word index; None if that is true
        of all.
        """
        columns = self._columns
        known = columns.is_known(cosines)
        scored = (known * self._indexed)[self._own]
        count = scored.sum()
        if not count:
            return None
        values = columns.replace_unknown(cosines, known, 0.0)
        total = values[self._own]
        if self._has_sides:
            sides, shares = self._table.sides, self._shares
            weight = columns.sum_sides(known, sides, shares, _PARTS) + 1.0
            total = (total + columns.sum_sides(values, sides, shares, _PARTS)) / weight
        if count < len(total):
            total = columns.replace_unknown(total, scored, float("nan"))
        return total

    def score_sessions_by_vectors(self, cosines: Numbers) -> Numbers:
        """Return the best cosine in each candidate's session; NaN if it has no vectors."""
        columns = self._columns
        own = cosines[self._own]
        values = columns.replace_unknown(own, columns.is_known(own), _NONE)
        best = columns.find_group_maxima(values, self._sessions, _NONE)[self._table.sessions]
        return columns.replace_unknown(best, columns.is_positive(best - _NONE), float("nan"))


_NONE = -2.0
"""Less than every cosine."""
