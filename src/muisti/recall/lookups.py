"""The three layers of an answer, and look-ups that need no ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import CompactResult, EntryType, Filter, Memory, SearchResult

if TYPE_CHECKING:
    from muisti.ports import Services

MAX_LIMIT = 1000


def to_compact(results: Sequence[SearchResult]) -> list[CompactResult]:
    """The first layer: what to choose from."""
    return [
        CompactResult(
            r.memory.id,
            _short(r.memory.title),
            r.memory.kind,
            round(r.score, 3),
            r.memory.created_at,
        )
        for r in results
    ]


def _short(title: str) -> str:
    """At most about 40 tokens: a quarter of a token for each ASCII character, one for any other."""
    room = 160
    for at, char in enumerate(title):
        room -= 1 if char.isascii() else 4
        if room < 0:
            return f"{title[:at]}…"
    return title


def search_by_keywords(
    services: Services,
    keywords: Sequence[str],
    where: Filter,
    *,
    match_all: bool = False,
    limit: int = 10,
) -> list[Memory]:
    """Memories with any, or all, of these keywords."""
    if (
        isinstance(keywords, str)
        or not keywords
        or not all(isinstance(k, str) and k.strip() for k in keywords)
    ):
        raise InvalidRequest("keywords", keywords, "give a list of one or more keywords")
    return services.index.find_by_keywords(
        [k.strip() for k in keywords], match_all=match_all, where=where, limit=validate_limit(limit)
    )


def timeline(
    services: Services, memory_id: str, before: int = 5, after: int = 5
) -> list[CompactResult]:
    """The second layer: what happened around a memory in its project, in the order of time."""
    anchor = require_entry(services, memory_id)
    for option, value in (("before", before), ("after", after)):
        if not isinstance(value, int) or not 0 <= value <= MAX_LIMIT:
            raise InvalidRequest(option, value, f"must be a number between 0 and {MAX_LIMIT}")
    around = services.index.get_neighbours(anchor, before, after)
    return [
        CompactResult(
            m.id, _short(m.title), m.kind, 1.0 if m.id == memory_id else 0.0, m.created_at
        )
        for m in around
    ]


def details(services: Services, ids: Sequence[str]) -> list[Memory]:
    """The third layer: whole memories, in the order asked. Raises MemoryNotFound that names all that are missing."""
    if isinstance(ids, str):
        raise InvalidRequest("ids", ids, "give a list of ids")
    found = services.index.get_many(list(ids)[:MAX_LIMIT], any_origin=True)
    missing = [memory_id for memory_id in ids if memory_id not in {memory.id for memory in found}]
    if missing:
        raise MemoryNotFound(*missing)
    return found


def require_entry(services: Services, memory_id: str) -> Memory:
    """The memory with this id. Raises MemoryNotFound."""
    memory = services.index.get(memory_id, any_origin=True)
    if memory is None:
        raise MemoryNotFound(memory_id)
    return memory


def check_sources(services: Services, names: Sequence[str]) -> None:
    """Raises InvalidRequest if no document is called so: an empty answer would not tell."""
    known = sorted(
        {
            *services.index.document_sources(),
            *(shelf.source for shelf in services.index.sources() if shelf.source),
        }
    )
    for name in names:
        if name not in known:
            some = (
                f", or what a document is called: {', '.join(known[:10])}{' …' if len(known) > 10 else ''}"
                if known
                else ""
            )
            raise InvalidRequest("source", name, f"must be one of {', '.join(EntryType)}{some}")


def check_page(limit: int | None, offset: int) -> None:
    """Raises InvalidRequest for a page that no list has."""
    if (limit is not None and limit < 0) or offset < 0:
        raise InvalidRequest("limit, offset", (limit, offset), "neither may be below 0")


def validate_limit(limit: int) -> int:
    """A sensible number of results."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidRequest("limit", limit, f"must be a whole number between 1 and {MAX_LIMIT}")
    return limit
