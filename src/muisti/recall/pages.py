"""Collect ranked hits page by page, so that a longer list begins with the shorter one.

Scores of features are relative to the candidates. So the candidates of the first page are always
the same number of hits, whatever the limit. If that is not enough, a larger pool is ranked, and
those that are not on an earlier page follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muisti.logs import get_log
from muisti.ports.columns import UnusableColumns
from muisti.recall import confidence
from muisti.recall.evidence import Evidence, measure_evidence
from muisti.recall.features import Ranked, RankingInputs
from muisti.recall.query_embedding import QueryEmbedding
from muisti.recall.rank import rank
from muisti.recall.retrieve import POOL, Retrieval, retrieve
from muisti.recall.row_search import RowSearch
from muisti.text.stop_words import is_phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from muisti.model import Filter
    from muisti.ports import Services
    from muisti.ports.columns import ColumnSearch
    from muisti.recall.query import ParsedQuery

GROWTH = 4
"""Each page is ranked from a pool that is this many times larger than the one before."""


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
    settings = services.settings
    rrf_k = settings.rrf_k if settings.fusion == "rrf" else None
    count = max(limit, confidence.FIRST)

    def make_inputs(retrieval: Retrieval) -> RankingInputs:
        return RankingInputs(query, retrieval, now, spelling, rrf_k)

    found = None
    search = services.index.open_columns()
    if search is not None:
        try:
            found = _rank_pages(
                services, search, query, where, count, make_inputs, embedding, without
            )
        except UnusableColumns as error:
            get_log().info("the search snapshot is not used: %s", error)
    if found is None:
        rows = RowSearch(services)
        found = _rank_pages(services, rows, query, where, count, make_inputs, embedding, without)
    pages, embedding = found
    ranked = [one for inputs, some in pages for one in some]
    evidence = []
    for inputs, some in pages:
        shown = [one for hit in some for one in (hit, hit.instead_of) if one is not None]
        ids = dict.fromkeys(one.candidate.memory_id for one in shown)
        inputs.retrieval.texts.update(services.index.get_words(list(ids)))
        inputs.look_around([one.position for one in shown])
        evidence += [measure_evidence(inputs, one) for one in some]
    constants = confidence.choose_constants(query.mode, evidence)
    scores = confidence.estimate(evidence, constants, is_phrase=is_phrase(query.text))
    weak = confidence.find_weak(scores, constants)
    by = [inputs for inputs, some in pages for _ in some]
    hits = [Hit(*parts) for parts in zip(ranked, by, evidence, scores, weak, strict=True)]
    return Hits(hits[:limit], embedding)


Page = tuple[RankingInputs, list[Ranked]]
"""Ranked candidates, and what they were ranked by."""


def _rank_pages(
    services: Services,
    search: ColumnSearch,
    query: ParsedQuery,
    where: Filter,
    count: int,
    make_inputs: Callable[[Retrieval], RankingInputs],
    embedding: QueryEmbedding | None,
    without: str,
) -> tuple[list[Page], QueryEmbedding]:
    """Return the best `count` candidates page by page, and the embedding of the query.

    Raises UnusableColumns.
    """
    pages: list[Page] = []
    ids: set[str] = set()
    texts: set[tuple[str, str]] = set()
    missing = count
    by_rank = services.settings.fusion == "rrf"
    pool = services.settings.rrf_depth if by_rank else POOL
    while True:
        retrieval = retrieve(services, query, where, pool, embedding, search)
        embedding = retrieval.embedding
        inputs = make_inputs(retrieval)
        page: list[Ranked] = []
        for ranked in rank(inputs, without):
            candidate = ranked.candidate
            text = candidate.content_hash, candidate.user
            if candidate.memory_id not in ids and text not in texts:
                page.append(ranked)
                ids.add(candidate.memory_id)
                texts.add(text)
                if len(page) == missing:
                    break
        pages.append((inputs, page))
        missing -= len(page)
        if not missing or max(len(retrieval.keyword), len(retrieval.vector)) < pool:
            return pages, embedding
        pool *= GROWTH
