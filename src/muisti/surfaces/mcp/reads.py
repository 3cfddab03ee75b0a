"""Reads that tools and resources share. All of them stay within the agent's scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import cast

from muisti.aio import MemoryService
from muisti.errors import MemoryNotFound
from muisti.model import EntryType, Memory, SearchResult
from muisti.recall.fence import quote_text
from muisti.recall.filters import ALL, OPTIONS, FilterOptions
from muisti.surfaces.mcp.results import Entry
from muisti.surfaces.mcp.scope import SHOWN_TIERS, AgentScope

PARTIAL_ID_LENGTHS = range(8, 36)
"""Lengths of the start or end of an ID."""
MOST_SESSIONS = 50
"""The latest sessions that an overview looks at."""
MOST_STANDING = 3
"""How many standing instructions a search adds to its results."""
MOST_READ = 2_000
"""Memories that an overview looks through for pinned or unverified ones, the latest first."""


async def resolve_id(memory: MemoryService, given: str) -> str:
    """Return the full ID for its first or last characters; unchanged if none or several match."""
    part = given.strip().removeprefix("memory://").lstrip("…")
    if len(part) not in PARTIAL_ID_LENGTHS:
        return part
    matches = await memory.find_ids(part, limit=2)
    return matches[0] if len(matches) == 1 else part


async def read_visible(
    memory: MemoryService, agent: AgentScope, memory_id: str, project: str = ALL
) -> Memory:
    """Return a memory. Raises MemoryNotFound if there is none, or the agent may not see it."""
    found = await memory.get(memory_id, **agent.make_scope(project))
    if found is None or not agent.shows(found):
        raise MemoryNotFound(memory_id)
    return found


async def read_details(
    memory: MemoryService, agent: AgentScope, ids: Sequence[str], project: str
) -> tuple[list[Memory], list[str]]:
    """Return the memories of a project with these IDs, and the IDs that none has.

    Raises MemoryNotFound if none has any of them.
    """
    known = [await memory.get(one, **agent.make_scope(project)) for one in ids]
    shown = [one.id for one in known if one is not None and agent.shows(one)]
    if not shown:
        raise MemoryNotFound(*ids)
    return await memory.details(shown), [one for one in ids if one not in shown]


def only_unverified(options: FilterOptions) -> FilterOptions:
    """Return the options with the filter for unverified memories, if the engine has it."""
    if "trusted" not in OPTIONS:
        return options
    return cast("FilterOptions", {**options, "trusted": False})


async def describe_long_sessions(memory: MemoryService, agent: AgentScope, project: str) -> str:
    """Return which sessions of the agent's scope need a summary, or ""."""
    sessions = await memory.list_sessions(project, user=agent.user, limit=MOST_SESSIONS)
    long = [quote_text(one.id) for one in sessions if one.needs_summary]
    if not long:
        return ""
    return f"To summarize, as their memories are long: session {', '.join(long[:3])}."


async def list_overview(
    memory: MemoryService,
    agent: AgentScope,
    options: FilterOptions,
    limit: int,
    *,
    unverified: bool = False,
) -> list[Memory]:
    """Return pinned memories, then the latest; with `unverified` only those to review."""
    filters: FilterOptions = {**options, "tier": SHOWN_TIERS}
    if unverified:
        filters = only_unverified(filters)
        return await _list_matching(
            memory, filters, limit, lambda one: agent.shows(one) and not one.trusted
        )
    filters["as_of"] = datetime.now(UTC)  # without outdated ones
    pinned = await _list_matching(
        memory, filters, limit, lambda one: agent.shows(one) and one.pinned
    )
    recent = await _list_matching(memory, filters, limit, agent.shows)
    by_id = {one.id: one for one in (*pinned, *recent)}
    return list(by_id.values())[:limit]


async def list_standing(
    memory: MemoryService,
    agent: AgentScope,
    query: str,
    options: FilterOptions,
    entries: Sequence[Entry],
) -> list[Entry]:
    """Return a few standing instructions that bear on a query and are not among the entries."""
    known = {entry.memory.id for entry in entries}
    filters: FilterOptions = {**options, "source": EntryType.MEMORY, "tier": SHOWN_TIERS}
    found = await memory.find_standing(query, **filters)
    return [Entry(one, standing=True) for one in found if one.id not in known and agent.shows(one)][
        :MOST_STANDING
    ]


async def _list_matching(
    memory: MemoryService,
    filters: FilterOptions,
    limit: int,
    is_wanted: Callable[[Memory], bool],
) -> list[Memory]:
    """Return the latest memories for which a condition holds that a filter cannot express."""
    found: list[Memory] = []
    size = 10 * limit
    for offset in range(0, MOST_READ, size):
        page = await memory.list(limit=size, offset=offset, **filters)
        found += [one for one in page if is_wanted(one)]
        if len(found) >= limit or len(page) < size:
            break
    return found[:limit]


async def make_entries(memory: MemoryService, memories: Sequence[Memory]) -> list[Entry]:
    """Return memories as entries of a list, with outdated ones marked."""
    now, entries = datetime.now(UTC), []
    for one in memories:
        is_outdated = one.valid_until is not None and one.valid_until <= now
        replaced_by = ""
        if is_outdated and one.origin is EntryType.MEMORY:
            successor = await memory.superseding(one.id)
            replaced_by = successor.id if successor else ""
        entries.append(Entry(one, outdated=is_outdated, replaced_by=replaced_by))
    return entries


async def make_hit_entries(memory: MemoryService, hits: Sequence[SearchResult]) -> list[Entry]:
    """Return search results as entries of a list, with weak and outdated ones marked."""
    entries = []
    for hit in hits:
        (entry,) = await make_entries(memory, [hit.memory])
        replaced_by = hit.superseded_by or entry.replaced_by
        is_outdated = entry.outdated or hit.superseded_by is not None
        entries.append(
            Entry(
                hit.memory,
                weak=hit.weak,
                outdated=is_outdated,
                replaced_by=replaced_by,
                vault=PurePath(hit.vault).name,
            )
        )
    return entries
