"""From ranked candidates to search results: memories are read, and each gets its snippet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.errors import IndexCorrupt
from muisti.model import EntryType, SearchResult
from muisti.model.validity import is_outdated
from muisti.recall.rank import explain_result
from muisti.recall.snippet import make_snippet
from muisti.text.tokens import tokenize

if TYPE_CHECKING:
    from muisti.model import Memory, Message
    from muisti.ports import Services
    from muisti.recall.pages import Hit


def read_results(services: Services, best: Sequence[Hit]) -> list[SearchResult]:
    """Read the best memories. Raises IndexCorrupt if the index lists one that it does not have."""
    ids = [hit.ranked.candidate.memory_id for hit in best]
    memories = services.index.get_many(ids, include_deleted=True, any_origin=True)
    if len(memories) != len(best):
        raise IndexCorrupt(
            "the index lists memories that it does not have; it is rebuilt from the files"
        )
    outdated = [
        memory.id
        for memory, hit in zip(memories, best, strict=True)
        if is_outdated(memory, hit.inputs.now)
    ]
    successors = services.index.successors(outdated) if outdated else {}
    message_ids = [memory.id for memory in memories if memory.origin is EntryType.MESSAGE]
    messages = services.index.messages(message_ids) if message_ids else {}
    results = [
        _make_result(memory, hit, messages.get(memory.id))
        for memory, hit in zip(memories, best, strict=True)
    ]
    paths = {memory.file_path for memory in memories if memory.origin is EntryType.DOCUMENT}
    versions: dict[str | None, str] = {}
    if paths:
        documents = services.index.list_documents([path for path in paths if path])
        versions = {document.path: document.version for document in documents}
    for number, result in enumerate(results):
        if result.memory.origin is EntryType.DOCUMENT:
            version = versions.get(result.memory.file_path, "")
            results[number] = replace(result, document_version=version)
        elif result.memory.id in outdated:
            newer = successors.get(result.memory.id, (None,))
            results[number] = replace(result, outdated=True, superseded_by=newer[-1])
    return results


def _make_result(memory: Memory, hit: Hit, message: Message | None) -> SearchResult:
    retrieval, position = hit.inputs.retrieval, hit.ranked.position
    vector_hit = retrieval.vector.get(position)
    found = hit.inputs.explain_match(hit.ranked).found
    text = memory.content
    if position not in retrieval.keyword and vector_hit is not None:
        text = memory.content[vector_hit.start : vector_hit.end]
    keywords: list[str] = []
    words = retrieval.texts.get(memory.id)
    if words is None or not found.isdisjoint(words.labels.split()):  # they have the keywords
        keywords = [
            one
            for one in (*memory.keywords, *memory.hashtags)
            if not found.isdisjoint(tokenize(one))
        ]
    cosine = float(retrieval.cosines[position]) if len(retrieval.cosines) else math.nan
    return SearchResult(
        memory=memory,
        score=hit.score,
        distance=None if math.isnan(cosine) else 1.0 - cosine,
        matched_snippet=make_snippet(text, found),
        matched_keywords=tuple(keywords),
        why=explain_result(hit.inputs, hit.ranked),
        source=memory.origin.value,
        message=message,
        weak=hit.weak,
    )
