"""The read path: answers out. Each step is named here in its order.

parse the query → keyword and vector lists → neighbours → rank by features → results with reasons
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from muisti.errors import IndexCorrupt, InvalidRequest
from muisti.model import EntryType, Filter, Memory, SearchResult, SearchResults
from muisti.recall.features import Ranked, RankingInputs
from muisti.recall.fuse import as_share
from muisti.recall.lookups import require_entry, validate_limit
from muisti.recall.matching import similar_words
from muisti.recall.query import MAX_WORDS, choose_terms, remove_stop_words, split_query
from muisti.recall.rank import explain_result, rank
from muisti.recall.retrieve import ParsedQuery, QueryEmbedding, retrieve
from muisti.recall.snippet import make_snippet
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.model import Message
    from muisti.ports import Services, Term
    from muisti.text.time_expressions.question import When

MODES = ("hybrid", "vector", "keyword")
RELATED_WORDS = 16
MAX_SPELLING = 2000
"""Characters of a query whose own spelling is shown in `why`."""


def search(
    services: Services,
    query: str,
    where: Filter,
    limit: int | None = None,
    mode: str = "hybrid",
    asked_at: datetime | None = None,
) -> SearchResults:
    """Return the memories that answer a query, best first. Raises InvalidRequest, IndexCorrupt.

    asked_at: the moment that "yesterday" in the query is relative to, instead of now.
    """
    limit = validate_limit(services.settings.search_limit if limit is None else limit)
    query = _clean_query(query)
    now = asked_at or services.clock.now()
    with services.index.snapshot():
        parsed = parse_query(services, query, validate_mode(mode), now)
        evidence = retrieve(services, parsed, where, limit)
        if mode == "vector" and evidence.asked.vector is None:  # only the words are left
            parsed = parse_query(services, query, "keyword", now)
            evidence = retrieve(services, parsed, where, limit, evidence.asked)
        inputs = RankingInputs(parsed, evidence, now, spell_words(query))
        results = _read_results(services, inputs, rank(inputs)[:limit])
        used_mode = "keyword" if evidence.asked.vector is None else mode
        return SearchResults(results, used_mode, evidence.asked.degraded)


def parse_query(services: Services, query: str, mode: str, now: datetime) -> ParsedQuery:
    """Return its words and its time. It is embedded later, when the possible speakers are known."""
    terms = [] if mode == "vector" else parse_terms(services, query)
    return ParsedQuery(query, mode, terms, parse_when(query, now))


def parse_when(query: str, now: datetime) -> When | None:
    """Return the time that a query names.

    Its table of phrases takes long to build: most queries name no time and skip it.
    """
    from muisti.text.time_expressions.calendar import may_mention_time

    if not may_mention_time(query):
        return None
    from muisti.text.time_expressions import question

    return question.parse_when(query, now)


def parse_terms(services: Services, query: str) -> list[Term]:
    """Return the words of a query that are worth looking for."""
    found = split_query(query)
    if not found:
        return []
    return choose_terms(
        found, services.index.frequencies(found), partial(similar_words, services.index)
    )


def spell_words(query: str) -> dict[str, str]:
    """Return for each index word how the query spells it: people know "database", not "databas"."""
    spelt = re.findall(r"\w+", query[:MAX_SPELLING])
    return {word: text.lower() for text in spelt for word in tokenize(text)}


def _read_results(
    services: Services,
    inputs: RankingInputs,
    best: Sequence[Ranked],
) -> list[SearchResult]:
    """Read the best memories. Raises IndexCorrupt if the index names one that is not there."""
    ids = [one.candidate.memory_id for one in best]
    memories = services.index.get_many(ids, include_deleted=True, any_origin=True)
    if len(memories) != len(best):
        what = "the index names memories that it does not have"
        raise IndexCorrupt(f"{what}; it is rebuilt from the files")
    message_ids = [memory.id for memory in memories if memory.origin is EntryType.MESSAGE]
    messages = services.index.messages(message_ids) if message_ids else {}
    results = []
    for memory, one in zip(memories, best, strict=True):
        results.append(_make_result(inputs, memory, one, messages.get(memory.id)))
    return results


def _make_result(
    inputs: RankingInputs,
    memory: Memory,
    ranked: Ranked,
    message: Message | None,
) -> SearchResult:
    hit = inputs.evidence.keyword.get(memory.id)
    piece = inputs.evidence.vector.get(memory.id)
    found = hit.found if hit else frozenset()
    score = as_share(ranked.score)
    shown = memory.content
    if hit is None and piece is not None:
        shown = memory.content[piece.start : piece.end]
    return SearchResult(
        memory=memory,
        score=score,
        distance=1.0 - score,
        matched_snippet=make_snippet(shown, found),
        matched_keywords=tuple(one for one in memory.keywords if found.intersection(tokenize(one))),
        why=explain_result(inputs, ranked),
        source=memory.origin.value,
        message=message,
    )


def find_related(
    services: Services, memory_id: str, where: Filter, limit: int = 10
) -> list[SearchResult]:
    """Return memories that share the most telling words of this one, or are near it in meaning."""
    validate_limit(limit)
    with services.index.snapshot():
        memory = require_entry(services, memory_id)
        space = next((space for space in services.vectors.spaces() if space.serving), None)
        vector = services.vectors.get_vector(space, memory_id) if space else None
        terms = _telling_terms(services, memory_id)
        if not terms and vector is None:
            return []
        query = ParsedQuery(memory.title, "hybrid", terms)
        evidence = retrieve(services, query, where, limit + 1, QueryEmbedding(vector, space, 1.0))
        inputs = RankingInputs(query, evidence, services.clock.now())
        best = [one for one in rank(inputs) if one.candidate.memory_id != memory_id]
        return _read_results(services, inputs, best[:limit])


def _telling_terms(services: Services, memory_id: str) -> list[Term]:
    """Return the words of a memory that others share and that say most about it."""
    counts = Counter(" ".join(services.index.get_words([memory_id]).get(memory_id, ())).split())
    telling = sorted(remove_stop_words(list(counts)), key=lambda word: -counts[word])[:MAX_WORDS]
    frequencies = services.index.frequencies(telling)
    shared = [word for word in telling if frequencies.counts.get(word, 0) > 1]
    terms = choose_terms(shared, frequencies, lambda *_: [])
    return sorted(terms, key=lambda term: -term.weight * counts.get(term.text, 1))[:RELATED_WORDS]


def validate_mode(mode: str) -> str:
    """Return the mode. Raises InvalidRequest if it is none."""
    if mode not in MODES:
        raise InvalidRequest("mode", mode, f"must be one of {', '.join(MODES)}")
    return mode


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def _clean_query(query: str) -> str:
    """Return the query without characters that no text has. Raises InvalidRequest if empty."""
    if not isinstance(query, str):
        raise InvalidRequest("query", query, "must be a text")
    cleaned = _NO_TEXT.sub(" ", query).strip()
    if not cleaned:
        raise InvalidRequest("query", query, "say what to look for; `muisti list` shows everything")
    return cleaned
