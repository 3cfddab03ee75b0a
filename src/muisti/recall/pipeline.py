"""The read path, as a table of contents.

parse the query → match words → find nearest vectors → add neighbours → rank by features
→ estimate how probable each answer is → results
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from muisti.model import SearchResults
from muisti.recall.confidence import rate_similarity
from muisti.recall.evidence import choose_background
from muisti.recall.lookups import require_entry, validate_limit
from muisti.recall.pages import Hits, find_hits
from muisti.recall.query import (
    ParsedQuery,
    choose_related_terms,
    clean_query,
    parse_query,
    spell_words,
    split_query,
    validate_mode,
)
from muisti.recall.query_embedding import QueryEmbedding
from muisti.recall.results import read_results

if TYPE_CHECKING:
    from muisti.model import Filter, SearchResult
    from muisti.ports import Services
    from muisti.recall.query_embedding import StartedEmbedding


def search(
    services: Services,
    query: str,
    where: Filter,
    limit: int | None = None,
    mode: str = "hybrid",
    asked_at: datetime | None = None,
    started: StartedEmbedding | None = None,
) -> SearchResults:
    """Return the memories that match a query, best first. Raises InvalidRequest, IndexCorrupt.

    "Yesterday" in the query is relative to `asked_at`, or to now if that is None. `started`: what
    `start_embedding` returned for the query.
    """
    limit = services.settings.search_limit if limit is None else validate_limit(limit)
    with services.index.snapshot():
        found = find(services, query, where, limit, mode, asked_at, started)
        results = read_results(services, found.hits)
    used_mode = "keyword" if found.embedding.vector is None else mode
    degraded = "; ".join(filter(None, (found.embedding.degraded, services.lag, services.unchecked)))
    return SearchResults(results, used_mode, degraded)


def find(
    services: Services,
    query: str,
    where: Filter,
    limit: int,
    mode: str,
    asked_at: datetime | None = None,
    started: StartedEmbedding | None = None,
) -> Hits:
    """Return the hits of a search without reading their memories. Raises InvalidRequest."""
    query = clean_query(query)
    mode = validate_mode(mode)
    now = asked_at or services.clock.now()
    spelling = spell_words(query)
    parsed = parse_query(services, query, mode, now, started)
    found = find_hits(services, parsed, where, limit, now, spelling=spelling)
    if mode == "vector" and found.embedding.vector is None:
        # Nothing to compare with: fall back to keywords.
        parsed = parse_query(services, query, "keyword", now)
        found = find_hits(
            services, parsed, where, limit, now, spelling=spelling, embedding=found.embedding
        )
    return found


def find_related(
    services: Services, memory_id: str, where: Filter, limit: int = 10
) -> list[SearchResult]:
    """Return the memories that share distinctive words with one, or are similar in meaning.

    The score is how similar they are, not a probability. Raises MemoryNotFound, InvalidRequest,
    IndexCorrupt.
    """
    validate_limit(limit)
    with services.index.snapshot():
        memory = require_entry(services, memory_id)
        space = next((space for space in services.vectors.spaces() if space.serving), None)
        vector = services.vectors.get_vector(space, memory_id) if space else None
        terms, share = choose_related_terms(services, memory_id)
        if not terms and vector is None:
            return []
        words = [term.text for term in terms] or split_query(memory.title)
        query = ParsedQuery(memory.title, "hybrid", terms, words=words)
        embedder = services.embedders(space.identity) if space else None
        background = choose_background(embedder.unrelated if embedder else -1.0)
        embedding = QueryEmbedding(vector, space, 1.0, background=background)
        now = services.clock.now()
        found = find_hits(
            services, query, where, limit, now, embedding=embedding, without=memory_id
        )
        # A memory is not a question: here the score is how similar they are.
        scores = rate_similarity([hit.evidence for hit in found.hits], share)
        hits = [
            hit._replace(score=score, weak=False)
            for hit, score in zip(found.hits, scores, strict=True)
        ]
        return read_results(services, hits)
