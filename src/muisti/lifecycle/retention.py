"""Maintenance: record decay, trash weak memories, archive the least recently used (contract G2-G4).

Nothing is deleted permanently.
"""

from __future__ import annotations

from collections.abc import Sequence

from muisti.errors import InvalidRequest
from muisti.lifecycle.sessions import end_idle_sessions
from muisti.model import Event, EventName, Memory, UpkeepReport
from muisti.ports import ChangeSet, Footprint, Services
from muisti.ports.lookups import find_stored

BATCH = 100
"""Memories moved in one commit; other writers can get the lock between two."""
MIN_DECAY = 0.001
"""The loss of salience from which a memory counts as decayed."""


def decay_salience(services: Services, *, dry_run: bool = False) -> int:
    """Record decay up to now. Return how many memories lost salience since the last record."""
    changed = services.index.count_decayed(MIN_DECAY)
    if changed and not dry_run:
        with services.store.lock():
            event = Event(EventName.DECAYED, services.clock.now(), (), None, {"changed": changed})
            services.store.commit(ChangeSet(events=[event], durable=False))
    return changed


def cleanup(services: Services, min_salience: float, *, dry_run: bool = False) -> list[Memory]:
    """Move memories below this salience to the trash, and return them.

    Pinned memories and those of a protected kind or a session in use stay, and so do those that
    replaced a memory that stays. Raises InvalidRequest.
    """
    if not _is_share(min_salience):
        raise InvalidRequest("min_salience", min_salience, "must be a number between 0 and 1")
    protected = _list_protected_kinds(services)
    in_use = _list_sessions_in_use(services)
    weakest = services.index.get_many(services.index.weakest(min_salience, protected, in_use))
    weak = _drop_replacements(services, weakest)
    if dry_run:
        return weak
    trashed: list[Memory] = []
    for ids in _split_ids(weak):
        with services.store.lock():
            # Check again under the lock: a memory may have been used in the meantime.
            in_use = _list_sessions_in_use(services)
            still_weak = services.index.weakest(min_salience, protected, in_use, ids)
            batch = _drop_protected(services, services.index.get_many(still_weak))
            batch = _drop_replacements(services, batch)
            if batch:
                batch_ids = tuple(memory.id for memory in batch)
                data: dict[str, str | float] = {"reason": "cleanup", "below": min_salience}
                event = Event(EventName.DELETED, services.clock.now(), batch_ids, None, data)
                services.store.commit(ChangeSet(trashed=batch, events=[event], durable=False))
        trashed += batch
    return trashed


def evict(
    services: Services, limit_bytes: int, share: float, *, dry_run: bool = False
) -> list[Memory]:
    """If the memories exceed the limit, archive the least recently used, and return those.

    What remains takes up at most this share of the limit. Raises InvalidRequest.
    """
    if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int) or limit_bytes < 0:
        raise InvalidRequest("max_bytes", limit_bytes, "must be a whole number of bytes")
    if not _is_share(share):
        raise InvalidRequest("to", share, "must be a share between 0 and 1")
    live = services.index.live_bytes()
    if live <= limit_bytes:
        return []
    protected = _list_protected_kinds(services)
    surplus = live - int(limit_bytes * share)
    in_use = _list_sessions_in_use(services)
    chosen = _choose_evicted(services.index.longest_unused(protected, in_use), surplus)
    unused = services.index.get_many(chosen)
    if dry_run:
        return unused
    archived: list[Memory] = []
    for ids in _split_ids(unused):
        with services.store.lock():
            # Check again under the lock: a memory may have been pinned in the meantime.
            in_use = _list_sessions_in_use(services)
            still_unused = services.index.longest_unused(protected, in_use, ids)
            found = services.index.get_many([footprint.memory_id for footprint in still_unused])
            batch = _drop_protected(services, found)
            if batch:
                batch_ids = tuple(memory.id for memory in batch)
                now = services.clock.now()
                event = Event(EventName.ARCHIVED, now, batch_ids, None, {"reason": "evict"})
                services.store.commit(ChangeSet(archived=batch, events=[event], durable=False))
        archived += batch
    return archived


def upkeep(services: Services, *, dry_run: bool = False) -> UpkeepReport:
    """End idle sessions, and run decay, cleanup and eviction as the settings say."""
    settings = services.settings
    ended = end_idle_sessions(services, dry_run=dry_run)
    live = services.index.live_bytes()
    decayed = decay_salience(services, dry_run=dry_run)
    cleaned: list[Memory] = []
    if settings.cleanup_below:
        cleaned = cleanup(services, settings.cleanup_below, dry_run=dry_run)
    evicted: list[Memory] = []
    if settings.evict_above:
        evicted = evict(services, settings.evict_above, settings.evict_to, dry_run=dry_run)
    cleaned_ids = {memory.id for memory in cleaned}  # a dry run may choose a memory twice
    return UpkeepReport(
        dry_run=dry_run,
        decayed=decayed,
        cleaned=tuple(cleaned),
        evicted=tuple(memory for memory in evicted if memory.id not in cleaned_ids),
        live_bytes=live,
        limit_bytes=settings.evict_above,
        ended_sessions=tuple(ended),
    )


def _is_share(value: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _list_protected_kinds(services: Services) -> list[str]:
    return [kind.name for kind in services.settings.kinds.values() if kind.protected]


def _list_sessions_in_use(services: Services) -> list[str]:
    """Return the IDs of the sessions whose memories stay."""
    now, hours = services.clock.now(), services.settings.session_idle_hours
    active = services.index.active_sessions()
    return [session.id for session in active if session.is_used(now, hours)]


def _choose_evicted(longest_unused: Sequence[Footprint], surplus: int) -> list[str]:
    chosen = []
    for footprint in longest_unused:
        if surplus <= 0:
            break
        chosen.append(footprint.memory_id)
        surplus -= footprint.size
    return chosen


def _split_ids(memories: Sequence[Memory]) -> list[list[str]]:
    ids = [memory.id for memory in memories]
    return [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]


def _drop_replacements(services: Services, memories: Sequence[Memory]) -> list[Memory]:
    """Leave out memories that replaced one that stays: that one would be current again."""
    moved = {memory.id: memory for memory in memories}
    dropped = True
    while dropped:  # a memory that stays may itself have replaced one
        dropped = False
        for memory in list(moved.values()):
            replaced = [link.target for link in memory.links if link.supersedes]
            if any(old not in moved and services.index.get(old) for old in replaced):
                del moved[memory.id]
                dropped = True
    return list(moved.values())


def _drop_protected(services: Services, memories: Sequence[Memory]) -> list[Memory]:
    """Leave out memories that their files, which may be newer than the index, protect."""
    protected = _list_protected_kinds(services)
    unprotected = []
    for memory in memories:
        stored = find_stored(services, memory)
        if stored and not stored.memory.pinned and stored.memory.kind not in protected:
            unprotected.append(memory)
    return unprotected
