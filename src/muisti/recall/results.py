"""From ranked candidates to search results: memories are read, and each gets its snippet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.errors import IndexCorrupt
from muisti.model import EntryType, Memory, SearchResult
from muisti.recall.features import Ranked, RankingInputs
from muisti.recall.fuse import squash_score
from muisti.recall.rank import explain_result
from muisti.recall.snippet import make_snippet
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.model import Message
    from muisti.ports import Services


def read_results(
    services: Services, inputs: RankingInputs, best: Sequence[Ranked]
) -> list[SearchResult]:
    """Read the best memories. Raises IndexCorrupt if the index lists one that it does not have."""
    ids = [ranked.candidate.memory_id for ranked in best]
    memories = services.index.get_many(ids, include_deleted=True, any_origin=True)
    if len(memories) != len(best):
        raise IndexCorrupt(
            "the index lists memories that it does not have; it is rebuilt from the files"
        )
    message_ids = [memory.id for memory in memories if memory.origin is EntryType.MESSAGE]
    messages = services.index.messages(message_ids) if message_ids else {}
    return [
        _make_result(inputs, memory, ranked, messages.get(memory.id))
        for memory, ranked in zip(memories, best, strict=True)
    ]


def _make_result(
    inputs: RankingInputs, memory: Memory, ranked: Ranked, message: Message | None
) -> SearchResult:
    word_hit = inputs.retrieval.keyword.get(memory.id)
    vector_hit = inputs.retrieval.vector.get(memory.id)
    found = word_hit.found if word_hit else frozenset()
    text = memory.content
    if word_hit is None and vector_hit is not None:
        text = memory.content[vector_hit.start : vector_hit.end]
    keywords = [keyword for keyword in memory.keywords if found.intersection(tokenize(keyword))]
    score = squash_score(ranked.score)
    return SearchResult(
        memory=memory,
        score=score,
        distance=1.0 - score,
        matched_snippet=make_snippet(text, found),
        matched_keywords=tuple(keywords),
        why=explain_result(inputs, ranked),
        source=memory.origin.value,
        message=message,
    )
