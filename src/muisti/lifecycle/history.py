"""What became of a memory: its versions, what was merged into it and can be taken apart again, how it was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from muisti.errors import BrokenFile, InvalidRequest
from muisti.model import Event, EventName, HistoryEntry, Memory
from muisti.ports import ChangeSet, Services, Update
from muisti.ports.lookups import make_memory_error, require_stored


def build_history(services: Services, memory_id: str) -> list[HistoryEntry]:
    """Everything that the journal and the kept texts tell, in the order of time. Raises MemoryNotFound."""
    known = services.index.get(memory_id, include_deleted=True)
    events = services.store.events(memory_id)
    if known is None and not events:
        raise make_memory_error(services, memory_id)
    kept = services.store.versions(memory_id)
    texts = {one.memory.id if one.merged else one.reference: one.memory.content for one in kept}
    found = [_happening(event, memory_id, texts) for event in events]
    if known is not None and not any(one.what in ("saved", "created") for one in found):
        found.insert(
            0, HistoryEntry(at=known.created_at, what="created", note=f"by {known.source}")
        )
    return found


def list_merged(services: Services, limit: int | None, offset: int) -> list[Memory]:
    """Return a page of the memories that texts were merged into, the latest merge first; what cannot be read is left out."""
    page = services.store.merged_ids()[offset : None if limit is None else offset + limit]
    known = {memory.id: memory for memory in services.index.get_many(page, include_deleted=True)}
    found = []
    for memory_id in page:
        with suppress(BrokenFile):  # of the archive
            memory = known.get(memory_id) or services.store.archived_memory(memory_id)
            if memory is not None:
                found.append(memory)
    return found


def unmerge(services: Services, memory_id: str) -> Memory:
    """Make a memory of its own again of what was merged last into this one, or of the text that had this id.

    Raises MemoryNotFound, InvalidRequest.
    """
    with services.store.lock():
        merge = _last_merge(services, memory_id)
        into, apart = merge.memory_ids[0], str(merge.data["merged"])
        kept = next(
            (one for one in services.store.versions(into) if one.merged and one.memory.id == apart),
            None,
        )
        alive = services.index.get(apart, include_deleted=True)
        if kept is None and alive is None:
            raise InvalidRequest(
                "id", memory_id, f"the text that was merged ({apart}) is not in .history any more"
            )
        now = services.clock.now()
        events = [
            Event(EventName.UNMERGED, now, (into,), None, {"merged": apart}),
            Event(EventName.SAVED, now, (apart,)),
        ]
        committed = services.store.commit(
            ChangeSet(
                created=[kept.memory] if kept is not None and alive is None else [],
                updated=_with_former_importance(services, merge),
                dropped=[] if kept is None else [kept],
                events=events,
            )
        )
    known = services.index.get(apart) if committed.indexed else None
    return known or replace(alive or committed.memories[apart], index_pending=True)


def _last_merge(services: Services, memory_id: str) -> Event:
    """The latest merge that has not been undone, by either of its two ids."""
    events = services.store.events(memory_id)
    undone = [event.data.get("merged") for event in events if event.name == EventName.UNMERGED]
    merges = [
        event
        for event in events
        if event.name == EventName.MERGED
        and event.memory_ids
        and event.data.get("merged") not in undone
    ]
    if merges:
        return merges[-1]
    if services.index.get(memory_id, include_deleted=True) is None and not events:
        raise make_memory_error(services, memory_id)
    raise InvalidRequest(
        "id",
        memory_id,
        "nothing is merged into it that could be taken apart; `muisti history` tells",
    )


def _with_former_importance(services: Services, merge: Event) -> list[Update]:
    """The memory that had been given more weight by the merge, unless somebody has changed that since."""
    before, after = merge.data.get("importance_before"), merge.data.get("importance")
    known = services.index.get(merge.memory_ids[0])
    if not isinstance(before, int | float) or known is None or known.importance != after:
        return []
    stored = require_stored(services, known.id)
    return [Update(replace(stored.memory, importance=float(before)), stored.revision)]


_TEXT = {"merged": "merged", "updated": "kept"}
"""Under which key an event names the text that is kept for it."""
_OTHER = ("merged", "by", "target")
_FROM_THE_OTHER = {
    "linked": "linked from",
    "unlinked": "unlinked from",
    "superseded": "took the place of",
    "merged": "merged into",
    "unmerged": "taken apart from",
}
"""What an event is called that is told of the memory at the other end."""


def _happening(event: Event, memory_id: str, texts: Mapping[str, str]) -> HistoryEntry:
    mine = memory_id in event.memory_ids
    other = next(
        (
            value
            for key in _OTHER
            if isinstance(value := event.data.get(key), str) and value != memory_id
        ),
        None,
    )
    if not mine and event.memory_ids:
        other = event.memory_ids[0]
    return HistoryEntry(
        at=event.at,
        what=event.name if mine else _FROM_THE_OTHER.get(event.name, event.name),
        note=_note(event, (other, memory_id)),
        session_id=event.session_id,
        other_id=other if other and len(other) > 20 else None,
        content=texts.get(str(event.data.get(_TEXT.get(event.name, "")))),
    )


def _note(event: Event, ids: Sequence[str | None]) -> str:
    """What the event tells beside the ids, in words. A journal that a person edited may hold anything, lists too."""
    said = {
        key: value
        for key, value in event.data.items()
        if value is not None and value not in ids and key not in ("amount", "kept")
    }
    before = said.pop("importance_before", None)
    if before is not None:
        said["importance"] = f"{_shown(before)} → {_shown(said.get('importance', before))}"
    return ", ".join(f"{key} {_shown(value)}" for key, value in said.items())


def _shown(value: str | float) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
