"""Helpers for the suites of the search index: rows, events and searches in one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import HealthCheck

from muisti.lifecycle.journal_projection import project_events
from muisti.model import Event, Filter, Memory
from muisti.ports import IndexChanges, SearchIndex
from muisti.recall.matching import find_similar_words, rate_matches
from muisti.recall.query import choose_terms, split_query
from muisti.remember.index_rows import project_memory
from tests.unit.making import a_memory

SHARED_SUITE = [
    HealthCheck.function_scoped_fixture,
    HealthCheck.too_slow,
    HealthCheck.differing_executors,
]
"""What Hypothesis need not warn of in a suite that several adapters inherit."""


def filed(number: int, content: str, **fields: Any) -> Memory:
    """Return a memory that has its place in the vault."""
    path = fields.pop("file_path", f"notes/{number}.md")
    return a_memory(number, content, file_path=path, **fields)


def ident(number: int) -> str:
    """Return the id of the memory with this number."""
    return a_memory(number, "x").id


def ids(memories: Sequence[Memory]) -> list[str]:
    """Return the ids of memories."""
    return [memory.id for memory in memories]


def add(index: SearchIndex, *memories: Memory) -> None:
    """Put memories into the index, in one transaction."""
    index.apply(IndexChanges(memories=[project_memory(memory) for memory in memories]))


def remove(index: SearchIndex, *numbers: int) -> None:
    """Remove the memories with these numbers, in one transaction."""
    index.apply(IndexChanges(removed=[ident(number) for number in numbers]))


def happen(index: SearchIndex, *events: Event, restart: bool = False) -> None:
    """Let the journal tell of these events."""
    index.apply(IndexChanges(journal=project_events(events, index, restart=restart)))


class Found(NamedTuple):
    """What a search by words found."""

    memory_id: str
    score: float


def find(
    index: SearchIndex, query: str, where: Filter | None = None, limit: int = 10
) -> list[Found]:
    """Search by words as the recall pipeline does, without ranking."""
    where = where or Filter()
    words = split_query(query)
    if not words:
        ids = index.match_literal(query, where, limit) if query else []
        return [Found(id_, 0.5) for id_ in ids]
    terms = choose_terms(
        words, index.frequencies(words), lambda word, most: find_similar_words(index, word, most)
    )
    matches = index.match(terms, where, limit) if terms else []
    hits = rate_matches({one.memory_id: one.bm25 for one in matches}, terms)
    return [Found(id_, score) for id_, score in hits.items()]


def find_ids(
    index: SearchIndex, query: str, where: Filter | None = None, limit: int = 10
) -> list[str]:
    """Return the ids of what a search by words finds."""
    return [hit.memory_id for hit in find(index, query, where, limit)]
