"""Look-ups that need no ranking: compact results, timeline, full memories, keywords."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from muisti.errors import InvalidRequest, MemoryNotFound
from muisti.model import EntryType, FoundMemories
from muisti.model.validity import is_outdated
from muisti.ports.lookups import ID, check_id
from muisti.ports.scope import check_visible, filter_visible

if TYPE_CHECKING:
    from muisti.model import CompactResult, Filter, Memory, SearchResult
    from muisti.ports import Services

MAX_LIMIT = 1000


def to_compact(results: Sequence[SearchResult]) -> list[CompactResult]:
    """Return search results as IDs, titles and scores only."""
    from muisti.model import CompactResult

    return [
        CompactResult(
            r.memory.id,
            _shorten(r.memory.title),
            r.memory.kind,
            round(r.score, 3),
            r.memory.created_at,
            r.outdated,
            r.superseded_by,
        )
        for r in results
    ]


def _shorten(title: str) -> str:
    """Return a title of at most about 40 tokens, as `count_tokens` estimates them."""
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
    """Return memories with any, or all, of these keywords. Raises InvalidRequest."""
    is_list = not isinstance(keywords, str) and bool(keywords)
    if not is_list or not all(isinstance(word, str) and word.strip() for word in keywords):
        raise InvalidRequest("keywords", keywords, "must be a list of one or more keywords")
    stripped = [word.strip() for word in keywords]
    limit = validate_limit(limit)
    return services.index.find_by_keywords(stripped, match_all=match_all, where=where, limit=limit)


def build_timeline(
    services: Services, memory_id: str, where: Filter, before: int = 5, after: int = 5
) -> list[CompactResult]:
    """Return the memories before and after one in its project, oldest first.

    Raises MemoryNotFound, InvalidRequest.
    """
    from muisti.model import CompactResult

    check_id(memory_id)
    check_visible(services, [memory_id], where)
    anchor = require_entry(services, memory_id)
    for option, value in (("before", before), ("after", after)):
        if not isinstance(value, int) or not 0 <= value <= MAX_LIMIT:
            raise InvalidRequest(option, value, f"must be a number between 0 and {MAX_LIMIT}")
    around = services.index.get_neighbours(anchor, before, after, where)
    outdated = _find_successors(services, around)
    return [
        CompactResult(
            m.id,
            _shorten(m.title),
            m.kind,
            1.0 if m.id == memory_id else 0.0,
            m.created_at,
            m.id in outdated,
            outdated.get(m.id),
        )
        for m in around
    ]


def _find_successors(services: Services, memories: Iterable[Memory]) -> dict[str, str | None]:
    """Return the ID of the latest successor of each outdated memory; None if it only expired."""
    now = services.clock.now()
    outdated = [memory.id for memory in memories if is_outdated(memory, now)]
    successors = services.index.successors(outdated) if outdated else {}
    return {memory_id: successors.get(memory_id, (None,))[-1] for memory_id in outdated}


def find_outdated(
    services: Services, ids: Sequence[str], where: Filter
) -> dict[str, Memory | None]:
    """Return the outdated memories among these, by ID, each with the memory that replaced it.

    None for one that only expired, or was replaced by one outside the scope. Memories in the trash
    count too; unknown IDs are left out. Raises InvalidRequest.
    """
    if isinstance(ids, str):
        raise InvalidRequest("ids", ids, "must be a list of IDs")
    with services.index.snapshot():
        memories = services.index.get_many(list(ids), include_deleted=True)
        successors = _find_successors(services, memories)
        new_ids = [new_id for new_id in successors.values() if new_id is not None]
        if where.is_scoped or not where.all_sessions:
            new_ids = filter_visible(services, new_ids, where)
        replacements = {memory.id: memory for memory in services.index.get_many(new_ids)}
    return {
        old_id: replacements.get(new_id) if new_id else None
        for old_id, new_id in successors.items()
    }


def check_ids(ids: Sequence[str]) -> None:
    """Raises InvalidRequest for what is not a list of IDs, or cannot be one, or for too many."""
    if isinstance(ids, str):
        raise InvalidRequest("ids", ids, "must be a list of IDs")
    if len(ids) > MAX_LIMIT:
        raise InvalidRequest("ids", f"{len(ids)} IDs", f"must be at most {MAX_LIMIT}")
    for one in ids:
        # Sections of documents have IDs such as `notes.md#heading`, messages `message:web/…`.
        is_id = isinstance(one, str) and (ID.fullmatch(one) or set(one) & {".", "/", "#", ":"})
        if not is_id or "\0" in one:
            raise InvalidRequest("ids", one, "must be IDs of memories, messages or sections")


def get_details(services: Services, ids: Sequence[str], where: Filter) -> FoundMemories:
    """Return full memories in the given order, without those that are gone or out of scope."""
    wanted = list(ids)
    if where.is_scoped:
        wanted = filter_visible(services, wanted, where)
    found = services.index.get_many(wanted, any_origin=True)
    known = {memory.id for memory in found}
    return FoundMemories(found, dict.fromkeys(one for one in ids if one not in known))


def require_entry(services: Services, memory_id: str) -> Memory:
    """Return the memory, message or document section with this id. Raises MemoryNotFound."""
    memory = services.index.get(memory_id, any_origin=True)
    if memory is None:
        raise MemoryNotFound(memory_id)
    return memory


def check_sources(services: Services, where: Filter) -> None:
    """Raises InvalidRequest for a document name that does not exist.

    The message lists the names that do, without those of other projects and users.
    """
    sources = [source for source in services.index.sources() if source.source]
    known = sorted({*services.index.document_sources(), *(one.source for one in sources)})
    for name in where.documents:
        if name not in known:
            reason = f"must be one of {', '.join(EntryType)}"
            if where.is_scoped:
                visible = [
                    one.source
                    for one in sources
                    if (where.project is None or one.project in (where.project, ""))
                    and (where.user is None or one.user in (where.user, ""))
                ]
                known = sorted(set(visible))
            if known:
                more = " …" if len(known) > 10 else ""
                reason += f", or the name of a document: {', '.join(known[:10])}{more}"
            raise InvalidRequest("source", name, reason)


def check_page(limit: int | None, offset: int) -> None:
    """Raises InvalidRequest if limit or offset is negative or not a number."""
    for name, value in (("limit", 0 if limit is None else limit), ("offset", offset)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidRequest(name, value, "must be a whole number and must not be negative")


def validate_limit(limit: int) -> int:
    """Return the limit. Raises InvalidRequest if it is not between 1 and MAX_LIMIT."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidRequest("limit", limit, f"must be a whole number between 1 and {MAX_LIMIT}")
    return limit
