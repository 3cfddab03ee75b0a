"""Score candidates together with their neighbours in a conversation. Pure.

"Yes, last May!" matches nothing by itself: a short message depends on what was said around it. So
the words and vectors of up to two neighbours on each side count for a memory too. They count less
the longer it is itself, and the longer they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from muisti.recall.columns import ListColumns, Numbers, choose_columns

if TYPE_CHECKING:
    from muisti.ports import Candidate, Term, WordCounts

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
Scores = dict[str, float]
"""By candidate."""


def score_shortness(lengths: Numbers, columns: ListColumns) -> Numbers:
    """Return 1 for texts of at most SHORT words, less for longer ones."""
    return columns.minimum(SHORT / columns.maximum(lengths, 1.0), 1.0)


class Neighbourhood:
    """Candidates, the texts around them, and how often the query's words occur in all of these.

    A column has one number for each text. The candidates come first; at the end is the place of a
    missing neighbour, where all numbers are 0.
    """

    def __init__(
        self, candidates: Mapping[str, Candidate], ids: Sequence[str], counted: WordCounts
    ) -> None:
        """`ids` are those of all texts, beginning with the candidates."""
        self._columns = columns = choose_columns()
        self._ids = ids
        self._candidates = list(candidates.values())
        self._size = len(ids) + 1
        self._counts = counted.counts
        self._is_indexed = [length >= 0 for length in counted.lengths]
        self._all_indexed = all(self._is_indexed)
        self._indexed = columns.make([*map(float, self._is_indexed), 0.0])
        self._lengths = columns.make([*(max(0, length) for length in counted.lengths), 0.0])
        self._own = columns.index(range(len(self._candidates)))
        self._sides: list[tuple[Numbers, Numbers]] = []
        """The places of neighbours on one side, and the share to which each counts."""
        if any(one.before or one.after for one in self._candidates):
            self._find_sides()

    def _find_sides(self) -> None:
        places = {id_: place for place, id_ in enumerate(self._ids)}
        missing = len(self._ids)
        short = score_shortness(self._lengths, self._columns) * self._indexed
        for side in ("before", "after"):
            neighbours = [getattr(one, side) for one in self._candidates]
            share = short[self._own]
            for step in (0, 1):
                at = self._columns.index(
                    [places[ids[step]] if len(ids) > step else missing for ids in neighbours]
                )
                share = share * short[at]
                self._sides.append((at, share))

    def _add_sides(self, column: Numbers, own: float) -> Numbers:
        """Return the numbers of candidates, `own` times, with those of their neighbours."""
        total = column[self._own] * own
        for at, share in self._sides:
            total = total + share * column[at]
        return total

    def _count(self, term: Term) -> Mapping[int, float]:
        """Return how often each text has a term; an alternative counts less."""
        counts = self._counts.get(term.text, _NONE)
        if not term.alternatives:
            return counts
        found: dict[int, float] = {}
        for word in term.alternatives:
            for place, count in self._counts.get(word, _NONE).items():
                found[place] = max(LOOSE * count, found.get(place, 0.0))
        return {**found, **counts}

    def _by_candidate(self, column: Numbers, places: Sequence[bool] | None = None) -> Scores:
        """Return the numbers of candidates, without those at places that are not known."""
        pairs = zip(self._ids, column.tolist(), strict=False)
        if places is None:
            return dict(pairs)
        return {id_: score for (id_, score), known in zip(pairs, places, strict=False) if known}

    def score_words(self, terms: Sequence[Term]) -> tuple[Scores, Scores]:
        """Return the BM25 score of each candidate together with its neighbours.

        Also return how much of the query its session covers: each word counts where it scores best
        in the session.
        """
        columns = self._columns
        own_indexed = self._indexed[self._own]
        count = own_indexed.sum()
        if not count:
            return {}, dict.fromkeys(self._ids[: len(self._candidates)], 0.0)
        lengths = self._add_sides(self._lengths, OWN)
        average = max(1.0, (lengths * own_indexed).sum() / count)
        dampening = (lengths * (_B / average) + (1 - _B)) * _K1
        average = max(1.0, self._lengths.sum() / max(1.0, self._indexed.sum()))
        own_dampening = (self._lengths[self._own] * (_B / average) + (1 - _B)) * _K1
        groups, group_count = self._group_by_session()
        words = own_indexed * 0.0
        covered = columns.make([0.0] * group_count)
        for term in terms:
            counts = self._count(term)
            if counts:
                column = columns.fill(self._size, counts)
                total = self._add_sides(column, OWN)
                words = words + total * (term.weight * (_K1 + 1)) / (total + dampening)
                own = column[self._own]
                score = own * term.weight / (own + own_dampening)
                covered = covered + columns.find_group_maxima(score, groups, group_count)
        indexed = None if self._all_indexed else self._is_indexed
        return self._by_candidate(words, indexed), self._by_candidate(covered[groups])

    def _group_by_session(self) -> tuple[Numbers, int]:
        """Return the number of each candidate's session; without a session, its own number."""
        numbers: dict[str, int] = {}
        groups = [
            numbers.setdefault(one.session_id or one.memory_id, len(numbers))
            for one in self._candidates
        ]
        return self._columns.index(groups), len(numbers)

    def score_vectors(self, similarities: Mapping[str, float]) -> Scores:
        """Return the cosine of each candidate, averaged with those of its neighbours."""
        columns = self._columns
        cosines = columns.make([*(similarities.get(id_, 0.0) for id_ in self._ids), 0.0])
        is_known = [id_ in similarities for id_ in self._ids]
        known = columns.make([*map(float, is_known), 0.0])
        total = cosines[self._own]
        weight = total * 0.0 + 1.0
        for (at, share), part in zip(self._sides, _PARTS, strict=False):
            counting = share * known[at] * part
            total = total + counting * cosines[at]
            weight = weight + counting
        pairs = zip(is_known, self._is_indexed, strict=True)
        scored = [known and indexed for known, indexed in pairs]
        return self._by_candidate(total / weight, scored)


_NONE: Mapping[int, float] = {}


def score_sessions_by_vectors(
    candidates: Mapping[str, Candidate], similarities: Mapping[str, float]
) -> Scores:
    """Return for each candidate the best cosine in its session; without a session, its own."""
    best: dict[str, float] = {}
    for id_, candidate in candidates.items():
        cosine = similarities.get(id_)
        if cosine is not None:
            session = candidate.session_id or id_
            if cosine > best.get(session, -2.0):
                best[session] = cosine
    sessions = {id_: candidate.session_id or id_ for id_, candidate in candidates.items()}
    return {id_: best[session] for id_, session in sessions.items() if session in best}
