"""How probable it is that a search result answers the query. Pure.

The probability is a product of two:

- topic: the vault has something about the query at all. By the best evidence among the first
  results: an off-topic query and gibberish find nothing that is near, or has many of the words.
- answer: this result is the one, and not another. By its lead over the other results.

Both are logistic functions of a few numbers. No number depends on the size of the vault: words
have fixed weights, and cosines are measured from the model's background. The constants were fitted
with `benchmarks/confidence.py`; decision 19 has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from muisti.recall.evidence import Evidence

FIRST = 10
"""How many results are compared with one another. Further ones hardly ever answer."""
LONG_TURN = 30
"""Words from which the length of a turn no longer matters. "Yes, great!" answers nothing."""


FURTHER = 0.12
"""The share of the floor that further results must reach. On LoCoMo, 82 % of the questions then
have a right turn among those that are not weak, instead of 66 % with the whole floor."""
ALL_WORDS = 0.999
"""The share of the query's words from which a text counts as having all of them."""


class Constants(NamedTuple):
    """The constants of one kind of search. A weight is 0 where its number is not available."""

    topic: Sequence[float]
    """Weights of the numbers of `describe_topic`."""
    meaning: Sequence[float]
    """Weights of the numbers of `describe_meaning`. Empty without vectors."""
    first: Sequence[float]
    """Weights of the numbers of `describe_answer`, for the first result."""
    further: Sequence[float]
    """The same for further results: most are wrong whatever speaks for them."""
    floor: float
    """A result with a lower score is weak: few right first results are, most off-topic ones are."""


MEANING = (-10.5, 18.0, 30.0)
"""Chosen, not fitted: 76 % of the right results that answer in other words then reach the floor,
and 4 % of the questions about another domain."""
HYBRID = Constants(
    topic=(-10.08, 12.01, 8.09, 2.24, 1.39, 2.1),
    meaning=MEANING,
    first=(
        2.1, -1.66, 0.57, 0.03, 0.82, 1.73, 1.95, 0.79,
        -0.51, -2.78, -2.75, 0.0, 1.05, 0.53, -1.31, 1.08,
    ),
    further=(
        -2.68, 0.27, 0.17, 1.38, -0.08, -0.12, 1.56, 0.89,
        1.09, 1.77, -0.65, -1.24, 0.43, 0.49, 0.56, 0.2,
    ),
    floor=0.08,
)  # fmt: skip
"""Words and vectors. Nearness decides most: off-topic texts share words by chance."""
WORDS = Constants(
    topic=(-9.12, 0.0, 6.5, 5.18, 0.0, 3.05),
    meaning=(),
    first=(
        1.8, -1.84, 0.57, -0.8, 2.69, 3.04, 0.0, 0.8,
        0.0, -2.86, -1.92, 0.0, 1.78, 0.0, 0.0, 0.0,
    ),
    further=(
        -1.34, -0.27, -0.31, 1.35, 0.44, 1.06, 0.0, 0.66,
        0.0, 1.7, -0.74, -1.34, 0.54, 0.0, 0.0, 0.0,
    ),
    floor=0.08,
)  # fmt: skip
"""No vectors: the mode keyword, hooks, and hybrid without a model. Two matched words must do."""
VECTOR = Constants(
    topic=(-7.04, 9.23, 8.52, 0.31, 1.02, 2.45),
    meaning=MEANING,
    first=(
        0.63, -0.2, 0.35, -0.7, 1.21, 1.95, 3.42, 0.4,
        0.89, -1.7, -2.79, 0.0, 0.0, 0.92, 0.0, 0.0,
    ),
    further=(
        -2.59, -0.52, 0.78, 0.17, 2.01, 1.2, 1.92, 0.75,
        1.69, 0.8, -1.14, -0.53, 0.0, 0.64, 0.0, 0.0,
    ),
    floor=0.065,
)  # fmt: skip
"""Found by vectors only, but shared words still count as evidence."""


def choose_constants(mode: str, evidence: Sequence[Evidence]) -> Constants:
    """Return the constants for a search; those of words if no vector was compared."""
    if all(one.nearness is None for one in evidence[:FIRST]):
        return WORDS
    return VECTOR if mode == "vector" else HYBRID


def describe_topic(evidence: Sequence[Evidence]) -> tuple[float, ...]:
    """Return the numbers that show whether the vault has anything about the query."""
    first = evidence[:FIRST]
    return (
        1.0,  # without any evidence there is nothing about the query
        # Unrelated texts are hardly nearer than the background.
        max((one.nearness or 0.0 for one in first), default=0.0),
        # "Yes, last May!" has the words of the query next to it.
        max((one.share_around for one in first), default=0.0),
        # One word of a short query matches by chance, several do not.
        math.log1p(max((one.matched for one in first), default=0.0)),
        # Turns are short: what they have of a query is rarely chance.
        float(bool(first) and first[0].is_turn),
        # Off-topic texts share single words, hardly ever two that belong together.
        math.log1p(max((one.pairs for one in first), default=0.0)),
    )


def describe_meaning(evidence: Sequence[Evidence]) -> tuple[float, ...]:
    """Return the numbers that show whether the first result answers, though in other words.

    Empty if another result is nearer.
    """
    first, *others = [one.nearness or 0.0 for one in evidence[:FIRST]] or [0.0]
    if others and max(others) > first:
        return ()
    return (1.0, first, first - math.fsum(others) / max(1, len(others)))


def describe_answer(evidence: Sequence[Evidence], place: int) -> tuple[float, ...]:
    """Return the numbers that show whether the result at this place is the answer."""
    return _describe_answer(evidence, place, Others(evidence[:FIRST]))


class Others:
    """The best numbers of the results other than one."""

    def __init__(self, first: Sequence[Evidence]) -> None:
        shares = [one.share for one in first]
        columns = {
            "nearness": [one.nearness or 0.0 for one in first],
            "share": shares,
            "matched": [one.matched for one in first],
            "pairs": [one.pairs for one in first],
        }
        self._two_best = {}
        for name, column in columns.items():
            best, second, *_ = (*sorted(column, reverse=True)[:2], 0.0, 0.0)
            self._two_best[name] = column, best, second
        self._shares = shares
        self._sum = math.fsum(shares)

    def get_best(self, name: str, place: int) -> float:
        """Return the largest number of all results but the one at this place; 0 without others."""
        column, best, second = self._two_best[name]
        return second if place < len(column) and column[place] == best else best

    def sum_shares(self, place: int) -> float:
        """Return the sum of the shares of all results but the one at this place."""
        return self._sum - self._shares[place] if place < len(self._shares) else self._sum


def _describe_answer(evidence: Sequence[Evidence], place: int, others: Others) -> tuple[float, ...]:
    one = evidence[place]
    nearest = others.get_best("nearness", place)
    matched, pairs = math.log1p(one.matched), math.log1p(one.pairs)
    short = 0.0
    if one.is_turn:
        short = math.log(LONG_TURN / min(LONG_TURN, 1 + one.length))
    return (
        1.0,
        one.share,  # in `topic` already, so that here it corrects
        matched,  # a long query that matches is a specific one
        one.share - others.get_best("share", place),  # another result has these words too
        one.share - others.sum_shares(place) / (FIRST - 1),  # all results have them
        matched - math.log1p(others.get_best("matched", place)),  # the lead in rare words
        0.0 if one.nearness is None else one.nearness - nearest,  # words and vectors agree
        float(one.is_speaker),  # a query about Anna is answered by Anna
        one.nearer_neighbour,  # the answer may be the text beside it
        float(one.is_turn),  # of many similar turns one is right; a saved fact stands alone
        short,  # short turns rarely say anything
        math.log1p(place),
        one.names,  # a text about another person or place
        pairs - math.log1p(others.get_best("pairs", place)),
        max(nearest, one.nearness or 0.0),  # in `topic` already, like the share
        one.by_words,  # words alone find it, too
    )


def estimate(
    evidence: Sequence[Evidence], constants: Constants, *, is_phrase: bool = False
) -> list[float]:
    """Return the score of each result, best first. It never rises down the list.

    A text that has all the words of the query is never weak, even if others have them too. A query
    that is a phrase may be answered in other words; gibberish is near to texts by chance.
    """
    topic = estimate_topic(evidence, constants, is_phrase=is_phrase)
    others = Others(evidence[:FIRST])
    scores = []
    lowest = 1.0
    for place, one in enumerate(evidence):
        weights = constants.further if place else constants.first
        score = topic * _logistic(weights, _describe_answer(evidence, place, others))
        if one.share >= ALL_WORDS:
            score = max(score, constants.floor)
        lowest = min(lowest, score)
        scores.append(lowest)
    return scores


def estimate_topic(evidence: Sequence[Evidence], constants: Constants, *, is_phrase: bool) -> float:
    """Return how probable it is that the vault has something about the query."""
    topic = _logistic(constants.topic, describe_topic(evidence))
    meaning = describe_meaning(evidence) if is_phrase and constants.meaning else ()
    return max(topic, _logistic(constants.meaning, meaning)) if meaning else topic


def find_weak(scores: Sequence[float], constants: Constants) -> list[bool]:
    """Return which results are weak. All of them are if the first is below the floor.

    Below a good first result the floor is lower: of several results few are right, so that even
    right ones have a low score.
    """
    is_good = bool(scores) and scores[0] >= constants.floor
    floor = constants.floor * FURTHER if is_good else constants.floor
    return [score < floor for score in scores]


def rate_similarity(evidence: Sequence[Evidence], share: float) -> list[float]:
    """Return how similar each text is, by words or by meaning. It never rises down the list.

    `share`: the weighted share of the memory's words that other memories have.
    """
    ratings = (max(one.share * share, one.nearness or 0.0) for one in evidence)
    return list(accumulate(ratings, min))


def _logistic(weights: Sequence[float], numbers: Sequence[float]) -> float:
    total = math.fsum(map(mul, weights, numbers))
    return 1 / (1 + math.exp(-total))
