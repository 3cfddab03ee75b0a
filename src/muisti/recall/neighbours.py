"""What a memory says together with its neighbours in a conversation. Pure.

"Yes, last May!" answers nothing by itself: a short turn leans on what was said around it. So the words, and the meaning, of
up to two neighbours on each side count for a memory too: the less, the longer it is itself, and the longer they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.ports import Candidate, Term
    from muisti.recall.matching import Occurrences

OWN = 3.0
"""A memory's own words count for this many times a neighbour's."""
SHORT = 25
"""Words up to which a memory leans on its neighbours in full, and up to which a neighbour counts in full."""
NEAR, NEXT_BUT_ONE = 0.2, 0.1
"""How much of a neighbour's meaning counts."""
LOOSE = 0.7
"""What a stand-in for a word (a compound, a slip of the pen) counts for."""
_K1, _B = 1.2, 0.75


def score_shortness(length: int) -> float:
    """1 for a short text, less for a longer one."""
    return min(1.0, SHORT / max(1, length))


def score_words(
    candidates: Mapping[str, Candidate], found: Mapping[str, Occurrences], terms: Sequence[Term]
) -> dict[str, float]:
    """BM25 of each candidate with its neighbours."""
    bags = {id_: _bag(candidate, found) for id_, candidate in candidates.items() if id_ in found}
    if not bags:
        return {}
    average = sum(length for length, _ in bags.values()) / len(bags)
    return {
        id_: _bm25(length, parts, found, terms, average) for id_, (length, parts) in bags.items()
    }


def _bag(
    candidate: Candidate, found: Mapping[str, Occurrences]
) -> tuple[float, list[tuple[str, float]]]:
    """How long a candidate is with its neighbours, and how much each of them counts."""
    parts = [(candidate.memory_id, OWN), *score_neighbours(candidate, found)]
    return sum(share * found[id_].length for id_, share in parts), parts


def score_neighbours(
    candidate: Candidate, found: Mapping[str, Occurrences]
) -> list[tuple[str, float]]:
    """The neighbours that a memory leans on, and how much: the next but one the less, the more is said in between."""
    own = score_shortness(found[candidate.memory_id].length)
    parts = []
    for side in (candidate.before, candidate.after):
        through = own
        for neighbour in side:
            if neighbour not in found:
                break
            through *= score_shortness(found[neighbour].length)
            parts.append((neighbour, through))
    return parts


def _bm25(
    length: float,
    parts: list[tuple[str, float]],
    found: Mapping[str, Occurrences],
    terms: Sequence[Term],
    average: float,
) -> float:
    dampening = _K1 * (1 - _B + _B * length / max(1.0, average))
    score = 0.0
    for term in terms:
        count = sum(share * _count(found[id_].counts, term) for id_, share in parts)
        score += term.weight * count * (_K1 + 1) / (count + dampening)
    return score


def _count(counts: Mapping[str, float], term: Term) -> float:
    if term.text in counts or not term.alternatives:
        return counts.get(term.text, 0.0)
    return LOOSE * max((counts.get(other, 0.0) for other in term.alternatives), default=0.0)


def score_vectors(
    candidates: Mapping[str, Candidate], near: Mapping[str, float], found: Mapping[str, Occurrences]
) -> dict[str, float]:
    """The cosine of each candidate, averaged with those of its neighbours."""
    scores = {}
    for id_, candidate in candidates.items():
        if id_ not in near or id_ not in found:
            continue
        next_to = {*candidate.before[:1], *candidate.after[:1]}
        total, weight = near[id_], 1.0
        for neighbour, share in score_neighbours(candidate, found):
            if neighbour in near:
                part = share * (NEAR if neighbour in next_to else NEXT_BUT_ONE)
                total += part * near[neighbour]
                weight += part
        scores[id_] = total / weight
    return scores


def score_sessions_by_vectors(
    candidates: Mapping[str, Candidate], scores: Mapping[str, float]
) -> dict[str, float]:
    """For each candidate the best score in its session; its own, if it has none."""
    best: dict[str, float] = {}
    for id_, candidate in candidates.items():
        if id_ in scores:
            key = candidate.session_id or id_
            best[key] = max(scores[id_], best.get(key, scores[id_]))
    return {id_: best[key] for id_, c in candidates.items() if (key := c.session_id or id_) in best}


def score_sessions_by_words(
    candidates: Mapping[str, Candidate], found: Mapping[str, Occurrences], terms: Sequence[Term]
) -> dict[str, float]:
    """How much of the question the candidates of each candidate's session cover together, each word where it is best."""
    average = sum(one.length for one in found.values()) / max(1, len(found))
    best: dict[str, dict[str, float]] = {}
    for id_, candidate in candidates.items():
        if id_ in found:
            words = best.setdefault(candidate.session_id or id_, {})
            dampening = _K1 * (1 - _B + _B * found[id_].length / max(1.0, average))
            for term in terms:
                count = _count(found[id_].counts, term)
                if count:
                    words[term.text] = max(
                        words.get(term.text, 0.0), term.weight * count / (count + dampening)
                    )
    return {id_: sum(best.get(c.session_id or id_, {}).values()) for id_, c in candidates.items()}
