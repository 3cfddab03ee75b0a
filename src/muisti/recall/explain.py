"""Explain why a memory was found, or was not (contract E8)."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime
from typing import TYPE_CHECKING

from muisti.errors import MemoryNotFound, quote_value
from muisti.model import Explanation, Filter, Memory
from muisti.recall.lookups import MAX_LIMIT
from muisti.recall.pipeline import find
from muisti.recall.query import find_terms, split_query
from muisti.recall.rank import explain_result

if TYPE_CHECKING:
    from muisti.ports import Services

_SEEN_APART = ("session_id", "all_sessions", "include_deleted", "unfiled", "ids")
"""Fields of a filter that are explained separately, or that only widen it."""


def explain(
    services: Services,
    query: str,
    memory_id: str,
    where: Filter,
    mode: str = "hybrid",
    asked_at: datetime | None = None,
) -> Explanation:
    """Return the rank of a memory and the reasons. Raises MemoryNotFound, InvalidRequest.

    If the memory is found, rank, score and signals are the same as in a search.
    """
    memory = services.index.get(memory_id, include_deleted=True, any_origin=True)
    if memory is None:
        raise MemoryNotFound(memory_id)
    with services.index.snapshot():
        hits = find(services, query, where, MAX_LIMIT, mode, asked_at).hits
        stored = set(" ".join(services.index.get_words([memory_id]).get(memory_id, ())).split())
        words = tuple(split_query(query))
        terms = find_terms(services, words)
    matched = tuple(one.text for one in terms if stored & {one.text, *one.alternatives})
    for place, hit in enumerate(hits, start=1):
        if hit.ranked.candidate.memory_id == memory_id:
            reasons = [f"rank {place}"]
            if hit.weak:
                reasons.append("a weak match: it probably does not answer the query")
            return Explanation(
                memory_id,
                query,
                True,
                place,
                words,
                matched,
                tuple(reasons),
                explain_result(hit.inputs, hit.ranked),
                hit.score,
                hit.weak,
            )
    reasons = _find_hiding_filters(services, memory, where)
    missing = [word for word in words if word not in matched]
    if not matched:
        reasons.append(
            f"it has none of the words ({', '.join(words)}) and is not similar in meaning"
        )
    else:
        reason = f"it matches {', '.join(matched)}"
        if missing:
            reason += f"; it lacks {', '.join(missing)}"
        if len(hits) >= MAX_LIMIT:
            reason += f"; {len(hits)} others match better"
        reasons.append(reason)
    return Explanation(memory_id, query, False, None, words, matched, tuple(reasons))


def _find_hiding_filters(services: Services, memory: Memory, where: Filter) -> list[str]:
    """Return a reason for each filter that by itself excludes the memory."""
    reasons = []
    if memory.deleted_at is not None and not where.include_deleted:
        reasons.append("it is in the trash; `restore` brings it back")
    of_other_session = memory.tier == "session" and where.session_id != memory.session_id
    if of_other_session and not where.all_sessions:
        reasons.append(f"only session {memory.session_id!r} can see it")
    alone = Filter(
        all_sessions=True,
        include_deleted=True,
        unfiled=where.unfiled,
        ids=(memory.id,),
    )
    for field in fields(Filter):
        value = getattr(where, field.name)
        if value == field.default or field.name in _SEEN_APART:
            continue
        narrowed = replace(alone, **{field.name: value})
        if not services.index.select(narrowed, order="created_at", limit=1):
            reasons.append(f"the filter {field.name} = {quote_value(value)} excludes it")
    return reasons
