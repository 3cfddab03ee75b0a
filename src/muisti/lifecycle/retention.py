"""Upkeep: fading noted, the weak to the trash, the longest unused to the archive (contract G2 to G4). Nothing is erased."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.errors import InvalidRequest
from muisti.model import Event, EventName, Memory, UpkeepReport
from muisti.ports import ChangeSet, Footprint, Services
from muisti.ports.lookups import find_stored

BATCH = 100
"""Memories that are moved while others wait."""
LEAST = 0.001
"""What a memory must have lost to count as faded."""


def decay_salience(services: Services, *, dry_run: bool = False) -> int:
    """How many memories have faded since this was last asked. What was noted, no clock takes back."""
    changed = services.index.count_decayed(LEAST)
    if changed and not dry_run:
        with services.store.lock():
            event = Event(EventName.DECAYED, services.clock.now(), (), None, {"changed": changed})
            services.store.commit(ChangeSet(events=[event], durable=False))
    return changed


def cleanup(services: Services, min_salience: float, *, dry_run: bool = False) -> list[Memory]:
    """Move memories that are weaker than this to the trash: none of a protected kind, pinned, or of an active session."""
    if (
        isinstance(min_salience, bool)
        or not isinstance(min_salience, int | float)
        or not 0 <= min_salience <= 1
    ):
        raise InvalidRequest("min_salience", min_salience, "must be a number between 0 and 1")
    weak = services.index.weakest(min_salience, _protected(services))
    memories = services.index.get_many(weak)
    if not dry_run:
        memories = [
            one for batch in _batches(memories) for one in _trashed(services, batch, min_salience)
        ]
    return memories


def evict(
    services: Services, limit_bytes: int, share: float, *, dry_run: bool = False
) -> list[Memory]:
    """If the memories take up more than the limit: archive the longest unused, until only a share of the limit is left."""
    if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int) or limit_bytes < 0:
        raise InvalidRequest("max_bytes", limit_bytes, "must be a whole number of bytes")
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidRequest("to", share, "must be a share between 0 and 1")
    live = services.index.live_bytes()
    if live <= limit_bytes:
        return []
    chosen = _chosen(
        services.index.longest_unused(_protected(services)), live - int(limit_bytes * share)
    )
    memories = services.index.get_many(chosen)
    if not dry_run:
        memories = [one for batch in _batches(memories) for one in _archived(services, batch)]
    return memories


def upkeep(services: Services, *, dry_run: bool = False) -> UpkeepReport:
    """All three, as the settings say."""
    settings = services.settings
    live = services.index.live_bytes()
    decayed = decay_salience(services, dry_run=dry_run)
    cleaned = (
        cleanup(services, settings.cleanup_below, dry_run=dry_run) if settings.cleanup_below else []
    )
    evicted = (
        evict(services, settings.evict_above, settings.evict_to, dry_run=dry_run)
        if settings.evict_above
        else []
    )
    gone = {memory.id for memory in cleaned}  # a dry run leaves them where they are
    return UpkeepReport(
        dry_run=dry_run,
        decayed=decayed,
        cleaned=tuple(cleaned),
        evicted=tuple(memory for memory in evicted if memory.id not in gone),
        live_bytes=live,
        limit_bytes=settings.evict_above,
    )


def _protected(services: Services) -> list[str]:
    return [kind.name for kind in services.settings.kinds.values() if kind.protected]


def _chosen(longest_unused: Sequence[Footprint], surplus: int) -> list[str]:
    chosen = []
    for one in longest_unused:
        if surplus <= 0:
            break
        chosen.append(one.memory_id)
        surplus -= one.size
    return chosen


def _batches(memories: Sequence[Memory]) -> list[Sequence[Memory]]:
    return [memories[start : start + BATCH] for start in range(0, len(memories), BATCH)]


def _trashed(services: Services, batch: Sequence[Memory], below: float) -> list[Memory]:
    with services.store.lock():
        ids = [memory.id for memory in batch]
        free = services.index.weakest(
            below, _protected(services), ids
        )  # one may have been used meanwhile
        memories = _as_files_say(services, services.index.get_many(free))
        if memories:
            trashed = tuple(one.id for one in memories)
            event = Event(
                EventName.DELETED,
                services.clock.now(),
                trashed,
                None,
                {"reason": "cleanup", "below": below},
            )
            services.store.commit(ChangeSet(trashed=memories, events=[event], durable=False))
    return memories


def _as_files_say(services: Services, memories: Sequence[Memory]) -> list[Memory]:
    """Those whose files do not protect them: a person may have pinned or removed one while the vault was open."""
    protected = _protected(services)
    files = [(one, find_stored(services, one)) for one in memories]
    return [
        one
        for one, file in files
        if file and not file.memory.pinned and file.memory.kind not in protected
    ]


def _archived(services: Services, batch: Sequence[Memory]) -> list[Memory]:
    with services.store.lock():
        ids = [memory.id for memory in batch]
        free = services.index.longest_unused(
            _protected(services), ids
        )  # one may have been pinned meanwhile
        memories = _as_files_say(services, services.index.get_many([one.memory_id for one in free]))
        if memories:
            event = Event(
                EventName.ARCHIVED,
                services.clock.now(),
                tuple(one.id for one in memories),
                None,
                {"reason": "evict"},
            )
            services.store.commit(ChangeSet(archived=memories, events=[event], durable=False))
    return memories
