"""Order the candidates: add up features or fuse ranks, raise successors, drop repeats. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from muisti.model import EntryType, Signal
from muisti.model.chains import sort_chains
from muisti.recall import features
from muisti.recall.features import EXPIRED, SHOWN_WITH_RRF, Ranked, RankingInputs
from muisti.recall.fuse import reciprocal_rank_fusion

if TYPE_CHECKING:
    from muisti.ports import Candidate
    from muisti.recall.columns import Numbers

FIRST_READ = 12
"""How many candidates are read first: for ten results, this suffices nine times of ten. Then as
many as were read so far."""
LIFT = 0.001
"""The least by which a successor ranks above the memory that it replaced."""
_MESSAGE = EntryType.MESSAGE.value
RRF_LIFT = 1e-9
"""The same for reciprocal rank fusion: less than the difference between two ranks."""


class Totals(NamedTuple):
    """The scores of all candidates, as far as columns tell."""

    by_feature: Mapping[str, Numbers | float]
    """Weight × score; for a feature that needs rows, the most that it can be."""
    known: Numbers
    """The sum without the features that need rows."""
    most: Numbers
    """The most that the sum can be."""


def sum_features(inputs: RankingInputs) -> Totals:
    """Return the sum of all features for each candidate.

    The contributions of features are computed with reciprocal rank fusion too: the confidence
    needs them.
    """
    retrieval = inputs.retrieval
    by_feature: dict[str, Numbers | float] = {}
    noted: list[features.Feature] = []
    known: Numbers = retrieval.table.created_at * 0.0
    at_most: list[Numbers | float] = []
    for feature in features.FEATURES:
        by_feature[feature.name] = scores = feature.score(inputs) * feature.get_weight(inputs)
        counts = not isinstance(scores, float) or scores
        if counts and feature.score_row is None:
            known = known + scores
        elif counts:
            at_most.append(scores)
        # One that scores 0 for all says nothing then, unless it has a note of its own.
        if callable(feature.note) or (counts and feature.note):
            noted.append(feature)
    inputs.noted_features = noted
    most = sum(at_most, known)
    if inputs.rrf_k is not None:
        fused = reciprocal_rank_fusion(retrieval.vector, retrieval.keyword, k=inputs.rrf_k)
        known = most = retrieval.columns.fill(len(retrieval.table.keys), fused)
    return Totals(by_feature, known, most)


def rank(inputs: RankingInputs, without: str = "") -> Iterator[Ranked]:
    """Yield the candidates, best first. Equal scores: latest first, then by ID.

    Equal texts of one user appear once. Rows are read as far as results are taken: a candidate is
    certain to come next if no other one that was not read yet can have a higher score.
    `without`: an ID to leave out.
    """
    retrieval = inputs.retrieval
    columns, table = retrieval.columns, retrieval.table
    totals = sum_features(inputs)
    known, most = totals.known, totals.most
    order = columns.sort_descending(most)
    if table.allowed is not None:
        order = [position for position in order if table.allowed[position]]

    of_row = [
        (one.name, one.get_weight(inputs), one.score_row)
        for one in features.FEATURES
        if one.score_row is not None
    ]
    by_feature, asked = totals.by_feature, inputs.query.text

    def read(positions: Sequence[int]) -> list[Ranked]:
        found = []
        for position, candidate in zip(positions, retrieval.read(positions), strict=True):
            if candidate.origin == _MESSAGE and _repeats_query(candidate, asked):
                continue
            by_row = {name: weight * score(inputs, candidate) for name, weight, score in of_row}
            score = float(known[position])
            if inputs.rrf_k is None:
                score += sum(by_row.values())
            found.append(Ranked(candidate, position, score, by_feature, by_row))
        return found

    ready: list[Ranked] = []
    unread = order
    if retrieval.linked:
        linked = set(retrieval.linked)
        unread = [position for position in order if position not in linked]
        ready = read(sorted(linked.intersection(order)))
        lift, penalty = (LIFT, EXPIRED) if inputs.rrf_k is None else (RRF_LIFT, 0.0)
        ready = promote_successors(ready, retrieval.successors, lift=lift, penalty=penalty)
    shown: set[tuple[str, str]] = set()
    start, count = 0, FIRST_READ
    while ready or start < len(unread):
        ready += read(unread[start : start + count])
        start += count
        count = start
        ready.sort(key=_best_first)
        limit = float(most[unread[start]]) if start < len(unread) else -math.inf
        certain = 0
        while certain < len(ready) and ready[certain].score > limit:
            one = ready[certain]
            text = one.candidate.content_hash, one.candidate.user
            if text not in shown and one.candidate.memory_id != without:
                shown.add(text)
                yield one
            certain += 1
        del ready[:certain]


def _best_first(one: Ranked) -> tuple[float, float, str]:
    return -one.score, -one.candidate.created_at, one.candidate.memory_id


def explain_result(inputs: RankingInputs, ranked: Ranked) -> tuple[Signal, ...]:
    """Return the signals of a result, for `why`. The last one is the value that it is ranked by."""
    shown = []
    for feature in inputs.noted_features:
        note = feature.note
        if not isinstance(note, str):
            signal = note(inputs, ranked)
            if signal is not None:
                shown.append(signal)
        elif note and (contribution := ranked.get_contribution(feature.name)):
            shown.append(Signal(feature.name, None, contribution, note))
    score = round(ranked.score, 6)
    note = "the sum that results are ranked by"
    if inputs.rrf_k is not None:
        shown = [signal for signal in shown if signal.name in SHOWN_WITH_RRF]
        score = ranked.score
        note = f"the sum of 1 / ({inputs.rrf_k} + rank) that results are ranked by"
    return (*shown, Signal("fusion", None, score, note))


def _repeats_query(candidate: Candidate, query: str) -> bool:
    """Return whether a message asks the same question: it answers nothing."""
    same = candidate.opening.strip() == query.strip()[: len(candidate.opening)]
    return same and "?" in query


def promote_successors(
    ranked: Sequence[Ranked],
    successors: Mapping[str, Sequence[str]],
    *,
    lift: float = LIFT,
    penalty: float = EXPIRED,
) -> list[Ranked]:
    """Return the candidates with successors raised above the memories that they replaced.

    A current memory scores as the one it replaced would score without the penalty for those that
    are not valid. `lift` is the least distance.
    """
    by_id = {one.candidate.memory_id: one for one in ranked}
    scores = {id_: one.score for id_, one in by_id.items()}
    replaced: dict[str, str] = {}
    for group in reversed(sort_chains(successors, lambda id_: successors.get(id_, ()))):
        known = [id_ for id_ in group if id_ in scores]
        if not known:
            continue
        best = max(known, key=scores.__getitem__)
        for old in group:
            for place, new in enumerate(successors.get(old, ()), start=1):
                if new in group:  # a circle
                    continue
                current = 0.0 if new in successors else penalty
                # Later ones rank above earlier ones. Those that are not shown need no distance.
                distance = lift * place if new in by_id else 0.0
                least = scores[best] + distance + current
                if least > scores.get(new, -math.inf):
                    scores[new], replaced[new] = least, replaced.get(best, best)
    return [
        one._replace(score=scores[id_], instead_of=by_id.get(replaced.get(id_, "")))
        for id_, one in by_id.items()
    ]
