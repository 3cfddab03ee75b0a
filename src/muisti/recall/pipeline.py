"""The read path, as a table of contents.

parse the query → match words → find nearest vectors → add neighbours → rank by features → results
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from muisti.model import Filter, SearchResult, SearchResults
from muisti.recall.features import RankingInputs
from muisti.recall.lookups import require_entry, validate_limit
from muisti.recall.query import (
    ParsedQuery,
    choose_related_terms,
    clean_query,
    parse_query,
    spell_words,
    validate_mode,
)
from muisti.recall.rank import rank
from muisti.recall.results import read_results
from muisti.recall.retrieve import QueryEmbedding, retrieve

if TYPE_CHECKING:
    from muisti.ports import Services


def search(
    services: Services,
    query: str,
    where: Filter,
    limit: int | None = None,
    mode: str = "hybrid",
    asked_at: datetime | None = None,
) -> SearchResults:
    """Return the memories that match a query, best first. Raises InvalidRequest, IndexCorrupt.

    "Yesterday" in the query is relative to `asked_at`, or to now if that is None.
    """
    limit = validate_limit(services.settings.search_limit if limit is None else limit)
    query = clean_query(query)
    mode = validate_mode(mode)
    now = asked_at or services.clock.now()
    with services.index.snapshot():
        parsed = parse_query(services, query, mode, now)
        retrieval = retrieve(services, parsed, where, limit)
        if mode == "vector" and retrieval.embedding.vector is None:
            # Nothing to compare with: fall back to keywords.
            parsed = parse_query(services, query, "keyword", now)
            retrieval = retrieve(services, parsed, where, limit, retrieval.embedding)
        inputs = RankingInputs(parsed, retrieval, now, spell_words(query))
        best = rank(inputs)[:limit]
        results = read_results(services, inputs, best)
    used_mode = "keyword" if retrieval.embedding.vector is None else mode
    return SearchResults(results, used_mode, retrieval.embedding.degraded)


def find_related(
    services: Services, memory_id: str, where: Filter, limit: int = 10
) -> list[SearchResult]:
    """Return the memories that share distinctive words with one, or are similar in meaning.

    Raises MemoryNotFound, InvalidRequest, IndexCorrupt.
    """
    validate_limit(limit)
    with services.index.snapshot():
        memory = require_entry(services, memory_id)
        space = next((space for space in services.vectors.spaces() if space.serving), None)
        vector = services.vectors.get_vector(space, memory_id) if space else None
        terms = choose_related_terms(services, memory_id)
        if not terms and vector is None:
            return []
        query = ParsedQuery(memory.title, "hybrid", terms)
        embedding = QueryEmbedding(vector, space, 1.0)
        retrieval = retrieve(services, query, where, limit + 1, embedding)
        inputs = RankingInputs(query, retrieval, services.clock.now())
        others = [one for one in rank(inputs) if one.candidate.memory_id != memory_id]
        return read_results(services, inputs, others[:limit])
