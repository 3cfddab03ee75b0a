"""Upkeep: fading noted, the weak to the trash, the longest unused to the archive (contract G2 to G4). Nothing is erased."""

from __future__ import annotations

from collections.abc import Sequence

from muisti.commit import as_file_says, commit, writing
from muisti.errors import InvalidRequest
from muisti.model import Event, Memory, UpkeepReport
from muisti.ports import Footprint, Parts

BATCH = 100
"""Memories that are moved while others wait."""
LEAST = 0.001
"""What a memory must have lost to count as faded."""


def decay_salience(parts: Parts, *, dry_run: bool = False) -> int:
    """How many memories have faded since this was last asked. What was noted, no clock takes back."""
    changed = parts.census.faded(LEAST)
    if changed and not dry_run:
        with writing(parts):
            commit(parts, events=[Event("decayed", parts.clock.now(), (), None, {"changed": changed})], durable=False)
    return changed


def cleanup(parts: Parts, min_salience: float, *, dry_run: bool = False) -> list[Memory]:
    """Move memories that are weaker than this to the trash: none of a protected kind, pinned, or of an active session."""
    if isinstance(min_salience, bool) or not isinstance(min_salience, int | float) or not 0 <= min_salience <= 1:
        raise InvalidRequest("min_salience", min_salience, "it must be a number between 0 and 1")
    weak = parts.census.weakest(min_salience, _protected(parts))
    memories = parts.reader.many(weak)
    if not dry_run:
        memories = [one for batch in _batches(memories) for one in _trashed(parts, batch, min_salience)]
    return memories


def evict(parts: Parts, limit_bytes: int, share: float, *, dry_run: bool = False) -> list[Memory]:
    """If the memories take up more than the limit: archive the longest unused, until only a share of the limit is left."""
    if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int) or limit_bytes < 0:
        raise InvalidRequest("max_bytes", limit_bytes, "it must be a whole number of bytes")
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidRequest("to", share, "it must be a share between 0 and 1")
    live = parts.census.live_bytes()
    if live <= limit_bytes:
        return []
    chosen = _chosen(parts.census.longest_unused(_protected(parts)), live - int(limit_bytes * share))
    memories = parts.reader.many(chosen)
    if not dry_run:
        memories = [one for batch in _batches(memories) for one in _archived(parts, batch)]
    return memories


def upkeep(parts: Parts, *, dry_run: bool = False) -> UpkeepReport:
    """All three, as the settings say."""
    settings = parts.settings
    live = parts.census.live_bytes()
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


def _protected(parts: Parts) -> list[str]:
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


def _trashed(parts: Parts, batch: Sequence[Memory], below: float) -> list[Memory]:
    with writing(parts):
        ids = [memory.id for memory in batch]
        free = parts.census.weakest(below, _protected(parts), ids)  # one may have been used meanwhile
        memories = _as_files_say(parts, parts.reader.many(free))
        now = parts.clock.now()
        moved = [parts.vault.trash(str(one.file_path), now) for one in memories]
        files = [file for path in moved if (file := parts.vault.read(path))]
        if memories:
            event = Event("deleted", now, tuple(one.id for one in memories), None, {"reason": "cleanup", "below": below})
            commit(parts, files=files, removed=[str(one.file_path) for one in memories], events=[event], durable=False)
    return memories


def _as_files_say(parts: Parts, memories: Sequence[Memory]) -> list[Memory]:
    """Those whose files do not protect them: a person may have pinned or removed one while the vault was open."""
    protected = _protected(parts)
    files = [(one, as_file_says(parts, one)) for one in memories]
    return [one for one, file in files if file and not file.memory.pinned and file.memory.kind not in protected]


def _archived(parts: Parts, batch: Sequence[Memory]) -> list[Memory]:
    with writing(parts):
        ids = [memory.id for memory in batch]
        free = parts.census.longest_unused(_protected(parts), ids)  # one may have been pinned meanwhile
        memories = _as_files_say(parts, parts.reader.many([one.memory_id for one in free]))
        parts.attic.archive({str(one.file_path): one.id for one in memories})
        if memories:
            event = Event("archived", parts.clock.now(), tuple(one.id for one in memories), None, {"reason": "evict"})
            commit(parts, removed=[str(one.file_path) for one in memories], events=[event], durable=False)
    return memories
