"""What a prompt is told: the few memories that matter for it, fenced as data. Loads as little as it can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from muisti.recall.fence import CLOSING, OPENING, fence_memory, fence_text
from muisti.recall.prompt_context import count_tokens
from muisti.recall.query import split_query
from muisti.surfaces.hooks import relevance

if TYPE_CHECKING:
    from muisti.engine.search import Search
    from muisti.model import Memory, SearchResult

BUDGET = 500
MAX_MEMORIES = 5
"""Memories that a prompt gets."""
LONG_MEMORY = 120
"""Tokens of a memory from which on a prompt gets the passage that matters instead of the whole."""


def extract_query(prompt: str) -> str:
    """What of a prompt is to be looked for; "" if that says too little to look for anything."""
    question = relevance.extract_text(prompt)
    return (
        question if question and relevance.is_specific(question, len(split_query(question))) else ""
    )


def recall_for_prompt(
    memory: Search, question: str, project: str, session: str, known: set[str]
) -> tuple[str, list[str]]:
    """The few memories that matter for a question as one block, and their ids; ("", []) if none does."""
    found = memory.search(
        question,
        limit=MAX_MEMORIES + 3,
        mode="keyword",
        record=False,
        project=project,
        unfiled=True,
        session_id=session or None,
        source=("memory", "document"),
    )
    chosen = _that_matter(memory, question, [one for one in found if one.memory.id not in known])
    kept = _within(_shortened(chosen), BUDGET)
    return fence_text(kept), [one.id for one in kept]


def _that_matter(
    memory: Search, question: str, found: Sequence[SearchResult]
) -> list[SearchResult]:
    now = datetime.now(UTC)
    current = [
        one for one in found if one.memory.valid_until is None or one.memory.valid_until > now
    ]
    if not current:
        return []
    told = split_query(question)
    common = memory.word_frequencies(told)
    asks = relevance.is_question(question)
    return [
        one
        for one in current
        if relevance.is_relevant(
            asks, told, common.counts, common.documents, f"{one.memory.title}\n{one.memory.content}"
        )
    ][:MAX_MEMORIES]


def _shortened(found: Iterable[SearchResult]) -> list[Memory]:
    return [
        one.memory
        if count_tokens(one.memory.content) <= LONG_MEMORY
        else replace(one.memory, content=one.matched_snippet)
        for one in found
    ]


def _within(memories: Sequence[Memory], budget: int) -> list[Memory]:
    left = budget - count_tokens(OPENING) - count_tokens(CLOSING) - 2
    kept = []
    for one in memories:
        cost = count_tokens(fence_memory(one)) + 1
        if cost <= left:
            kept.append(one)
            left -= cost
    return kept
