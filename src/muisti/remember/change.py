"""Changing what is remembered: update, delete, restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import reduce

from muisti.errors import Conflict, InvalidRequest
from muisti.model import Event, EventName, Memory, Usage
from muisti.model.fields import Given
from muisti.model.memory import FIELDS
from muisti.model.salience import RESTORED, compute_salience, fold_event, make_trace
from muisti.ports import ChangeSet, Services, Stored, Update
from muisti.ports.lookups import make_memory_error, require_stored
from muisti.remember.derive import derive_fields, derive_title
from muisti.remember.validate import validate_content, validate_memory
from muisti.text.redact import redact_fields

CHANGEABLE = tuple(field.name for field in FIELDS if field.given is Given.UPDATE)


def update(
    services: Services,
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
        raise InvalidRequest(
            "update", sorted(unknown)[0], f"only these can be changed: {', '.join(CHANGEABLE)}"
        )
    with services.store.lock():
        stored = require_stored(services, memory_id, content_too="content" in changes)
        memory = stored.memory
        changed = expected_hash is not None and memory.content_hash != expected_hash
        if changed or (
            expected_version is not None and _version_now(services, stored) != expected_version
        ):
            raise Conflict(
                f"{memory_id} has changed since you read it; read it again and repeat the change"
            )
        now = services.clock.now()
        wanted = _changed(memory, redact_fields(changes, services.settings), services, now)
        update = Update(wanted, stored.revision, keep_version=wanted.content != memory.content)
        event = Event(EventName.UPDATED, now, (memory_id,), by_session)
        committed = services.store.commit(
            ChangeSet(updated=[update], events=[event], durable=False)
        )
    known = services.index.get(memory_id) if committed.indexed else None
    return known or replace(committed.memories[memory_id], index_pending=True)


def _version_now(services: Services, stored: Stored) -> str:
    """The version as readers see it; or, if the index does not have this state yet, as it is stored."""
    known = services.index.get(stored.memory.id) if stored.indexed else None
    return stored.memory.version if known is None else known.version


def _changed(
    memory: Memory, changes: Mapping[str, object], services: Services, now: datetime
) -> Memory:
    wanted = replace(memory, **changes, updated_at=max(now, memory.updated_at))  # type: ignore[arg-type]
    validate_content(wanted.content, services.settings)
    retitle = (
        "content" in changes
        and "title" not in changes
        and memory.title == derive_title(memory.content)
    )
    if retitle or not wanted.title:
        wanted = replace(wanted, title=derive_title(wanted.content))
    checked = validate_memory(wanted, services.settings)
    return derive_fields(replace(checked, concepts=())) if "content" in changes else checked


def delete(services: Services, memory_id: str, *, hard: bool = False) -> bool:
    """Move to the trash; hard: remove for good. False if there is no such memory."""
    with services.store.lock():
        memory = services.index.get(memory_id, include_deleted=hard)
        if memory is None or memory.file_path is None:
            problem = make_memory_error(services, memory_id)
            if isinstance(problem, InvalidRequest):
                raise problem
            return hard and _erase_archived(services, memory_id)
        if hard:
            event = Event(EventName.ERASED, services.clock.now(), (memory_id,))
            services.store.commit(ChangeSet(erased=[memory_id], events=[event]))
        else:
            trash(services, memory)
        return True


def trash(services: Services, memory: Memory, *, reason: str = "") -> None:
    """Move a memory to the trash. Call under the store's lock."""
    data: dict[str, str | int | float | None] = {"reason": reason} if reason else {}
    event = Event(EventName.DELETED, services.clock.now(), (memory.id,), data=data)
    services.store.commit(ChangeSet(trashed=[memory], events=[event], durable=False))


def _erase_archived(services: Services, memory_id: str) -> bool:
    """Erase one that the index does not have: archived, or left half erased by a process that died."""
    found = memory_id in services.store.archived_ids()
    if found:
        event = Event(EventName.ERASED, services.clock.now(), (memory_id,))
        services.store.commit(ChangeSet(erased=[memory_id], events=[event]))
    elif services.store.events(memory_id):
        services.store.commit(ChangeSet(erased=[memory_id]))
    return found


def restore(services: Services, memory_id: str) -> Memory:
    """Bring a memory back from the trash or the archive. Raises MemoryNotFound; one that is neither is simply returned."""
    with services.store.lock():
        memory = services.index.get(memory_id, include_deleted=True)
        if memory is not None and memory.deleted_at is None:
            return memory
        wanted = memory or services.store.archived_memory(memory_id)
        if wanted is None:
            raise make_memory_error(services, memory_id)
        event = _restored(services, wanted, archived=memory is None)
        committed = services.store.commit(
            ChangeSet(restored=[memory_id], events=[event], durable=False)
        )
    known = services.index.get(memory_id) if committed.indexed else None
    return known or replace(committed.memories[memory_id], index_pending=True)


def _restored(services: Services, memory: Memory, *, archived: bool) -> Event:
    """What upkeep had put away comes back strong enough to stay, and counts as used: else the next upkeep would take it again."""
    now = services.clock.now()
    events = [event for event in services.store.events(memory.id) if memory.id in event.memory_ids]
    deleted = next((event for event in reversed(events) if event.name == EventName.DELETED), None)
    if not archived and (deleted is None or deleted.data.get("reason") != "cleanup"):
        return Event(EventName.RESTORED, now, (memory.id,))
    kind = services.settings.kinds.get(memory.kind)
    trace = make_trace(
        memory, reduce(fold_event, events, Usage()), kind.decay_per_day if kind else None
    )
    data: dict[str, str | int | float | None] = {
        "from": "archive" if archived else "cleanup",
        "salience": max(compute_salience(trace, now), RESTORED),
    }
    return Event(EventName.RESTORED, now, (memory.id,), None, data)
