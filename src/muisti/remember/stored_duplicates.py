"""Find duplicates among stored memories, as after a merge of two clones, and merge them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from muisti.errors import BrokenFile, Conflict, NotFound
from muisti.model import Event, EventName, Filter, Link, LinkType, Memory
from muisti.model.reports import DuplicatePair
from muisti.ports import ChangeSet, Progress, Services, Update
from muisti.ports.lookups import require_memory, require_stored
from muisti.remember.dedup import DuplicateDecision, find_older_duplicates
from muisti.remember.merge import plan_merges
from muisti.remember.similarity.near_duplicate import Comparison

PART = 200
"""Memories that are looked for together."""
_APART = (LinkType.SUPERSEDES, LinkType.CONTRADICTS, LinkType.ALTERNATIVE_TO)
"""Two memories with such a link are not the same, even if their texts are."""


def find_pairs(
    services: Services, project: str | None = None, progress: Progress | None = None
) -> list[DuplicatePair]:
    """Return the pairs of memories that would be one if the second were saved now, oldest first.

    Each memory is looked up in the index, so the cost grows with their number, not its square.
    Project: only memories of this project, and global ones.
    """
    where = Filter(project=project, all_sessions=True)
    ids = [
        memory.id
        for memory in services.index.select(where, order="created_at", limit=None)
        if not any("://" in file for file in memory.files)  # an item that a program stores by key
    ]
    survivors: dict[str, Memory] = {}
    pairs = []
    for start in range(0, len(ids), PART):
        with services.index.snapshot():
            part = services.index.filter_current(ids[start : start + PART])
            decisions = find_older_duplicates(services, part, survivors)
        for decision in decisions:
            kept, merged = decision.duplicate_of, decision.memory
            if kept is None or decision.comparison is None or _are_apart(services, kept, merged):
                survivors.pop(merged.id, None)
                continue
            found = decision.comparison
            pairs.append(DuplicatePair(kept, merged, found.by, round(found.similarity, 3)))
        if progress:
            progress(min(start + PART, len(ids)), len(ids))
    return pairs


def _are_apart(services: Services, one: Memory, other: Memory) -> bool:
    """Whether a person has said that two memories are not the same: by a link, or by unmerging."""
    links = services.index.get_links([other.id])
    if any(
        link.type in _APART and one.id in (link.source, link.target) and not link.proposed
        for link in links
    ):
        return True
    return any(
        event.name == EventName.UNMERGED
        and event.data.get("merged") == other.id
        and one.id in event.memory_ids
        for event in services.store.events(other.id)
    )


def dedupe(
    services: Services,
    pairs: Sequence[DuplicatePair] | None = None,
    *,
    project: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> list[DuplicatePair]:
    """Merge these pairs, or all that are found, and return those that were merged.

    Dry run: only return them.
    """
    found = find_pairs(services, project, progress) if pairs is None else list(pairs)
    return found if dry_run else [pair for pair in found if merge_pair(services, pair)]


def merge_pair(services: Services, pair: DuplicatePair) -> bool:
    """Merge the second memory of a pair into the first, as saving it again would.

    The first is reinforced, and gets keywords, categories, files, links and sessions of the
    second, which goes to the trash. `unmerge` undoes it. Returns False, and changes nothing, if
    one of the two has changed or is gone.
    """
    with services.store.lock():
        try:
            kept = require_stored(services, pair.kept.id, content_too=True)
            gone = require_stored(services, pair.merged.id, content_too=True)
            known = require_memory(services, pair.kept.id)
        except (NotFound, Conflict, BrokenFile):
            return False
        before = (pair.kept.content_hash, pair.merged.content_hash)
        if (kept.memory.content_hash, gone.memory.content_hash) != before:
            return False
        if kept.memory.place != gone.memory.place:
            return False
        now = services.clock.now()
        comparison = Comparison(True, pair.similarity, pair.by, ())
        decision = DuplicateDecision(gone.memory, known, comparison)
        plan = plan_merges([decision], now, reinforce=True)
        survivor = _take_over(kept.memory, gone.memory, plan.importance[known.id])
        events = list(plan.events)
        for use in services.index.session_uses(memory_id=gone.memory.id):
            if use.session_id != gone.memory.session_id:  # that one is in the event of the merge
                data: dict[str, str | int | float | None] = {"use": use.use.value}
                events.append(Event(EventName.USED, now, (known.id,), use.session_id, data))
        reason: dict[str, str | int | float | None] = {"reason": "merged", "by": known.id}
        events.append(Event(EventName.DELETED, now, (gone.memory.id,), data=reason))
        services.store.commit(
            ChangeSet(
                merged=plan.merged,
                updated=[
                    Update(survivor, kept.revision),
                    *_turn_links(services, gone.memory.id, known.id),
                ],
                trashed=[require_memory(services, gone.memory.id)],
                events=events,
            )
        )
    return True


def _take_over(kept: Memory, gone: Memory, importance: float) -> Memory:
    """Return the memory that stays, with what only the other one had."""
    linked = {(link.type, link.target) for link in kept.links}
    links = [
        replace(link, source=kept.id)
        for link in gone.links
        if link.target != kept.id and (link.type, link.target) not in linked
    ]
    return replace(
        kept,
        importance=max(importance, kept.importance),
        trusted=kept.trusted or gone.trusted,
        pinned=kept.pinned or gone.pinned,
        summary=kept.summary or gone.summary,
        keywords=tuple(dict.fromkeys((*kept.keywords, *gone.keywords))),
        categories=tuple(dict.fromkeys((*kept.categories, *gone.categories))),
        files=tuple(dict.fromkeys((*kept.files, *gone.files))),
        links=(*kept.links, *links),
    )


def _turn_links(services: Services, gone: str, kept: str) -> list[Update]:
    """Return the updates of memories with a link to the one that goes: it leads to the other."""
    sources = {link.source for link in services.index.get_links([gone]) if link.target == gone}
    updates = []
    for source in sorted(sources - {kept, gone}):
        with suppress(NotFound, Conflict, BrokenFile):  # in the trash, or being edited
            stored = require_stored(services, source)
            links = _replace_target(stored.memory.links, gone, kept)
            updates.append(Update(replace(stored.memory, links=links), stored.revision))
    return updates


def _replace_target(links: Sequence[Link], gone: str, kept: str) -> tuple[Link, ...]:
    linked = {(link.type, link.target) for link in links}
    turned = [
        replace(link, target=kept)
        if link.target == gone and (link.type, kept) not in linked
        else link
        for link in links
    ]
    return tuple(turned)
