"""Upkeep: fading noted, the weak to the trash, the longest unused to the archive (contract G2 to G4). Nothing is erased."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.errors import InvalidRequest
from muisti.model import Event, EventName, Memory, UpkeepReport
from muisti.ports import ChangeSet, Footprint, Services
from muisti.ports.lookups import stored_or_none

BATCH = 100
"""Memories that are moved while others wait."""
LEAST = 0.001
"""What a memory must have lost to count as faded."""


def decay_salience(parts: Services, *, dry_run: bool = False) -> int:
    """How many memories have faded since this was last asked. What was noted, no clock takes back."""
    changed = parts.index.count_decayed(LEAST)
    if changed and not dry_run:
        with parts.store.lock():
            event = Event(EventName.DECAYED, parts.clock.now(), (), None, {"changed": changed})
            parts.store.commit(ChangeSet(events=[event], durable=False))
    return changed


def cleanup(parts: Services, min_salience: float, *, dry_run: bool = False) -> list[Memory]:
    """Move memories that are weaker than this to the trash: none of a protected kind, pinned, or of an active session."""
    if isinstance(min_salience, bool) or not isinstance(min_salience, int | float) or not 0 <= min_salience <= 1:
        raise InvalidRequest("min_salience", min_salience, "it must be a number between 0 and 1")
    weak = parts.index.weakest(min_salience, _protected(parts))
    memories = parts.index.many(weak)
    if not dry_run:
        memories = [one for batch in _batches(memories) for one in _trashed(parts, batch, min_salience)]
    return memories


def evict(parts: Services, limit_bytes: int, share: float, *, dry_run: bool = False) -> list[Memory]:
    """If the memories take up more than the limit: archive the longest unused, until only a share of the limit is left."""
    if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int) or limit_bytes < 0:
        raise InvalidRequest("max_bytes", limit_bytes, "it must be a whole number of bytes")
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidRequest("to", share, "it must be a share between 0 and 1")
    live = parts.index.live_bytes()
    if live <= limit_bytes:
        return []
    chosen = _chosen(parts.index.longest_unused(_protected(parts)), live - int(limit_bytes * share))
    memories = parts.index.many(chosen)
    if not dry_run:
        memories = [one for batch in _batches(memories) for one in _archived(parts, batch)]
    return memories


def upkeep(parts: Services, *, dry_run: bool = False) -> UpkeepReport:
    """All three, as the settings say."""
    settings = parts.settings
    live = parts.index.live_bytes()
    decayed = decay_salience(parts, dry_run=dry_run)
    cleaned = cleanup(parts, settings.cleanup_below, dry_run=dry_run) if settings.cleanup_below else []
    evicted = evict(parts, settings.evict_above, settings.evict_to, dry_run=dry_run) if settings.evict_above else []
    gone = {memory.id for memory in cleaned}  # a dry run leaves them where they are
    return UpkeepReport(
        dry_run=dry_run,
        decayed=decayed,
        cleaned=tuple(cleaned),
        evicted=tuple(memory for memory in evicted if memory.id not in gone),
        live_bytes=live,
        limit_bytes=settings.evict_above,
    )


def _protected(parts: Services) -> list[str]:
    return [kind.name for kind in parts.settings.kinds.values() if kind.protected]


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


def _trashed(parts: Services, batch: Sequence[Memory], below: float) -> list[Memory]:
    with parts.store.lock():
        ids = [memory.id for memory in batch]
        free = parts.index.weakest(below, _protected(parts), ids)  # one may have been used meanwhile
        memories = _as_files_say(parts, parts.index.many(free))
        if memories:
            trashed = tuple(one.id for one in memories)
            event = Event(EventName.DELETED, parts.clock.now(), trashed, None, {"reason": "cleanup", "below": below})
            parts.store.commit(ChangeSet(trashed=memories, events=[event], durable=False))
    return memories


def _as_files_say(parts: Services, memories: Sequence[Memory]) -> list[Memory]:
    """Those whose files do not protect them: a person may have pinned or removed one while the vault was open."""
    protected = _protected(parts)
    files = [(one, stored_or_none(parts, one)) for one in memories]
    return [one for one, file in files if file and not file.memory.pinned and file.memory.kind not in protected]


def _archived(parts: Services, batch: Sequence[Memory]) -> list[Memory]:
    with parts.store.lock():
        ids = [memory.id for memory in batch]
        free = parts.index.longest_unused(_protected(parts), ids)  # one may have been pinned meanwhile
        memories = _as_files_say(parts, parts.index.many([one.memory_id for one in free]))
        if memories:
            event = Event(EventName.ARCHIVED, parts.clock.now(), tuple(one.id for one in memories), None, {"reason": "evict"})
            parts.store.commit(ChangeSet(archived=memories, events=[event], durable=False))
    return memories
