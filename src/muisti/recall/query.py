"""From a query to the words that the index is searched for, and the time that it names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from muisti.errors import InvalidRequest
from muisti.ports import Term
from muisti.recall.matching import find_similar_words
from muisti.text.stop_words import remove_stop_words
from muisti.text.tokens import is_spaceless, tokenize

if TYPE_CHECKING:
    from muisti.ports import Frequencies, Services
    from muisti.recall.query_embedding import StartedEmbedding
    from muisti.text.time_expressions.question import When

MODES = ("hybrid", "vector", "keyword")
MAX_QUERY = 100_000
"""Characters of a query that are read."""
MAX_SPELLING = 2000
"""Characters of a query whose own spelling is shown in `why`."""
MAX_WORDS = 1000
"""Distinct words of a query that are looked up: each costs time, even if no memory has it."""
MAX_TERMS = 48
RELATED_TERMS = 16
POSTINGS = 8_000
"""How many memories the words of one query may match before common words no longer select any.

This bounds the cost of a query.
"""
RARE = 3
"""A word in fewer memories than this is also looked for inside longer words."""
ALTERNATIVES = 12
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class ParsedQuery(NamedTuple):
    """A query with its words and its time."""

    text: str
    mode: str
    terms: Sequence[Term] = ()
    when: When | None = None
    words: Sequence[str] = ()
    """All of its index words but stop words, also those that no memory has."""
    started: StartedEmbedding | None = None
    """Its embedding, if another thread computes it already."""


def validate_mode(mode: str) -> str:
    """Return the search mode. Raises InvalidRequest if it is unknown."""
    if mode not in MODES:
        raise InvalidRequest("mode", mode, f"must be one of {', '.join(MODES)}")
    return mode


def clean_query(query: str) -> str:
    """Return the query without NUL and surrogates. Raises InvalidRequest if nothing is left."""
    if not isinstance(query, str):
        raise InvalidRequest("query", query, "must be a text")
    cleaned = _NO_TEXT.sub(" ", query).strip()
    if not cleaned:
        raise InvalidRequest("query", query, "must not be empty; `muisti list` shows all memories")
    return cleaned


def parse_query(
    services: Services,
    query: str,
    mode: str,
    now: datetime,
    started: StartedEmbedding | None = None,
) -> ParsedQuery:
    """Return the words and the time of a query. `retrieve` embeds it unless that was started."""
    words = split_query(query)
    terms = [] if mode == "vector" else find_terms(services, words)
    return ParsedQuery(query, mode, terms, parse_when(query, now), words, started)


def parse_when(query: str, now: datetime) -> When | None:
    """Return the time that a query names, or None.

    The table of phrases is built lazily: few queries name a time.
    """
    from muisti.text.time_expressions.calendar import may_mention_time

    if not may_mention_time(query):
        return None
    from muisti.text.time_expressions import question

    return question.parse_when(query, now)


def find_terms(services: Services, words: Sequence[str]) -> list[Term]:
    """Return those of a query's words to search for, with their weights and alternatives."""
    if not words:
        return []
    find_similar = partial(find_similar_words, services.index)
    return choose_terms(words, services.index.frequencies(words), find_similar)


def choose_related_terms(services: Services, memory_id: str) -> tuple[list[Term], float]:
    """Return the most distinctive words of a memory that others have too, and their weight.

    The weight is the share of the memory's words that others have, weighted by rarity: no text has
    more than that in common with the memory.
    """
    stored = " ".join(services.index.get_words([memory_id]).get(memory_id, ()))
    counts = Counter(stored.split())
    words = remove_stop_words(list(counts))
    most_used = sorted(words, key=lambda word: -counts[word])[:MAX_WORDS]
    frequencies = services.index.frequencies(most_used)
    shared = [word for word in most_used if frequencies.counts.get(word, 0) > 1]
    terms = choose_terms(shared, frequencies, lambda *_: [])
    terms.sort(key=lambda term: -term.weight * counts.get(term.text, 1))
    weights = {
        word: compute_idf(frequencies.counts.get(word, 0), frequencies.documents)
        for word in most_used
    }
    share = math.fsum(map(weights.__getitem__, shared)) / (math.fsum(weights.values()) or 1.0)
    return terms[:RELATED_TERMS], share


def spell_words(query: str) -> dict[str, str]:
    """Return how the query spells each index word: "database" for "databas"."""
    spelt = re.findall(r"\w+", query[:MAX_SPELLING])
    return {word: text.lower() for text in spelt for word in tokenize(text)}


def split_query(query: str) -> list[str]:
    """Return the distinct index words of a query, without stop words."""
    words = dict.fromkeys(tokenize(query[:MAX_QUERY], query=True))
    return remove_stop_words(list(words)[:MAX_WORDS])


def choose_terms(
    words: Sequence[str], frequencies: Frequencies, find_similar: Callable[[str, int], list[str]]
) -> list[Term]:
    """Return the words as weighted terms, rarest first, each with its alternatives.

    Once the words match more than POSTINGS memories, further ones no longer select memories.
    """
    counts = frequencies.counts
    terms: list[Term] = []
    matches = 0
    for word in sorted(words, key=lambda word: counts.get(word, 0)):
        count = counts.get(word, 0)
        is_first = not any(counts.get(term.text) for term in terms)
        sought = matches + count <= POSTINGS or is_first
        matches += count
        is_prefix = len(word) == 1 and is_spaceless(word)
        # Not for numbers, and not for short words: `new` is in `renewed`.
        may_be_part = not word.isdigit() and (len(word) > 3 or not word.isascii())
        alternatives: list[str] = []
        if count < RARE and may_be_part and not is_prefix:
            alternatives = find_similar(word, ALTERNATIVES)
        if count or alternatives or is_prefix:
            idf = compute_idf(count, frequencies.documents)
            terms.append(Term(word, idf, tuple(alternatives), is_prefix, sought))
        if len(terms) == MAX_TERMS:
            break
    return terms


def compute_idf(count: int, documents: int) -> float:
    """Return the inverse document frequency as FTS5 computes it: at least 1e-6."""
    if count > documents:
        return 1e-6
    return max(1e-6, math.log((documents - count + 0.5) / (count + 0.5)))
