"""Chains of replaced memories, when some of them are deleted permanently (contract H1, H2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muisti.errors import BrokenFile
from muisti.model.validity import compute_link_end, get_start, is_end_of_link
from muisti.ports.lookups import find_stored
from muisti.ports.store import Stored, Update

if TYPE_CHECKING:
    from muisti.model import Link, Memory
    from muisti.ports.services import Services


def find_anywhere(services: Services, memory_id: str) -> Stored | None:
    """Return a memory as it is stored, also in the trash or the archive; None if it is broken."""
    try:
        known = services.index.get(memory_id, include_deleted=True)
        known = known or services.store.archived_memory(memory_id)
    except BrokenFile:
        return None
    return find_stored(services, known) if known else None


def release_replaced(services: Services, erased: Sequence[Memory]) -> list[Update]:
    """Return the updates of other memories to write before these are deleted permanently.

    What an erased memory replaced is then replaced by the memories that replaced the erased one. If
    there are none, it is valid again, unless its end was given. This also applies to memories in
    the trash and in the archive. Without it, an end that an erased link set would count as given.
    """
    gone = {memory.id for memory in erased}
    changed: dict[str, Stored] = {}
    for memory in erased:
        for link in memory.links:
            if link.supersedes and link.target not in gone:
                _release(services, link, gone, changed)
    return [Update(stored.memory, stored.revision, optional=True) for stored in changed.values()]


def _release(
    services: Services, link: Link, gone: Collection[str], changed: dict[str, Stored]
) -> None:
    """Give the target of an erased link to the memories that replaced the link's source."""
    old = changed.get(link.target) or find_anywhere(services, link.target)
    if old is None:
        return
    end = None
    for newer in _find_newer(services, link.source, gone):
        new = changed.get(newer.source) or find_anywhere(services, newer.source)
        if new is None or new.memory.user != old.memory.user:
            continue
        inherited = replace(newer, target=link.target, valid_from=get_start(new.memory))
        start = compute_link_end(old.memory, inherited)
        inherited = replace(inherited, valid_from=None if start == newer.created_at else start)
        others = [
            one
            for one in new.memory.links
            if one.target != link.target or not (one.supersedes or one.proposed)
        ]
        changed[newer.source] = replace(new, memory=replace(new.memory, links=(*others, inherited)))
        end = start if end is None else min(end, start)
    if is_end_of_link(old.memory, link):
        changed[link.target] = replace(old, memory=replace(old.memory, valid_until=end))


def _find_newer(services: Services, memory_id: str, gone: Collection[str]) -> list[Link]:
    """Return the links by which memories that stay replaced one, directly or over erased ones."""
    found: list[Link] = []
    frontier, seen = [memory_id], {memory_id}
    while frontier:
        links = [
            link
            for link in services.index.get_links(frontier)
            if link.supersedes and link.target in frontier and link.source not in seen
        ]
        seen.update(link.source for link in links)
        found += [link for link in links if link.source not in gone]
        frontier = [link.source for link in links if link.source in gone]
    return found
