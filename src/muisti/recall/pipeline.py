"""The read path: context out. Each step is named here in its order.

parse → keyword search → rank → results with snippet and reasons
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from muisti.errors import IndexCorrupt, InvalidRequest, MemoryNotFound
from muisti.model import CompactResult, Filter, Memory, SearchResult, Signal
from muisti.ports import LexicalHit, Parts, Term
from muisti.recall.query import MAX_WORDS, choose_terms, query_words, without_stop_words
from muisti.recall.rank import closeness, prior, ranked
from muisti.recall.snippet import snippet
from muisti.recall.words import words

MAX_LIMIT = 1000
RELATED_WORDS = 16


def search(parts: Parts, query: str, where: Filter, limit: int | None = None) -> list[SearchResult]:
    """The memories that answer a query, best first."""
    limit = checked_limit(parts.settings.search_limit if limit is None else limit)
    query = _checked_query(query)
    now = parts.clock.now()
    with parts.reader.snapshot():
        terms = parse(parts, query)
        hits = _candidates(parts, terms, query, where, limit)
        return _results(parts, ranked(hits, now)[:limit], now)


def parse(parts: Parts, query: str) -> list[Term]:
    """The words of a query that are worth looking for."""
    found = query_words(query)
    return choose_terms(found, parts.lexical.frequencies(found), parts.lexical.similar_words) if found else []


def _candidates(parts: Parts, terms: Sequence[Term], query: str, where: Filter, limit: int) -> list[LexicalHit]:
    """More than are asked for, so that ranking has something to choose from."""
    if terms:
        return parts.lexical.lexical(terms, where, limit + min(limit, 20))
    return [] if query_words(query) else parts.lexical.literal(query, where, limit)


def _results(parts: Parts, scored: Sequence[tuple[LexicalHit, float]], now: datetime) -> list[SearchResult]:
    """Read the memories that made it. Raises IndexCorrupt if the words name a memory that is not there."""
    memories = parts.reader.many([hit.memory_id for hit, _ in scored], include_deleted=True)
    if len(memories) != len(scored):
        raise IndexCorrupt("the index names memories that it does not have; it is rebuilt from the files")
    places = range(1, len(scored) + 1)
    return [_result(m, hit, score, place, now) for m, (hit, score), place in zip(memories, scored, places, strict=True)]


def _result(memory: Memory, hit: LexicalHit, score: float, place: int, now: datetime) -> SearchResult:
    matched = tuple(keyword for keyword in memory.keywords if hit.found.intersection(words(keyword)))
    why = (
        Signal("keyword", place, round(hit.score, 4), f"matched {', '.join(sorted(hit.matched))}"),
        Signal("closeness", None, round(closeness(hit), 4), "below 1: only parts or near spellings matched" if hit.loose else ""),
        Signal("prior", None, round(prior(hit, now), 4), "salience, importance and recency; at most 15 %"),
    )
    return SearchResult(memory, score, 1.0 - score, snippet(memory.content, hit.found), matched, why)


def compact(results: Sequence[SearchResult]) -> list[CompactResult]:
    """The first layer: what to choose from."""
    return [
        CompactResult(r.memory.id, _short(r.memory.title), r.memory.kind, round(r.score, 3), r.memory.created_at) for r in results
    ]


def _short(title: str) -> str:
    """At most about 40 tokens: a quarter of a token for each ASCII character, one for any other."""
    room = 160
    for at, char in enumerate(title):
        room -= 1 if char.isascii() else 4
        if room < 0:
            return f"{title[:at]}…"
    return title


def search_by_keywords(
    parts: Parts, keywords: Sequence[str], where: Filter, *, match_all: bool = False, limit: int = 10
) -> list[Memory]:
    """Memories with any, or all, of these keywords."""
    if isinstance(keywords, str) or not keywords or not all(isinstance(k, str) and k.strip() for k in keywords):
        raise InvalidRequest("keywords", keywords, "give a list of one or more keywords")
    return parts.reader.by_keywords([k.strip() for k in keywords], match_all=match_all, where=where, limit=checked_limit(limit))


def timeline(parts: Parts, memory_id: str, before: int = 5, after: int = 5) -> list[CompactResult]:
    """The second layer: what happened around a memory in its project, in the order of time."""
    anchor = existing(parts, memory_id)
    for option, value in (("before", before), ("after", after)):
        if not isinstance(value, int) or not 0 <= value <= MAX_LIMIT:
            raise InvalidRequest(option, value, f"it must be a number between 0 and {MAX_LIMIT}")
    around = parts.reader.around(anchor, before, after)
    return [CompactResult(m.id, _short(m.title), m.kind, 1.0 if m.id == memory_id else 0.0, m.created_at) for m in around]


def details(parts: Parts, ids: Sequence[str]) -> list[Memory]:
    """The third layer: whole memories, in the order asked. Raises MemoryNotFound that names all that are missing."""
    if isinstance(ids, str):
        raise InvalidRequest("ids", ids, "give a list of ids")
    found = parts.reader.many(list(ids)[:MAX_LIMIT])
    missing = [memory_id for memory_id in ids if memory_id not in {memory.id for memory in found}]
    if missing:
        raise MemoryNotFound(*missing)
    return found


def related(parts: Parts, memory_id: str, where: Filter, limit: int = 10) -> list[SearchResult]:
    """Memories that share the most telling words of this one."""
    checked_limit(limit)
    with parts.reader.snapshot():
        existing(parts, memory_id)
        terms = _telling_terms(parts, memory_id)
        if not terms:
            return []
        now = parts.clock.now()
        hits = [hit for hit in parts.lexical.lexical(terms, where, limit + 1) if hit.memory_id != memory_id]
        return _results(parts, ranked(hits, now)[:limit], now)


def _telling_terms(parts: Parts, memory_id: str) -> list[Term]:
    """The words of a memory that others share and that say most about it."""
    counts = parts.lexical.words_of(memory_id)
    telling = sorted(without_stop_words(list(counts)), key=lambda word: -counts[word])[:MAX_WORDS]
    frequencies = parts.lexical.frequencies(telling)
    shared = choose_terms([word for word in telling if frequencies.counts.get(word, 0) > 1], frequencies, lambda *_: [])
    return sorted(shared, key=lambda term: -term.weight * counts.get(term.text, 1))[:RELATED_WORDS]


def existing(parts: Parts, memory_id: str) -> Memory:
    """The memory with this id. Raises MemoryNotFound."""
    memory = parts.reader.get(memory_id)
    if memory is None:
        raise MemoryNotFound(memory_id)
    return memory


def checked_limit(limit: int) -> int:
    """A sensible number of results."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidRequest("limit", limit, f"it must be a whole number between 1 and {MAX_LIMIT}")
    return limit


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def _checked_query(query: str) -> str:
    if not isinstance(query, str):
        raise InvalidRequest("query", query, "it must be a text")
    cleaned = _NO_TEXT.sub(" ", query).strip()
    if not cleaned:
        raise InvalidRequest("query", query, "say what to look for; `muisti list` shows everything")
    return cleaned
