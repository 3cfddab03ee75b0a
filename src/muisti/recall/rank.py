"""The order of results: features added up, successors raised, repeats left out. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from muisti.model import EntryType, Signal
from muisti.recall import features
from muisti.recall.features import EXPIRED, Ranked, RankingInputs

if TYPE_CHECKING:
    from muisti.ports import Candidate

LONGEST_CHAIN = 20
"""Supersedes that are followed one after the other; people may write circles by hand."""
LIFT = 0.001
"""By which a successor stands before the memory it replaced, at least."""


def rank(inputs: RankingInputs) -> list[Ranked]:
    """Return the candidates, best first. Equal scores: latest first. The same text comes once."""
    contributions = {one.name: one.contributions(inputs) for one in features.FEATURES}
    about_query = [one.name for one in features.FEATURES if one.about_query]
    about_memory = [one.name for one in features.FEATURES if not one.about_query]
    found = {}
    for id_, candidate in inputs.retrieval.candidates.items():
        if _repeats_query(candidate, inputs.query.text):
            continue
        own = {name: scores.get(id_, 0.0) for name, scores in contributions.items()}
        relevance = sum(own[name] for name in about_query)
        score = relevance + sum(own[name] for name in about_memory)
        found[id_] = Ranked(candidate, score, own)
    found = promote_successors(found, inputs.retrieval.successors)
    return _drop_repeats(sorted(found.values(), key=_best_first))


def explain_result(inputs: RankingInputs, ranked: Ranked) -> tuple[Signal, ...]:
    """Return what each feature says of a result, for `why`."""
    signals = (feature.signal(inputs, ranked) for feature in features.FEATURES)
    return tuple(signal for signal in signals if signal is not None)


def _repeats_query(candidate: Candidate, query: str) -> bool:
    """Return whether it is a message that asks just this: nobody asks in order to be asked back."""
    return (
        candidate.origin == EntryType.MESSAGE
        and candidate.opening.strip() == query.strip()[: len(candidate.opening)]
        and "?" in query
    )


def _best_first(ranked: Ranked) -> tuple[float, float, str]:
    candidate = ranked.candidate
    return -ranked.score, -candidate.created_at.timestamp(), candidate.memory_id


def promote_successors(
    found: Mapping[str, Ranked],
    successors: Mapping[str, Sequence[str]],
) -> dict[str, Ranked]:
    """Return the candidates with successors raised above the memories that they replaced.

    A current memory answers as well as the old one would have, had it not expired.
    """
    scores = {id_: one.score for id_, one in found.items()}
    instead_of: dict[str, str] = {}
    for _ in range(LONGEST_CHAIN):
        raised = []
        for old, news in successors.items():
            if old not in scores:
                continue
            for place, new in enumerate(news, start=1):  # the later stands before the earlier
                current = 0.0 if new in successors else EXPIRED
                least = scores[old] + LIFT * place + current
                if least > scores.get(new, -math.inf):
                    raised.append((new, old, least))
        if not raised:
            break
        for new, old, least in raised:
            scores[new] = max(least, scores.get(new, -math.inf))
            instead_of[new] = instead_of.get(old, old)
    promoted = {}
    for id_, one in found.items():
        promoted[id_] = one._replace(score=scores[id_], instead_of=instead_of.get(id_, ""))
    return promoted


def _drop_repeats(found: Iterable[Ranked]) -> list[Ranked]:
    seen: set[str] = set()
    kept = []
    for one in found:
        if one.candidate.content_hash not in seen:
            seen.add(one.candidate.content_hash)
            kept.append(one)
    return kept
