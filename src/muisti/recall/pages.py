"""Collect ranked hits page by page, so that a longer list begins with the shorter one.

Scores of features are relative to the candidates. So the candidates of the first page are always
the same number of hits, whatever the limit. If that is not enough, a larger pool is ranked, and
those that are not on an earlier page follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muisti.recall import confidence
from muisti.recall.evidence import Evidence, measure_evidence
from muisti.recall.features import Ranked, RankingInputs
from muisti.recall.rank import rank
from muisti.recall.retrieve import POOL, QueryEmbedding, read_texts, retrieve

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from muisti.model import Filter
    from muisti.ports import Services
    from muisti.recall.query import ParsedQuery

GROWTH = 4
"""Each page is ranked from a pool that is so many times larger than the one before."""


class Hit(NamedTuple):
    """A ranked candidate, what it was ranked by, and its confidence."""

    ranked: Ranked
    inputs: RankingInputs
    evidence: Evidence
    score: float
    """The probability that it answers the query."""
    weak: bool = False


class Hits(NamedTuple):
    """The hits of a query, best first."""

    hits: list[Hit]
    embedding: QueryEmbedding


def find_hits(
    services: Services,
    query: ParsedQuery,
    where: Filter,
    limit: int,
    now: datetime,
    *,
    spelling: Mapping[str, str] | None = None,
    embedding: QueryEmbedding | None = None,
    without: str = "",
) -> Hits:
    """Return the best hits of a query with their scores. `without`: an ID to leave out.

    Results and scores are the same for every limit, but for their number.
    """
    found: list[tuple[Ranked, RankingInputs]] = []
    ids = {without}
    texts: set[tuple[str, str]] = set()
    settings = services.settings
    by_rank = settings.fusion == "rrf"
    pool = settings.rrf_depth if by_rank else POOL
    while True:
        retrieval = retrieve(services, query, where, pool, embedding)
        embedding = retrieval.embedding
        rrf_k = settings.rrf_k if by_rank else None
        inputs = RankingInputs(query, retrieval, now, spelling, rrf_k)
        for ranked in rank(inputs):
            candidate = ranked.candidate
            text = candidate.content_hash, candidate.user
            if candidate.memory_id not in ids and text not in texts:
                found.append((ranked, inputs))
                ids.add(candidate.memory_id)
                texts.add(text)
        is_last = max(len(retrieval.keyword), len(retrieval.vector)) < pool
        if is_last or len(found) >= max(limit, confidence.FIRST):
            break
        pool *= GROWTH
    found = found[: max(limit, confidence.FIRST)]
    for inputs in dict.fromkeys(inputs for _, inputs in found):
        shown = [one for one, by in found if by is inputs]
        wanted = [id_ for one in shown for id_ in (one.candidate.memory_id, one.instead_of) if id_]
        read_texts(services, inputs.retrieval, wanted)
    evidence = [measure_evidence(inputs, ranked) for ranked, inputs in found]
    constants = confidence.choose_constants(query.mode, evidence)
    scores = confidence.estimate(evidence, constants)
    weak = confidence.find_weak(scores, constants)
    hits = [
        Hit(ranked, inputs, one, score, is_weak)
        for (ranked, inputs), one, score, is_weak in zip(found, evidence, scores, weak, strict=True)
    ]
    return Hits(hits[:limit], embedding)
