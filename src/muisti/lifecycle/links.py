"""How memories stand to one another (contract H1, H2). A link stands in the front matter of the memory it begins at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muisti.errors import InvalidRequest
from muisti.model import Event, EventName, Graph, Link, LinkSource, LinkType, Memory
from muisti.ports import ChangeSet, Services, Stored, Update
from muisti.ports.lookups import make_memory_error, require_memory, require_stored

MOST_LINKS = 200
"""That may begin at one memory: they stand in its front matter, which has to stay readable."""
DEEPEST = 10
MOST_MEMORIES = 500
"""Of a graph: what is beyond is left out."""


def link(services: Services, wanted: Link) -> Link:
    """Link two memories. What was only proposed is confirmed by this. Raises InvalidRequest, MemoryNotFound."""
    _check(wanted)
    with services.store.lock():
        _check_end(services, "source", wanted.source)
        _check_end(services, "target", wanted.target)
        wanted = replace(wanted, created_at=services.clock.now())
        if (
            wanted.type is LinkType.SUPERSEDES
            and not wanted.proposed
            and wanted.valid_until is None
        ):
            _supersede(services, wanted)
        else:
            events = [_event(EventName.LINKED, wanted)]
            services.store.commit(
                ChangeSet(updated=[_linked(services, wanted)], events=events, durable=False)
            )
    return wanted


def unlink(services: Services, source: str, target: str, type_: LinkType) -> None:
    """Take a link back. What was superseded by it is current again. Raises InvalidRequest, MemoryNotFound."""
    with services.store.lock():
        stored = require_stored(services, source)
        gone = next(
            (one for one in stored.memory.links if (one.type, one.target) == (type_, target)), None
        )
        if gone is None:
            raise InvalidRequest(
                "link",
                f"{type_.value} {target}",
                "there is no such link; `muisti links` shows those there are",
            )
        updates = []
        if type_ is LinkType.SUPERSEDES and not gone.proposed:
            updates += _reopened(services, gone)
        kept = tuple(one for one in stored.memory.links if one is not gone)
        updates.append(Update(replace(stored.memory, links=kept), stored.revision))
        events = [_event(EventName.UNLINKED, gone, services.clock.now())]
        services.store.commit(ChangeSet(updated=updates, events=events, durable=False))


def supersede(services: Services, old: str, new: str) -> Memory:
    """Let a memory take the place of another, which is no longer true from now on, and is answered.

    Raises InvalidRequest, MemoryNotFound.
    """
    now = services.clock.now()
    link(
        services,
        Link(
            source=new,
            type=LinkType.SUPERSEDES,
            target=old,
            created_at=now,
            extracted_by=LinkSource.SYSTEM,
        ),
    )
    known = services.index.get(old)
    return (
        known
        if known and known.valid_until
        else replace(require_stored(services, old).memory, index_pending=True)
    )


def list_superseding(services: Services, memory_id: str) -> Memory | None:
    """The memory that took its place; None if none did. Raises MemoryNotFound."""
    require_memory(services, memory_id)
    successors = services.index.successors([memory_id]).get(memory_id, ())
    return services.index.get(successors[-1]) if successors else None


def list_links(services: Services, memory_id: str) -> list[Link]:
    """The links that begin or end at a memory, oldest first. Raises MemoryNotFound."""
    require_memory(services, memory_id)
    return services.index.get_links([memory_id])


def build_graph(services: Services, memory_id: str, depth: int = 1) -> Graph:
    """The memories that can be reached over so many links, in both directions. Raises MemoryNotFound, InvalidRequest."""
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= DEEPEST:
        raise InvalidRequest("depth", depth, f"must be a whole number from 0 to {DEEPEST}")
    with services.index.snapshot():
        require_memory(services, memory_id)
        reached = {memory_id: None}
        found: dict[tuple[str, str, str], Link] = {}
        frontier = [memory_id]
        for _ in range(depth):
            beyond: dict[str, None] = {}
            for one in services.index.get_links(frontier):
                found[one.source, one.type, one.target] = one
                beyond |= {end: None for end in (one.source, one.target) if end not in reached}
            frontier = list(beyond)[: MOST_MEMORIES - len(reached)]
            reached |= dict.fromkeys(frontier)
            if not frontier:
                break
        lines = [one for one in found.values() if one.source in reached and one.target in reached]
        return Graph(tuple(services.index.get_many(list(reached))), tuple(lines))


# -- Writing


def _supersede(services: Services, wanted: Link) -> None:
    """First the new file with the link, which alone says which is current; then the old one's end."""
    _check_no_circle(services, wanted)
    old = require_stored(services, wanted.target)
    if _same(old, replace(wanted, target=wanted.source)):  # the files may know more than the index
        raise _circle(wanted)
    begun = None
    if old.memory.valid_until is None:
        begun = _same(
            require_stored(services, wanted.source), wanted
        )  # an earlier try may have got as far as the first file
    updates = [] if begun else [_linked(services, wanted)]
    if old.memory.valid_until is None:
        ended = replace(old.memory, valid_until=_end_of(old.memory, begun or wanted))
        updates.append(Update(ended, old.revision))
    events = [
        _event(EventName.LINKED, wanted),
        Event(
            EventName.SUPERSEDED, wanted.created_at, (wanted.target,), None, {"by": wanted.source}
        ),
    ]
    services.store.commit(ChangeSet(updated=updates, events=events, durable=False))


def _end_of(old: Memory, by: Link) -> datetime:
    """Until when a memory was true that this link ended. What was not yet true then never will be."""
    end = by.valid_from or by.created_at
    return max(end, old.valid_from or end)


def _reopened(services: Services, gone: Link) -> list[Update]:
    """The old memory without the end that this link gave it."""
    if services.index.get(gone.target) is None:
        return []
    old = require_stored(services, gone.target)
    if old.memory.valid_until != _end_of(old.memory, gone):
        return []
    return [Update(replace(old.memory, valid_until=None), old.revision)]


def _linked(services: Services, wanted: Link) -> Update:
    """The source with the link."""
    stored = require_stored(services, wanted.source)
    same = next(
        (
            one
            for one in stored.memory.links
            if (one.type, one.target) == (wanted.type, wanted.target)
        ),
        None,
    )
    if same is not None and (not same.proposed or wanted.proposed):
        raise InvalidRequest(
            "link", f"{wanted.type.value} {wanted.target}", "the two are linked like this already"
        )
    # Who links two memories has answered what was proposed for them.
    others = tuple(
        one
        for one in stored.memory.links
        if one is not same and not (one.proposed and one.target == wanted.target)
    )
    if len(others) >= MOST_LINKS:
        raise InvalidRequest(
            "link",
            wanted.target,
            f"{wanted.source} has {MOST_LINKS} links already; `muisti unlink` some first",
        )
    return Update(replace(stored.memory, links=(*others, wanted)), stored.revision)


def _same(stored: Stored, wanted: Link) -> Link | None:
    """The confirmed link of this type to this target that a memory has already."""
    confirmed = (one for one in stored.memory.links if not one.proposed)
    return next(
        (one for one in confirmed if (one.type, one.target) == (wanted.type, wanted.target)), None
    )


def _event(name: EventName, one: Link, at: datetime | None = None) -> Event:
    data = {"type": one.type.value, "target": one.target, "confidence": one.confidence}
    return Event(name, at or one.created_at, (one.source,), None, data)


# -- Checking


def _check(wanted: Link) -> None:
    if wanted.source == wanted.target:
        raise InvalidRequest(
            "target", wanted.target, "a memory cannot be linked to itself; name another one"
        )
    share = wanted.confidence
    if (
        isinstance(share, bool)
        or not isinstance(share, int | float)
        or math.isnan(share)
        or not 0 <= share <= 1
    ):
        raise InvalidRequest("confidence", share, "must be a number between 0 and 1")
    for option, at in (("valid_from", wanted.valid_from), ("valid_until", wanted.valid_until)):
        if at is not None and (not isinstance(at, datetime) or at.tzinfo is None):
            raise InvalidRequest(option, at, "must be a datetime with a time zone")
    if wanted.valid_from and wanted.valid_until and wanted.valid_until < wanted.valid_from:
        raise InvalidRequest(
            "valid_until", wanted.valid_until.isoformat(), "must not be before valid_from"
        )


def _check_end(services: Services, option: str, memory_id: str) -> None:
    found = services.index.get(memory_id, include_deleted=True)
    if found is None:
        raise make_memory_error(services, memory_id)
    if found.deleted_at is not None:
        raise InvalidRequest(
            option, memory_id, "it is in the trash; `muisti restore` brings it back"
        )


def _check_no_circle(services: Services, wanted: Link) -> None:
    """Raises InvalidRequest if the old memory is, perhaps over several steps, what took the new one's place."""
    frontier, seen = [wanted.source], {wanted.source}
    while frontier:
        frontier = _superseding_any(services, frontier, seen)
        seen.update(frontier)
        if wanted.target in seen:
            raise _circle(wanted)


def _circle(wanted: Link) -> InvalidRequest:
    return InvalidRequest(
        "supersede",
        wanted.source,
        f"it was itself superseded by {wanted.target}, so neither would be current",
    )


def _superseding_any(services: Services, ids: Sequence[str], seen: set[str]) -> list[str]:
    return [
        one.source
        for one in services.index.get_links(ids)
        if one.type is LinkType.SUPERSEDES
        and not one.proposed
        and one.target in ids
        and one.source not in seen
    ]


def parse_link_type(name: str) -> LinkType:
    """The type that a caller names, in any case. Raises InvalidRequest."""
    try:
        return LinkType(str(name).strip().upper().replace("-", "_"))
    except ValueError:
        raise InvalidRequest("type", name, f"must be one of {', '.join(LinkType)}") from None


def parse_link_source(name: str) -> LinkSource:
    """Who found a link. Raises InvalidRequest."""
    try:
        return LinkSource(str(name).strip().lower())
    except ValueError:
        raise InvalidRequest(
            "extracted_by", name, f"must be one of {', '.join(LinkSource)}"
        ) from None
