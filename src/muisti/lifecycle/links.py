"""Links between memories (contract H1, H2). A link is stored in the front matter of its source.

Wikilinks in a text are links too; `muisti.lifecycle.wikilinks` finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from muisti.errors import InvalidRequest
from muisti.lifecycle.wikilinks import find_links
from muisti.model import Event, EventName, Graph, Link, LinkSource, LinkType, Memory
from muisti.model.validity import compute_link_end, get_start, is_end_of_link
from muisti.ports import ChangeSet, Services, Stored, Update
from muisti.ports.lookups import make_memory_error, require_memory, require_stored

MAX_LINKS = 200
"""Links from one memory: they are in its front matter, which has to stay readable."""
MAX_DEPTH = 10
MAX_MEMORIES = 500
"""Memories in one graph; the rest is left out."""


def link(services: Services, wanted: Link) -> Link:
    """Link two memories, or confirm a proposed link. Raises InvalidRequest, MemoryNotFound."""
    _check(wanted)
    with services.store.lock():
        new = _check_end(services, "source", wanted.source)
        old = _check_end(services, "target", wanted.target)
        if wanted.type is LinkType.SUPERSEDES and new.user != old.user:
            raise InvalidRequest(
                "user",
                new.user,
                "must be the same for both memories: a memory is only replaced by one of its own "
                "user; `update` the user of one of them first",
            )
        wanted = replace(wanted, created_at=services.clock.now())
        if wanted.supersedes:
            wanted = _supersede(services, wanted)
        else:
            update = _add_link(services, wanted)
            events = [_make_event(EventName.LINKED, wanted)]
            services.store.commit(ChangeSet(updated=[update], events=events, durable=False))
    return wanted


def unlink(services: Services, source: str, target: str, type_: LinkType) -> None:
    """Remove a link. A memory outdated by it is current again.

    Raises InvalidRequest, MemoryNotFound.
    """
    with services.store.lock():
        stored = require_stored(services, source)
        gone = _find_link(stored.memory.links, type_, target)
        if gone is None:
            in_text = [one for one in find_links(services, [source]) if one.target == target]
            reason = "does not exist; `muisti links` lists the links of a memory"
            if _find_link(in_text, type_, target):
                reason = "is a wikilink in the text of the memory; remove it there"
            raise InvalidRequest("link", f"{type_.value} {target}", reason)
        updates = []
        if type_ is LinkType.SUPERSEDES and not gone.proposed and services.index.get(target):
            old = require_stored(services, target)
            if is_end_of_link(old.memory, gone):
                updates.append(Update(replace(old.memory, valid_until=None), old.revision))
        kept = tuple(one for one in stored.memory.links if one is not gone)
        updates.append(Update(replace(stored.memory, links=kept), stored.revision))
        events = [_make_event(EventName.UNLINKED, gone, services.clock.now())]
        services.store.commit(ChangeSet(updated=updates, events=events, durable=False))


def supersede(services: Services, old: str, new: str) -> Memory:
    """Replace a memory with another. Returns the old one, which ends when the new one starts.

    Raises InvalidRequest, MemoryNotFound.
    """
    wanted = Link(
        source=new,
        type=LinkType.SUPERSEDES,
        target=old,
        created_at=services.clock.now(),
        extracted_by=LinkSource.SYSTEM,
    )
    link(services, wanted)
    known = services.index.get(old)
    if known and known.valid_until:
        return known
    return replace(require_stored(services, old).memory, index_pending=True)


def end_replaced(services: Services, saved: Sequence[Memory]) -> list[Memory]:
    """Mark what these memories replace as outdated in its file too: the index knows by the links.

    A crash before this leaves one current memory as well. Returns the memories.
    """
    for memory in saved:
        for one in memory.links:
            if memory.index_pending or not one.supersedes or not services.index.get(one.target):
                continue
            if require_stored(services, one.target).memory.valid_until is None:
                supersede(services, one.target, memory.id)
    return list(saved)


def find_successor(services: Services, memory_id: str) -> Memory | None:
    """Return the memory that replaced this one; None if none did. Raises MemoryNotFound."""
    require_memory(services, memory_id)
    successors = services.index.successors([memory_id]).get(memory_id, ())
    return services.index.get(successors[-1]) if successors else None


def list_links(services: Services, memory_id: str) -> list[Link]:
    """Return the links from and to a memory, oldest first. Raises MemoryNotFound."""
    require_memory(services, memory_id)
    with services.index.snapshot():
        return find_links(services, [memory_id])


def build_graph(services: Services, memory_id: str, depth: int = 1) -> Graph:
    """Return the memories within `depth` links, in both directions.

    Raises MemoryNotFound, InvalidRequest.
    """
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= MAX_DEPTH:
        raise InvalidRequest("depth", depth, f"must be a whole number from 0 to {MAX_DEPTH}")
    with services.index.snapshot():
        require_memory(services, memory_id)
        reached = {memory_id: None}
        found: dict[tuple[str, str, str], Link] = {}
        frontier = [memory_id]
        for _ in range(depth):
            neighbours: dict[str, None] = {}
            for one in find_links(services, frontier):
                found[one.source, one.type, one.target] = one
                neighbours |= dict.fromkeys((one.source, one.target))
            beyond = [memory_id for memory_id in neighbours if memory_id not in reached]
            frontier = beyond[: MAX_MEMORIES - len(reached)]
            reached |= dict.fromkeys(frontier)
            if not frontier:
                break
        inside = [one for one in found.values() if {one.source, one.target} <= reached.keys()]
        return Graph(tuple(services.index.get_many(list(reached))), tuple(inside))


# -- Writing


def _supersede(services: Services, wanted: Link) -> Link:
    """Write the link into the new file first: it alone says which is current. Then end the old.

    The end in the old file is for its readers. The index follows the new memory's start, which may
    be changed later. Returns the link as it was written.
    """
    _check_no_cycle(services, wanted)
    old = require_stored(services, wanted.target)
    new = require_stored(services, wanted.source)
    if _find_confirmed(old, LinkType.SUPERSEDES, wanted.source):  # the file may be newer
        raise _make_cycle_error(wanted)
    updates = []
    begun = None
    if old.memory.valid_until is None:
        # An earlier attempt may have failed after the first file.
        begun = _find_confirmed(new, wanted.type, wanted.target)
        if begun is None and wanted.valid_from is None:
            wanted = replace(wanted, valid_from=get_start(new.memory))
        end = compute_link_end(old.memory, begun or wanted)
        updates.append(Update(replace(old.memory, valid_until=end), old.revision))
        # Kept with the link, so that the end in the old file is known to be the link's.
        wanted = replace(wanted, valid_from=None if end == wanted.created_at else end)
    if begun is None:
        updates.insert(0, _add_link(services, wanted))
    data = {"by": wanted.source}
    events = [
        _make_event(EventName.LINKED, wanted),
        Event(EventName.SUPERSEDED, wanted.created_at, (wanted.target,), None, data),
    ]
    services.store.commit(ChangeSet(updated=updates, events=events, durable=False))
    return begun or wanted


def _add_link(services: Services, wanted: Link) -> Update:
    """Return the update of the source that adds a link. Raises InvalidRequest."""
    stored = require_stored(services, wanted.source)
    same = _find_link(stored.memory.links, wanted.type, wanted.target)
    if same is not None and (not same.proposed or wanted.proposed):
        raise InvalidRequest("link", f"{wanted.type.value} {wanted.target}", "exists already")
    # The new link settles what was proposed for these two memories.
    others = tuple(
        one
        for one in stored.memory.links
        if one is not same and not (one.proposed and one.target == wanted.target)
    )
    if len(others) >= MAX_LINKS:
        raise InvalidRequest(
            "link",
            wanted.target,
            f"cannot be added: {wanted.source} has {MAX_LINKS} links; `muisti unlink` one first",
        )
    return Update(replace(stored.memory, links=(*others, wanted)), stored.revision)


def _find_link(links: Iterable[Link], type_: LinkType, target: str) -> Link | None:
    return next((one for one in links if (one.type, one.target) == (type_, target)), None)


def _find_confirmed(stored: Stored, type_: LinkType, target: str) -> Link | None:
    confirmed = [one for one in stored.memory.links if not one.proposed]
    return _find_link(confirmed, type_, target)


def _make_event(name: EventName, one: Link, at: datetime | None = None) -> Event:
    data = {"type": one.type.value, "target": one.target, "confidence": one.confidence}
    return Event(name, at or one.created_at, (one.source,), None, data)


# -- Checking


def _check(wanted: Link) -> None:
    if wanted.source == wanted.target:
        raise InvalidRequest("target", wanted.target, "must be another memory than the source")
    confidence = wanted.confidence
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not is_number or not 0 <= confidence <= 1:
        raise InvalidRequest("confidence", confidence, "must be a number between 0 and 1")
    for option, at in (("valid_from", wanted.valid_from), ("valid_until", wanted.valid_until)):
        if at is not None and (not isinstance(at, datetime) or at.tzinfo is None):
            raise InvalidRequest(option, at, "must be a datetime with a time zone")
    if wanted.valid_from and wanted.valid_until and wanted.valid_until < wanted.valid_from:
        raise InvalidRequest(
            "valid_until", wanted.valid_until.isoformat(), "must not be before valid_from"
        )


def _check_end(services: Services, option: str, memory_id: str) -> Memory:
    """Return the memory at one end of a link. Raises MemoryNotFound, InvalidRequest."""
    found = services.index.get(memory_id, include_deleted=True)
    if found is None:
        raise make_memory_error(services, memory_id)
    if found.deleted_at is not None:
        raise InvalidRequest(option, memory_id, "is in the trash; `muisti restore` it first")
    return found


def _check_no_cycle(services: Services, wanted: Link) -> None:
    """Raise InvalidRequest if the old memory replaced the new one, directly or over others."""
    frontier, seen = [wanted.source], {wanted.source}
    while frontier:
        confirmed = [
            one
            for one in services.index.get_links(frontier)
            if one.type is LinkType.SUPERSEDES and not one.proposed and one.target in frontier
        ]
        frontier = [one.source for one in confirmed if one.source not in seen]
        seen.update(frontier)
        if wanted.target in seen:
            raise _make_cycle_error(wanted)


def _make_cycle_error(wanted: Link) -> InvalidRequest:
    return InvalidRequest(
        "supersede",
        wanted.source,
        f"must not form a cycle: {wanted.target} already replaced this memory",
    )


def parse_link_type(name: str) -> LinkType:
    """Parse the name of a link type, in any case. Raises InvalidRequest."""
    try:
        return LinkType(str(name).strip().upper().replace("-", "_"))
    except ValueError:
        raise InvalidRequest("type", name, f"must be one of {', '.join(LinkType)}") from None


def parse_link_source(name: str) -> LinkSource:
    """Parse the name of a link source that callers may give. Raises InvalidRequest."""
    given = {str(source): source for source in LinkSource if source is not LinkSource.WIKILINK}
    source = given.get(str(name).strip().lower())
    if source is None:
        raise InvalidRequest("extracted_by", name, f"must be one of {', '.join(given)}")
    return source
