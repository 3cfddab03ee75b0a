"""Why a memory was, or was not, recalled (contract E8)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from muisti.errors import MemoryNotFound
from muisti.model import Explanation, Filter, Memory
from muisti.recall.pipeline import parse_terms, search
from muisti.recall.query import split_query

if TYPE_CHECKING:
    from muisti.ports import Services

_POOL = 200
_SEEN_APART = ("session_id", "all_sessions", "include_deleted", "unfiled", "ids")
"""Fields of a filter that have reasons of their own, or that only widen it."""


def explain(
    services: Services,
    query: str,
    memory_id: str,
    where: Filter,
    mode: str = "hybrid",
) -> Explanation:
    """Return rank and reasons for one memory. Raises MemoryNotFound.

    If it was found, its signals are those of the ranking's features, as in a search.
    """
    memory = services.index.get(memory_id, include_deleted=True, any_origin=True)
    if memory is None:
        raise MemoryNotFound(memory_id)
    results = search(services, query, where, _POOL, mode)
    stored = set(" ".join(services.index.get_words([memory_id]).get(memory_id, ())).split())
    terms = parse_terms(services, query)
    matched = tuple(one.text for one in terms if stored & {one.text, *one.alternatives})
    asked = tuple(split_query(query))
    for place, result in enumerate(results, start=1):
        if result.memory.id == memory_id:
            why = (f"rank {place}",)
            return Explanation(memory_id, query, True, place, asked, matched, why, result.why)
    reasons = (
        *_hiding_filters(services, memory, where),
        _word_reason(matched, asked, len(results)),
    )
    return Explanation(memory_id, query, False, None, asked, matched, reasons)


def _word_reason(matched: tuple[str, ...], asked: tuple[str, ...], found: int) -> str:
    if not matched:
        missing_words = f"none of the words asked for ({', '.join(asked)}) stands in it"
        return f"{missing_words}, and it is not near them in meaning"
    missing = [word for word in asked if word not in matched]
    lacking = f"; it lacks {', '.join(missing)}" if missing else ""
    crowded = f"; {found} others match better" if found >= _POOL else ""
    return f"it matches {', '.join(matched)}{lacking}{crowded}"


def _hiding_filters(services: Services, memory: Memory, where: Filter) -> list[str]:
    """Return a reason for each single filter that keeps it out."""
    reasons = []
    if memory.deleted_at is not None and not where.include_deleted:
        reasons.append("it is in the trash; `restore` brings it back")
    of_other_session = memory.tier == "session" and where.session_id != memory.session_id
    if of_other_session and not where.all_sessions:
        reasons.append(f"it is seen in session {memory.session_id!r} only")
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
            reasons.append(f"the filter {field.name} = {value!r} leaves it out")
    return reasons
