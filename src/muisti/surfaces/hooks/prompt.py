"""Recall for a prompt: the few memories that are relevant to it. Imports as little as possible."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.errors import SessionNotFound
from muisti.recall.fence import CLOSING, OPENING, fence_memory, name_project
from muisti.recall.prompt_context import count_tokens, format_standing
from muisti.recall.query import split_query
from muisti.surfaces.hooks import relevance

if TYPE_CHECKING:
    from muisti.engine.search import Search
    from muisti.model import Memory, SearchResult, SearchResults
    from muisti.recall.filters import Mode

BUDGET = 500
"""Tokens of the whole block."""
MAX_MEMORIES = 5
STANDING_BUDGET = 150
"""Tokens of it for standing instructions, which need not match the prompt."""
LONG_MEMORY = 120
"""Tokens from which a memory is shortened to the matching passage."""


def extract_query(prompt: str) -> str:
    """Return what to search for, or "" if the prompt says too little."""
    query = relevance.extract_text(prompt)
    if query and relevance.is_specific(query, len(split_query(query))):
        return query
    return ""


def recall_for_prompt(
    memory: Search,
    query: str,
    project: str,
    session: str,
    recalled: set[str],
    *,
    mode: Mode = "keyword",
) -> tuple[str, list[str]]:
    """Return the relevant memories as one fenced block, and their IDs; ("", []) if there are none.

    Recalled: IDs of memories that the session's context has already.
    """

    def search(session_id: str | None) -> SearchResults:
        return memory.search(
            query,
            limit=MAX_MEMORIES + 3,
            mode=mode,
            record=False,
            project=project,
            user=memory.settings.user,
            session_id=session_id,
            source=("memory", "document"),
        )

    try:
        results = search(session or None)
    except SessionNotFound:  # nothing of it is stored yet, or it began in another project
        results = search(None)
    candidates = [
        one
        for one in results
        if not one.weak and not one.outdated and one.memory.id not in recalled
    ]
    left = BUDGET - count_tokens(name_project(OPENING, project)) - count_tokens(CLOSING) - 2
    bearing = memory.find_standing(query, project=project, user=memory.settings.user)
    standing = [one for one in bearing if one.trusted and one.id not in recalled]
    section = format_standing(standing, STANDING_BUDGET)
    told = [one.id for one in standing if f'<memory id="{one.id}"' in section]
    left -= count_tokens(section) + 1
    candidates = [one for one in candidates if one.memory.id not in told]
    kept: list[Memory] = []
    by_meaning = results.mode == "hybrid"
    for result in _select_relevant(memory, query, candidates, by_meaning=by_meaning):
        found = result.memory
        if count_tokens(found.content) > LONG_MEMORY:
            found = replace(found, content=result.matched_snippet)
        cost = count_tokens(fence_memory(found)) + 1
        if cost <= left:
            kept.append(found)
            left -= cost
    if not kept and not section:
        return "", []
    parts = [OPENING, *([section] if section else []), *map(fence_memory, kept), CLOSING]
    return name_project("\n".join(parts), project), [*told, *(one.id for one in kept)]


def _select_relevant(
    memory: Search, query: str, candidates: list[SearchResult], *, by_meaning: bool
) -> list[SearchResult]:
    if not candidates:
        return []
    words = split_query(query)
    frequencies = memory.word_frequencies(words)
    is_question = relevance.is_question(query)
    relevant = []
    for result in candidates:
        if by_meaning and relevance.is_confident(result.score, words):
            relevant.append(result)
            continue
        text = f"{result.memory.title}\n{result.memory.content}"
        if result.score >= relevance.MIN_SCORE and relevance.is_relevant(
            is_question, words, frequencies.counts, frequencies.documents, text
        ):
            relevant.append(result)
    return relevant[:MAX_MEMORIES]
