"""What became of a memory: its versions, what was merged into it and can be taken apart again, how it was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from muisti.commit import commit, current, no_memory, writing
from muisti.errors import BrokenFile, InvalidRequest
from muisti.model import Event, Happening, Memory
from muisti.ports import Parts, StoredFile


def history(parts: Parts, memory_id: str) -> list[Happening]:
    """Everything that the journal and the kept texts tell, in the order of time. Raises MemoryNotFound."""
    known = parts.reader.get(memory_id, include_deleted=True)
    events = parts.journal.about(memory_id)
    if known is None and not events:
        raise no_memory(parts, memory_id)
    kept = parts.attic.kept(memory_id)
    texts = {one.memory.id if one.merged else one.path: one.memory.content for one in kept}
    found = [_happening(event, memory_id, texts) for event in events]
    if known is not None and not any(one.what in ("saved", "created") for one in found):
        found.insert(0, Happening(at=known.created_at, what="created", note=f"by {known.source}"))
    return found


def merged(parts: Parts, limit: int | None, offset: int) -> list[Memory]:
    """Return a page of the memories that texts were merged into, the latest merge first; what cannot be read is left out."""
    page = parts.attic.merged_ids()[offset : None if limit is None else offset + limit]
    known = {memory.id: memory for memory in parts.reader.many(page, include_deleted=True)}
    found = []
    for memory_id in page:
        with suppress(BrokenFile):  # of the archive
            memory = known.get(memory_id) or parts.attic.archived_memory(memory_id)
            if memory is not None:
                found.append(memory)
    return found


def unmerge(parts: Parts, memory_id: str) -> Memory:
    """Make a memory of its own again of what was merged last into this one, or of the text that had this id.

    Raises MemoryNotFound, InvalidRequest.
    """
    with writing(parts):
        merge = _last_merge(parts, memory_id)
        into, apart = merge.memory_ids[0], str(merge.data["merged"])
        kept = next((one for one in parts.attic.kept(into) if one.merged and one.memory.id == apart), None)
        alive = parts.reader.get(apart, include_deleted=True)
        if kept is None and alive is None:
            raise InvalidRequest("id", memory_id, f"the text that was merged ({apart}) is not in .history any more")
        now = parts.clock.now()
        files = parts.vault.create([kept.memory]) if kept is not None and alive is None else []
        removed = []
        if lowered := _with_former_importance(parts, merge):
            files.append(lowered)
            removed.append(str(lowered.memory.file_path))
        events = [Event("unmerged", now, (into,), None, {"merged": apart}), Event("saved", now, (apart,))]
        indexed = commit(parts, files=files, removed=removed, events=events)
        if kept is not None:
            parts.attic.drop(kept.path)
    known = parts.reader.get(apart) if indexed else None
    return known or replace(alive or files[0].memory, index_pending=True)


def _last_merge(parts: Parts, memory_id: str) -> Event:
    """The latest merge that has not been undone, by either of its two ids."""
    events = parts.journal.about(memory_id)
    undone = [event.data.get("merged") for event in events if event.name == "unmerged"]
    merges = [event for event in events if event.name == "merged" and event.memory_ids and event.data.get("merged") not in undone]
    if merges:
        return merges[-1]
    if parts.reader.get(memory_id, include_deleted=True) is None and not events:
        raise no_memory(parts, memory_id)
    raise InvalidRequest("id", memory_id, "nothing is merged into it that could be taken apart; `muisti history` tells")


def _with_former_importance(parts: Parts, merge: Event) -> StoredFile | None:
    """The file of the memory that had been given more weight by the merge, unless somebody has changed that since."""
    before, after = merge.data.get("importance_before"), merge.data.get("importance")
    known = parts.reader.get(merge.memory_ids[0])
    if not isinstance(before, int | float) or known is None or known.importance != after:
        return None
    file = current(parts, known.id)
    return parts.vault.rewrite(replace(file.memory, importance=float(before)), file.sha)


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


def _happening(event: Event, memory_id: str, texts: Mapping[str, str]) -> Happening:
    mine = memory_id in event.memory_ids
    other = next((value for key in _OTHER if isinstance(value := event.data.get(key), str) and value != memory_id), None)
    if not mine and event.memory_ids:
        other = event.memory_ids[0]
    return Happening(
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
