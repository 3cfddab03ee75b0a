"""Changing what is remembered: update, delete, restore."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import reduce

from muisti.commit import commit, current, no_memory, writing
from muisti.errors import Conflict, IndexProblem, InvalidRequest, MemoryNotFound
from muisti.model import Event, Memory, Usage
from muisti.model.salience import RESTORED, folded, strength, traced
from muisti.ports import Parts, StoredFile
from muisti.remember.complete import completed, derived_title
from muisti.remember.validate import checked_content, checked_memory
from muisti.text.redact import redact_fields

log = logging.getLogger("muisti")

CHANGEABLE = (
    "content", "title", "kind", "sector", "tier", "project", "session_id", "source", "summary",
    "keywords", "files", "importance", "valid_from", "valid_until", "pinned", "trusted",
)  # fmt: skip


def update(
    parts: Parts,
    memory_id: str,
    changes: Mapping[str, object],
    *,
    expected_hash: str | None = None,
    expected_version: str | None = None,
    by_session: str | None = None,
) -> Memory:
    """Change some fields. Raises MemoryNotFound, InvalidMemory, and Conflict if it is not what the caller read."""
    unknown = set(changes) - set(CHANGEABLE)
    if unknown:
        raise InvalidRequest("update", sorted(unknown)[0], f"only these can be changed: {', '.join(CHANGEABLE)}")
    with writing(parts):
        file = current(parts, memory_id, content_too="content" in changes)
        changed = expected_hash is not None and file.memory.content_hash != expected_hash
        if changed or (expected_version is not None and _version_now(parts, file) != expected_version):
            raise Conflict(f"{memory_id} has changed since you read it; read it again and repeat the change")
        now = parts.clock.now()
        wanted = _changed(file.memory, redact_fields(changes, parts.settings), parts, now)
        data = {}
        if wanted.content != file.memory.content:
            data["kept"] = parts.attic.keep_version(str(file.memory.file_path), memory_id, now)
        stored = parts.vault.rewrite(wanted, file.sha)
        events = [Event("updated", now, (memory_id,), by_session, data)]
        removed = [str(file.memory.file_path)]
        indexed = commit(parts, files=[stored], removed=removed, events=events, durable=False)
    known = parts.reader.get(memory_id) if indexed else None
    return known or replace(stored.memory, index_pending=True)


def _version_now(parts: Parts, file: StoredFile) -> str:
    """As readers see it; or, if its file is not the one that the index knows, as the file has it. Call under the vault's lock."""
    path = str(file.memory.file_path)
    seen = parts.index.known([path]).get(path)
    if seen is not None and seen.sha == file.sha and (known := parts.reader.get(file.memory.id)) is not None:
        return known.version
    parts.index.behind = True  # else whoever reads it again would be shown the version that they know
    return file.memory.version


def _changed(memory: Memory, changes: Mapping[str, object], parts: Parts, now: datetime) -> Memory:
    wanted = replace(memory, **changes, updated_at=max(now, memory.updated_at))  # type: ignore[arg-type]
    checked_content(wanted.content, parts.settings)
    retitle = "content" in changes and "title" not in changes and memory.title == derived_title(memory.content)
    if retitle or not wanted.title:
        wanted = replace(wanted, title=derived_title(wanted.content))
    checked = checked_memory(wanted, parts.settings)
    return completed(replace(checked, concepts=())) if "content" in changes else checked


def delete(parts: Parts, memory_id: str, *, hard: bool = False) -> bool:
    """Move to the trash; hard: remove for good. False if there is no such memory."""
    with writing(parts):
        memory = parts.reader.get(memory_id, include_deleted=hard)
        if memory is None or memory.file_path is None:
            problem = no_memory(parts, memory_id)
            if isinstance(problem, InvalidRequest):
                raise problem
            return hard and _erase_archived(parts, memory_id)
        if hard:
            return _erase(parts, memory)
        trash(parts, memory)
        return True


def trash(parts: Parts, memory: Memory, *, reason: str = "") -> None:
    """Move a memory's file to the trash. Call under the vault's lock."""
    path = str(memory.file_path)
    now = parts.clock.now()
    trashed = parts.vault.trash(path, now)
    file = parts.vault.read(trashed)
    event = Event("deleted", now, (memory.id,), data={"reason": reason} if reason else {})
    commit(parts, files=[file] if file else [], removed=[path], events=[event], durable=False)


def _erase(parts: Parts, memory: Memory) -> bool:
    path = str(memory.file_path)
    parts.attic.forget(memory.id)
    parts.vault.erase(path)
    _erase_copies(parts, memory.id)  # somebody may have copied it back from the archive
    if commit(parts, removed=[path], events=[Event("erased", parts.clock.now(), (memory.id,))]):
        _scrub(parts)
    return True


def _scrub(parts: Parts) -> None:
    try:
        parts.index.scrub()
    except IndexProblem as error:
        log.warning("the memory is removed; %s", error)


def _erase_archived(parts: Parts, memory_id: str) -> bool:
    """One that the index does not have: archived, or left half erased by a process that died."""
    found = parts.attic.archived_path(memory_id) is not None
    if found:
        parts.attic.forget(memory_id)
        _erase_copies(parts, memory_id)
        commit(parts, events=[Event("erased", parts.clock.now(), (memory_id,))])
    if found or parts.journal.about(memory_id):
        _scrub(parts)
    return found


def _erase_copies(parts: Parts, memory_id: str) -> None:
    """All that the archive has of it: what was copied back and archived again is there several times."""
    while path := parts.attic.archived_path(memory_id):
        parts.vault.erase(path)


def restore(parts: Parts, memory_id: str) -> Memory:
    """Bring a memory back from the trash or the archive. Raises MemoryNotFound; one that is neither is simply returned."""
    with writing(parts):
        memory = parts.reader.get(memory_id, include_deleted=True)
        if memory is not None and memory.deleted_at is None:
            return memory
        path, left = _brought_back(parts, memory_id, memory)
        file = parts.vault.read(path)
        if file is None:
            raise MemoryNotFound(memory_id)
        event = _restored(parts, file.memory, archived=memory is None)
        indexed = commit(parts, files=[file], removed=[left], events=[event], durable=False)
    known = parts.reader.get(memory_id) if indexed else None
    return known or replace(file.memory, index_pending=True)


def _restored(parts: Parts, memory: Memory, *, archived: bool) -> Event:
    """What upkeep had put away comes back strong enough to stay, and counts as used: else the next upkeep would take it again."""
    now = parts.clock.now()
    events = [event for event in parts.journal.about(memory.id) if memory.id in event.memory_ids]
    deleted = next((event for event in reversed(events) if event.name == "deleted"), None)
    if not archived and (deleted is None or deleted.data.get("reason") != "cleanup"):
        return Event("restored", now, (memory.id,))
    kind = parts.settings.kinds.get(memory.kind)
    trace = traced(memory, reduce(folded, events, Usage()), kind.decay_per_day if kind else None)
    data: dict[str, str | int | float | None] = {
        "from": "archive" if archived else "cleanup",
        "salience": max(strength(trace, now), RESTORED),
    }
    return Event("restored", now, (memory.id,), None, data)


def _brought_back(parts: Parts, memory_id: str, memory: Memory | None) -> tuple[str, str]:
    """Where the file is now, and where it was."""
    if memory is not None and memory.file_path is not None:
        return parts.vault.restore(memory.file_path), memory.file_path
    archived = parts.attic.archived_path(memory_id)
    if archived is None:
        raise no_memory(parts, memory_id)
    return parts.attic.unarchive(archived, memory_id), archived
