"""Order the candidates: add up features or fuse ranks, raise successors, drop repeats. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from muisti.model import EntryType, Signal
from muisti.model.chains import sort_chains
from muisti.recall import features
from muisti.recall.features import EXPIRED, SHOWN_WITH_RRF, Ranked, RankingInputs
from muisti.recall.fuse import reciprocal_rank_fusion

if TYPE_CHECKING:
    from muisti.ports import Candidate

LIFT = 0.001
"""The least by which a successor ranks above the memory that it replaced."""
RRF_LIFT = 1e-9
"""The same for reciprocal rank fusion: less than the difference between two ranks."""


def rank(inputs: RankingInputs) -> list[Ranked]:
    """Return the candidates, best first. Equal scores: latest first.

    Equal texts of one user appear once. The contributions of features are computed with
    reciprocal rank fusion too: the confidence needs them.
    """
    contributions = {one.name: one.contributions(inputs) for one in features.FEATURES}
    candidates = inputs.retrieval.candidates
    totals = dict.fromkeys(candidates, 0.0)
    for scores in contributions.values():
        for id_, score in scores.items():
            totals[id_] += score
    ranked = {
        id_: Ranked(candidate, totals[id_], contributions)
        for id_, candidate in candidates.items()
        if not _repeats_query(candidate, inputs.query.text)
    }
    successors = inputs.retrieval.successors
    if inputs.rrf_k is None:
        ranked = promote_successors(ranked, successors) if successors else ranked
    else:
        lists = list(inputs.retrieval.vector), list(inputs.retrieval.keyword)
        scores = reciprocal_rank_fusion(*lists, k=inputs.rrf_k)
        ranked = {id_: one._replace(score=scores.get(id_, 0.0)) for id_, one in ranked.items()}
        ranked = promote_successors(ranked, successors, lift=RRF_LIFT, penalty=0.0)

    def best_first(one: Ranked) -> tuple[float, float, str]:
        return -one.score, -one.candidate.created_at, one.candidate.memory_id

    best_of_text: dict[tuple[str, str], Ranked] = {}
    for one in sorted(ranked.values(), key=best_first):
        best_of_text.setdefault((one.candidate.content_hash, one.candidate.user), one)
    return list(best_of_text.values())


def explain_result(inputs: RankingInputs, ranked: Ranked) -> tuple[Signal, ...]:
    """Return the signals of a result, for `why`. The last one is the value that it is ranked by."""
    signals = [feature.signal(inputs, ranked) for feature in features.FEATURES]
    shown = [signal for signal in signals if signal is not None]
    score = round(ranked.score, 6)
    note = "the sum that results are ranked by"
    if inputs.rrf_k is not None:
        shown = [signal for signal in shown if signal.name in SHOWN_WITH_RRF]
        score = ranked.score
        note = f"the sum of 1 / ({inputs.rrf_k} + rank) that results are ranked by"
    return (*shown, Signal("fusion", None, score, note))


def _repeats_query(candidate: Candidate, query: str) -> bool:
    """Return whether a candidate is a message that asks the same question: it answers nothing."""
    return (
        candidate.origin == EntryType.MESSAGE
        and candidate.opening.strip() == query.strip()[: len(candidate.opening)]
        and "?" in query
    )


def promote_successors(
    ranked: Mapping[str, Ranked],
    successors: Mapping[str, Sequence[str]],
    *,
    lift: float = LIFT,
    penalty: float = EXPIRED,
) -> dict[str, Ranked]:
    """Return the candidates with successors raised above the memories that they replaced.

    A current memory scores as the one it replaced would score without the penalty for those that
    are not valid. `lift` is the least distance.
    """
    scores = {id_: one.score for id_, one in ranked.items()}
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
                distance = lift * place if new in ranked else 0.0
                least = scores[best] + distance + current
                if least > scores.get(new, -math.inf):
                    scores[new], replaced[new] = least, replaced.get(best, best)
    return {
        id_: one._replace(score=scores[id_], instead_of=replaced.get(id_, ""))
        for id_, one in ranked.items()
    }
