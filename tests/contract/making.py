"""Stored files and readings for the suites of the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muisti.model import Event, Filter, Memory
from muisti.ports import (
    Census,
    Changes,
    Index,
    Known,
    Lexical,
    LexicalHit,
    Links,
    Mark,
    MemoryReader,
    Reading,
    Stamp,
    StoredFile,
    Twins,
)
from muisti.recall.query import choose_terms, query_words
from tests.unit.making import a_memory


@dataclass(frozen=True)
class Parts:
    """One index with its readers."""

    index: Index
    reader: MemoryReader
    lexical: Lexical
    twins: Twins
    census: Census
    links: Links

    def add(self, *memories: Memory) -> None:
        self.index.apply(Changes(files=[stored(memory) for memory in memories]))

    def happen(self, *events: Event, restarted: bool = False) -> None:
        self.index.apply(Changes(reading=Reading(events, {"2026-03.jsonl": Mark(len(events), "x")}, restarted)))

    def find(self, query: str, where: Filter | None = None, limit: int = 10) -> list[LexicalHit]:
        """As a search does it, without ranking."""
        found = query_words(query)
        if not found:
            return self.lexical.literal(query, where or Filter(), limit) if query else []
        terms = choose_terms(found, self.lexical.frequencies(found), self.lexical.similar_words)
        return self.lexical.lexical(terms, where or Filter(), limit) if terms else []

    def ids(self, query: str, where: Filter | None = None, limit: int = 10) -> list[str]:
        return [hit.memory_id for hit in self.find(query, where, limit)]


def filed(number: int, content: str, **fields: Any) -> Memory:
    """A memory that has its place in the vault."""
    path = fields.pop("file_path", f"notes/{number}.md")
    return a_memory(number, content, file_path=path, **fields)


def stored(memory: Memory) -> StoredFile:
    return StoredFile(memory, Stamp(len(memory.content), 1, 1), f"sha of {memory.content}", 2)


def known(memory: Memory) -> Known:
    file = stored(memory)
    return Known(file.stamp, file.seen_ns, file.sha, memory.id)


def ids(memories: Sequence[Memory]) -> list[str]:
    return [memory.id for memory in memories]
