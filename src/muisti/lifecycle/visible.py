"""Links and history of a memory, as far as a scope sees them (contract A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muisti.lifecycle import links, wikilinks
from muisti.lifecycle.history import build_history
from muisti.model import Filter, Graph, HistoryEntry, Link, Memory, UnresolvedLink
from muisti.ports import Services
from muisti.ports.lookups import require_memory
from muisti.ports.scope import check_visible, filter_visible


def list_visible_links(services: Services, memory_id: str, where: Filter) -> list[Link]:
    """Return the links of a memory to others in the scope. Raises MemoryNotFound."""
    if not where.is_scoped:
        return links.list_links(services, memory_id)
    check_visible(services, [memory_id], where)
    return _filter_links(services, links.list_links(services, memory_id), where)


def find_visible_links(services: Services, ids: Sequence[str], where: Filter) -> list[Link]:
    """Return the links of these memories to others in the scope."""
    with services.index.snapshot():
        found = wikilinks.find_links(services, list(dict.fromkeys(ids)))
        return _filter_links(services, found, where) if where.is_scoped else found


def find_visible_targets(
    services: Services, memory_id: str, where: Filter
) -> dict[str, str | None]:
    """Return what the wikilinks of a memory lead to in the scope. Raises MemoryNotFound."""
    if where.is_scoped:
        check_visible(services, [memory_id], where)
    with services.index.snapshot():
        source = require_memory(services, memory_id)
        linking = [(source, target) for target in source.wikilinks]
        found = wikilinks.resolve(services, linking)
        ids = [memory.id for _, _, memory in found if memory is not None]
        visible = set(filter_visible(services, ids, where) if where.is_scoped else ids)
    return {
        target: memory.id if memory is not None and memory.id in visible else None
        for _, target, memory in found
    }


def list_visible_unresolved(services: Services, where: Filter) -> list[UnresolvedLink]:
    """Return the wikilinks of memories in the scope that lead to no memory."""
    found = wikilinks.find_unresolved(services)
    visible = set(filter_visible(services, [one.source for one in found], where))
    return [one for one in found if one.source in visible]


def find_visible_successor(services: Services, memory_id: str, where: Filter) -> Memory | None:
    """Return the memory that replaced this one, or None, also if it is outside the scope.

    Raises MemoryNotFound.
    """
    if where.is_scoped:
        check_visible(services, [memory_id], where)
    found = links.find_successor(services, memory_id)
    if found is not None and where.is_scoped and not filter_visible(services, [found.id], where):
        return None
    return found


def build_visible_graph(services: Services, memory_id: str, depth: int, where: Filter) -> Graph:
    """Return the memories that links within the scope lead to. Raises MemoryNotFound."""
    if not where.is_scoped:
        return links.build_graph(services, memory_id, depth)
    check_visible(services, [memory_id], where)
    graph = links.build_graph(services, memory_id, depth)
    kept = _filter_links(services, graph.links, where)
    reached = {memory_id}
    for _ in range(depth):
        for link in kept:
            if {link.source, link.target} & reached:
                reached |= {link.source, link.target}
    inside = [one for one in kept if one.source in reached]
    return Graph(tuple(memory for memory in graph.memories if memory.id in reached), tuple(inside))


def build_visible_history(services: Services, memory_id: str, where: Filter) -> list[HistoryEntry]:
    """Return a memory's history without entries about memories outside the scope.

    Raises MemoryNotFound.
    """
    if not where.is_scoped:
        return build_history(services, memory_id)
    where = replace(where, include_deleted=True)
    check_visible(services, [memory_id], where)
    entries = build_history(services, memory_id)
    others = [entry.other_id for entry in entries if entry.other_id is not None]
    # A text that was merged into this memory is in its scope, and no longer in the index.
    known = services.index.get_many(others, include_deleted=True)
    hidden = {memory.id for memory in known} - set(filter_visible(services, others, where))
    return [entry for entry in entries if entry.other_id not in hidden]


def _filter_links(services: Services, found: Sequence[Link], where: Filter) -> list[Link]:
    """Return the links with both ends in the scope."""
    ends = [end for link in found for end in (link.source, link.target)]
    visible = set(filter_visible(services, ends, where))
    return [link for link in found if {link.source, link.target} <= visible]
