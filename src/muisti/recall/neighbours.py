"""Score candidates together with their neighbours in a conversation. Pure.

"Yes, last May!" matches nothing by itself: a short message depends on what was said around it. So
the words and vectors of up to two neighbours on each side count for a memory too. They count less
the longer it is itself, and the longer they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.ports import Candidate, Term
    from muisti.recall.matching import Occurrences

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


def score_shortness(length: int) -> float:
    """Return 1 for a text of at most SHORT words, less for a longer one."""
    return min(1.0, SHORT / max(1, length))


def score_words(
    candidates: Mapping[str, Candidate],
    occurrences: Mapping[str, Occurrences],
    terms: Sequence[Term],
) -> dict[str, float]:
    """Return the BM25 score of each candidate together with its neighbours."""
    shares: dict[str, list[tuple[str, float]]] = {}
    lengths: dict[str, float] = {}
    for id_, candidate in candidates.items():
        if id_ in occurrences:
            shares[id_] = [(id_, OWN), *score_neighbours(candidate, occurrences)]
            lengths[id_] = sum(share * occurrences[part].length for part, share in shares[id_])
    if not lengths:
        return {}
    average = sum(lengths.values()) / len(lengths)
    scores = {}
    for id_, length in lengths.items():
        dampening = _dampen(length, average)
        score = 0.0
        for term in terms:
            counts = [share * _count(occurrences[part], term) for part, share in shares[id_]]
            count = sum(counts)
            score += term.weight * count * (_K1 + 1) / (count + dampening)
        scores[id_] = score
    return scores


def score_neighbours(
    candidate: Candidate, occurrences: Mapping[str, Occurrences]
) -> list[tuple[str, float]]:
    """Return the neighbours of a candidate, each with the share to which it counts."""
    own = score_shortness(occurrences[candidate.memory_id].length)
    shares = []
    for side in (candidate.before, candidate.after):
        share = own
        for neighbour in side:
            if neighbour not in occurrences:
                break
            share *= score_shortness(occurrences[neighbour].length)
            shares.append((neighbour, share))
    return shares


def _dampen(length: float, average: float) -> float:
    """Return the part of BM25 that grows with the length of a text."""
    return _K1 * (1 - _B + _B * length / max(1.0, average))


def _count(occurrences: Occurrences, term: Term) -> float:
    counts = occurrences.counts
    if term.text in counts or not term.alternatives:
        return counts.get(term.text, 0.0)
    return LOOSE * max(counts.get(word, 0.0) for word in term.alternatives)


def score_vectors(
    candidates: Mapping[str, Candidate],
    similarities: Mapping[str, float],
    occurrences: Mapping[str, Occurrences],
) -> dict[str, float]:
    """Return the cosine of each candidate, averaged with those of its neighbours."""
    scores = {}
    for id_, candidate in candidates.items():
        if id_ not in similarities or id_ not in occurrences:
            continue
        next_to = {*candidate.before[:1], *candidate.after[:1]}
        total, weight = similarities[id_], 1.0
        for neighbour, share in score_neighbours(candidate, occurrences):
            if neighbour in similarities:
                part = share * (NEAR if neighbour in next_to else NEXT_BUT_ONE)
                total += part * similarities[neighbour]
                weight += part
        scores[id_] = total / weight
    return scores


def score_sessions_by_vectors(
    candidates: Mapping[str, Candidate], similarities: Mapping[str, float]
) -> dict[str, float]:
    """Return for each candidate the best cosine in its session; without a session, its own."""
    best: dict[str, float] = {}
    for id_, candidate in candidates.items():
        if id_ in similarities:
            session = candidate.session_id or id_
            best[session] = max(similarities[id_], best.get(session, similarities[id_]))
    sessions = {id_: candidate.session_id or id_ for id_, candidate in candidates.items()}
    return {id_: best[session] for id_, session in sessions.items() if session in best}


def score_sessions_by_words(
    candidates: Mapping[str, Candidate],
    occurrences: Mapping[str, Occurrences],
    terms: Sequence[Term],
) -> dict[str, float]:
    """Return for each candidate how much of the query its session covers.

    Each word counts where it scores best in the session.
    """
    average = sum(one.length for one in occurrences.values()) / max(1, len(occurrences))
    best: dict[str, dict[str, float]] = {}
    for id_, candidate in candidates.items():
        if id_ not in occurrences:
            continue
        scores = best.setdefault(candidate.session_id or id_, {})
        dampening = _dampen(occurrences[id_].length, average)
        for term in terms:
            count = _count(occurrences[id_], term)
            if count:
                score = term.weight * count / (count + dampening)
                scores[term.text] = max(scores.get(term.text, 0.0), score)
    totals = {session: sum(scores.values()) for session, scores in best.items()}
    return {
        id_: totals.get(candidate.session_id or id_, 0) for id_, candidate in candidates.items()
    }
