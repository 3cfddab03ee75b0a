"""A memory's history: its versions, what was merged into it and can be unmerged, its uses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from muisti.errors import BrokenFile, InvalidRequest
from muisti.model import Event, EventName, HistoryEntry, Memory
from muisti.ports import ChangeSet, Services, Update
from muisti.ports.lookups import make_memory_error, require_stored

_TEXT_KEYS = {"merged": "merged", "updated": "kept"}
"""By event: the key that names the text stored for it."""
_OTHER_KEYS = ("merged", "by", "target")
"""The keys that may name the memory at the other end."""
_REVERSE_NAMES = {
    "linked": "linked from",
    "unlinked": "unlinked from",
    "superseded": "replaced",
    "merged": "merged into",
    "unmerged": "unmerged from",
}
"""What an event is called in the history of the memory at the other end."""


def build_history(services: Services, memory_id: str) -> list[HistoryEntry]:
    """Return a memory's history from the journal and the stored texts, oldest first.

    Raises MemoryNotFound.
    """
    known = services.index.get(memory_id, include_deleted=True)
    events = services.store.events(memory_id)
    if known is None and not events:
        raise make_memory_error(services, memory_id)
    texts = {}
    for version in services.store.versions(memory_id):
        reference = version.memory.id if version.merged else version.reference
        texts[reference] = version.memory.content
    entries = [_make_entry(event, memory_id, texts) for event in events]
    if known is not None and not any(entry.what in ("saved", "created") for entry in entries):
        note = f"by {known.source}"
        entries.insert(0, HistoryEntry(at=known.created_at, what="created", note=note))
    return entries


def list_merged(services: Services, limit: int | None, offset: int) -> list[Memory]:
    """Return a page of the memories that texts were merged into, the latest merge first.

    A memory whose file cannot be read is left out.
    """
    page = services.store.merged_ids()[offset : None if limit is None else offset + limit]
    known = {memory.id: memory for memory in services.index.get_many(page, include_deleted=True)}
    found = []
    for memory_id in page:
        with suppress(BrokenFile):  # in the archive
            memory = known.get(memory_id) or services.store.archived_memory(memory_id)
            if memory is not None:
                found.append(memory)
    return found


def unmerge(services: Services, memory_id: str) -> Memory:
    """Undo the last merge into a memory, or the merge of the text that had this ID.

    Returns the memory that is separate again. Raises MemoryNotFound, InvalidRequest.
    """
    with services.store.lock():
        merge = _find_last_merge(services, memory_id)
        target_id, merged_id = merge.memory_ids[0], str(merge.data["merged"])
        texts = [version for version in services.store.versions(target_id) if version.merged]
        kept = next((version for version in texts if version.memory.id == merged_id), None)
        existing = services.index.get(merged_id, include_deleted=True)
        if kept is None and existing is None:
            raise InvalidRequest(
                "id", memory_id, f"cannot be unmerged: the text of {merged_id} is not in .history"
            )
        now = services.clock.now()
        events = [
            Event(EventName.UNMERGED, now, (target_id,), None, {"merged": merged_id}),
            Event(EventName.SAVED, now, (merged_id,)),
        ]
        committed = services.store.commit(
            ChangeSet(
                created=[kept.memory] if kept is not None and existing is None else [],
                updated=_restore_importance(services, merge),
                restored=[merged_id] if existing is not None and existing.deleted_at else [],
                dropped=[] if kept is None else [kept],
                events=events,
            )
        )
    indexed = services.index.get(merged_id) if committed.indexed else None
    return indexed or replace(existing or committed.memories[merged_id], index_pending=True)


def _find_last_merge(services: Services, memory_id: str) -> Event:
    """Return the latest merge that was not undone, by either of its two IDs."""
    events = services.store.events(memory_id)
    undone = [event.data.get("merged") for event in events if event.name == EventName.UNMERGED]
    for event in reversed(events):
        is_merge = event.name == EventName.MERGED and event.memory_ids
        if is_merge and event.data.get("merged") not in undone:
            return event
    if services.index.get(memory_id, include_deleted=True) is None and not events:
        raise make_memory_error(services, memory_id)
    raise InvalidRequest(
        "id", memory_id, "has no merge to undo; see `muisti history` for what was merged"
    )


def _restore_importance(services: Services, merge: Event) -> list[Update]:
    """Return the update to the importance before a merge; none if it was changed since."""
    before, after = merge.data.get("importance_before"), merge.data.get("importance")
    known = services.index.get(merge.memory_ids[0])
    if not isinstance(before, int | float) or known is None or known.importance != after:
        return []
    stored = require_stored(services, known.id)
    return [Update(replace(stored.memory, importance=float(before)), stored.revision)]


def _make_entry(event: Event, memory_id: str, texts: Mapping[str, str]) -> HistoryEntry:
    is_own = memory_id in event.memory_ids
    named = [event.data.get(key) for key in _OTHER_KEYS]
    others = [value for value in named if isinstance(value, str) and value != memory_id]
    other = others[0] if others else None
    if not is_own and event.memory_ids:
        other = event.memory_ids[0]
    # An edited journal may hold any JSON, even lists.
    shown = {
        key: value
        for key, value in event.data.items()
        if value is not None and value not in (other, memory_id) and key not in ("amount", "kept")
    }
    before = shown.pop("importance_before", None)
    if before is not None:
        after = shown.get("importance", before)
        shown["importance"] = f"{_format_value(before)} → {_format_value(after)}"
    return HistoryEntry(
        at=event.at,
        what=event.name if is_own else _REVERSE_NAMES.get(event.name, event.name),
        note=", ".join(f"{key} {_format_value(value)}" for key, value in shown.items()),
        session_id=event.session_id,
        other_id=other if other and len(other) > 20 else None,
        content=texts.get(str(event.data.get(_TEXT_KEYS.get(event.name, "")))),
    )


def _format_value(value: str | float) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
