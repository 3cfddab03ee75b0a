"""The read path: context out. Each step is named here in its order.

read the question → keyword and vector lists → neighbours → fuse → rank → results with snippet and reasons
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from muisti.errors import IndexCorrupt, InvalidRequest
from muisti.model import Filter, Memory, Origin, SearchResult, SearchResults, Signal
from muisti.recall.gather import Evidence, Meaning, Question, gathered
from muisti.recall.layers import checked_limit, existing
from muisti.recall.matching import similar_words
from muisti.recall.query import MAX_WORDS, choose_terms, query_words, without_stop_words
from muisti.recall.rank import PRIOR, Ranked, ranked, share
from muisti.recall.snippet import snippet
from muisti.text.tokens import split_words, tokenize

if TYPE_CHECKING:
    from muisti.ports import Services, Term
    from muisti.recall.matching import LexicalHit
    from muisti.text.time_expressions.question import When

MODES = ("hybrid", "vector", "keyword")
RELATED_WORDS = 16
MAX_READ = 2000
"""Characters of a question whose own spelling is shown."""


def search(
    parts: Services, query: str, where: Filter, limit: int | None = None, mode: str = "hybrid", asked_at: datetime | None = None
) -> SearchResults:
    """The memories that answer a query, best first. Asked at: "yesterday" is the day before that, not before now."""
    limit = checked_limit(parts.settings.search_limit if limit is None else limit)
    query = _checked_query(query)
    now = asked_at or parts.clock.now()
    with parts.index.snapshot():
        question = read_question(parts, query, checked_mode(mode), now)
        evidence = gathered(parts, question, where, limit)
        if mode == "vector" and evidence.asked.vector is None:  # there is nothing to go by but the words
            question = read_question(parts, query, "keyword", now)
            evidence = gathered(parts, question, where, limit, evidence.asked)
        best = ranked(question, evidence, now)[:limit]
        went_by = "keyword" if evidence.asked.vector is None else mode
        return SearchResults(_results(parts, best, evidence, query), went_by, evidence.asked.degraded)


def read_question(parts: Services, query: str, mode: str, now: datetime) -> Question:
    """Its words and its time. Its meaning is asked for when it is known who may be spoken of."""
    return Question(query, mode, [] if mode == "vector" else parse(parts, query), parse_when(query, now))


def parse_when(query: str, now: datetime) -> When | None:
    """The time that a question speaks of. Its table of phrases is dear to build, so that is left to who speaks of one."""
    from muisti.text.time_expressions.calendar import may_tell

    if not may_tell(query):
        return None
    from muisti.text.time_expressions import question

    return question.parse_when(query, now)


def parse(parts: Services, query: str) -> list[Term]:
    """The words of a query that are worth looking for."""
    found = query_words(query)
    if not found:
        return []
    return choose_terms(found, parts.index.frequencies(found), partial(similar_words, parts.index))


def _results(parts: Services, best: Sequence[Ranked], evidence: Evidence, asked: str = "") -> list[SearchResult]:
    """Read the memories that made it. Raises IndexCorrupt if the index names a memory that is not there."""
    memories = parts.index.many([one.candidate.memory_id for one in best], include_deleted=True, any_origin=True)
    if len(memories) != len(best):
        raise IndexCorrupt("the index names memories that it does not have; it is rebuilt from the files")
    places = _Places(evidence, as_asked(asked))
    said = [memory.id for memory in memories if memory.origin is Origin.MESSAGE]
    messages = parts.index.messages(said) if said else {}
    return [
        replace(places.result(memory, one), message=messages.get(memory.id)) for memory, one in zip(memories, best, strict=True)
    ]


class _Places:
    """Where each list put a memory."""

    def __init__(self, evidence: Evidence, asked: Mapping[str, str]) -> None:
        self._evidence = evidence
        self._asked = asked
        self._keyword = {id_: place for place, id_ in enumerate(evidence.keyword, start=1)}
        self._vector = {id_: place for place, id_ in enumerate(evidence.vector, start=1)}

    def result(self, memory: Memory, one: Ranked) -> SearchResult:
        """The memory as an answer."""
        hit = self._evidence.keyword.get(memory.id)
        found = hit.found if hit else frozenset()
        matched = tuple(keyword for keyword in memory.keywords if found.intersection(tokenize(keyword)))
        score = share(one)
        why = self.why(memory.id, one)
        return SearchResult(memory, score, 1.0 - score, self._snippet(memory, hit), matched, why, memory.origin.value)

    def _snippet(self, memory: Memory, hit: LexicalHit | None) -> str:
        piece = self._evidence.vector.get(memory.id)
        if hit is None and piece is not None:
            return snippet(memory.content[piece.start : piece.end], frozenset())
        return snippet(memory.content, hit.found if hit else frozenset())

    def why(self, memory_id: str, one: Ranked) -> tuple[Signal, ...]:
        """What speaks for it."""
        hit, near = self._evidence.keyword.get(memory_id), self._evidence.vector.get(memory_id)
        signals = []
        if hit is not None:
            loosely = f"; only nearly: {self._as_asked(hit.loose)}" if hit.loose else ""
            signals.append(
                Signal(
                    "keyword", self._keyword[memory_id], round(hit.score, 4), f"matched {self._as_asked(hit.matched)}{loosely}"
                )
            )
        if near is not None:
            signals.append(Signal("vector", self._vector[memory_id], round(near.score, 4), "similar in meaning"))
        if one.instead_of:
            signals.append(Signal("supersedes", None, 1.0, f"took the place of {one.instead_of}"))
        elif hit is None and near is None:
            signals.append(Signal("context", None, 0.0, "found through its neighbours in the conversation"))
        if one.speaker:
            signals.append(Signal("speaker", None, one.speaker, "said by the one whom the question is about"))
        if one.time:
            signals.append(Signal("time", None, one.time, "of the time that the question names, or near it"))
        signals.append(Signal("prior", None, round(one.prior, 4), f"salience, importance and recency; at most {PRIOR:g}"))
        if one.untrue:
            signals.append(Signal("validity", None, -one.untrue, "no longer, or not yet, true"))
        if one.said:
            signals.append(Signal("message", None, -one.said, "a message, where memories or documents answer too"))
        return tuple(signals)

    def _as_asked(self, matched: Iterable[str]) -> str:
        return ", ".join(sorted({self._asked.get(word, word) for word in matched}))


def as_asked(question: str) -> dict[str, str]:
    """For each index word, how the question spelt it: people know "database", not "databas"."""
    return {word: spelt.lower() for spelt in split_words(question[:MAX_READ]) for word in tokenize(spelt)}


def related(parts: Services, memory_id: str, where: Filter, limit: int = 10) -> list[SearchResult]:
    """Memories that share the most telling words of this one, or are near it in meaning."""
    checked_limit(limit)
    with parts.index.snapshot():
        memory = existing(parts, memory_id)
        space = next((space for space in parts.vectors.spaces() if space.serving), None)
        vector = parts.vectors.vector_of(space, memory_id) if space else None
        terms = _telling_terms(parts, memory_id)
        if not terms and vector is None:
            return []
        question = Question(memory.title, "hybrid", terms)
        evidence = gathered(parts, question, where, limit + 1, Meaning(vector, space, 1.0))
        best = [one for one in ranked(question, evidence, parts.clock.now()) if one.candidate.memory_id != memory_id]
        return _results(parts, best[:limit], evidence)


def _telling_terms(parts: Services, memory_id: str) -> list[Term]:
    """The words of a memory that others share and that say most about it."""
    counts = Counter(" ".join(parts.index.words_of([memory_id]).get(memory_id, ())).split())
    telling = sorted(without_stop_words(list(counts)), key=lambda word: -counts[word])[:MAX_WORDS]
    frequencies = parts.index.frequencies(telling)
    shared = choose_terms([word for word in telling if frequencies.counts.get(word, 0) > 1], frequencies, lambda *_: [])
    return sorted(shared, key=lambda term: -term.weight * counts.get(term.text, 1))[:RELATED_WORDS]


def checked_mode(mode: str) -> str:
    """One of the three modes. Raises InvalidRequest."""
    if mode not in MODES:
        raise InvalidRequest("mode", mode, f"it must be one of {', '.join(MODES)}")
    return mode


_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def _checked_query(query: str) -> str:
    if not isinstance(query, str):
        raise InvalidRequest("query", query, "it must be a text")
    cleaned = _NO_TEXT.sub(" ", query).strip()
    if not cleaned:
        raise InvalidRequest("query", query, "say what to look for; `muisti list` shows everything")
    return cleaned
