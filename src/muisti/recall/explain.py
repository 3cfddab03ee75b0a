"""Why a memory was, or was not, recalled (contract E8)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from muisti.errors import MemoryNotFound
from muisti.model import Explanation, Filter, Memory
from muisti.recall.pipeline import parse, search
from muisti.recall.query import query_words

if TYPE_CHECKING:
    from muisti.ports import Services

_POOL = 200


def explain(parts: Services, query: str, memory_id: str, where: Filter, mode: str = "hybrid") -> Explanation:
    """Rank and reasons for one memory. Raises MemoryNotFound."""
    memory = parts.index.get(memory_id, include_deleted=True, any_origin=True)
    if memory is None:
        raise MemoryNotFound(memory_id)
    results = search(parts, query, where, _POOL, mode)
    place = next((n for n, result in enumerate(results, start=1) if result.memory.id == memory_id), None)
    terms = parse(parts, query)
    stored = set(" ".join(parts.index.words_of([memory_id]).get(memory_id, ())).split())
    matched = tuple(t.text for t in terms if t.text in stored or stored & set(t.alternatives))
    asked = tuple(query_words(query))
    if place is not None:
        result = results[place - 1]
        return Explanation(memory_id, query, True, place, asked, matched, (f"rank {place}",), result.why)
    reasons = [*_hidden_by(parts, memory, where), *_words_missing(matched, asked, len(results))]
    return Explanation(memory_id, query, False, None, asked, matched, tuple(reasons))


def _words_missing(matched: tuple[str, ...], asked: tuple[str, ...], found: int) -> list[str]:
    if not matched:
        return [f"none of the words asked for ({', '.join(asked)}) stands in it, and it is not near them in meaning"]
    missing = [word for word in asked if word not in matched]
    lacking = f"; it lacks {', '.join(missing)}" if missing else ""
    crowded = f"; {found} others match better" if found >= _POOL else ""
    return [f"it matches {', '.join(matched)}{lacking}{crowded}"]


def _hidden_by(parts: Services, memory: Memory, where: Filter) -> list[str]:
    """Which single filters keep it out."""
    reasons = []
    if memory.deleted_at is not None and not where.include_deleted:
        reasons.append("it is in the trash; `restore` brings it back")
    if memory.tier == "session" and where.session_id != memory.session_id and not where.all_sessions:
        reasons.append(f"it is seen in session {memory.session_id!r} only")
    default = Filter(all_sessions=True, include_deleted=True, unfiled=where.unfiled, ids=(memory.id,))
    for field in fields(Filter):
        value = getattr(where, field.name)
        if value == field.default or field.name in ("session_id", "all_sessions", "include_deleted", "unfiled", "ids"):
            continue
        if not parts.index.select(replace(default, **{field.name: value}), order="created_at", limit=1):
            reasons.append(f"the filter {field.name} = {value!r} leaves it out")
    return reasons
