"""Update, delete and restore a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from muisti.errors import Conflict, InvalidRequest
from muisti.model import Event, EventName, Memory, Usage
from muisti.model.fields import Given
from muisti.model.memory import FIELDS
from muisti.model.salience import RESTORED, compute_salience, fold_event, make_trace
from muisti.model.validity import compute_link_end, is_end_of_link
from muisti.ports import ChangeSet, Services, Stored, Update
from muisti.ports.link_names import WIKILINK, make_link_key
from muisti.ports.lookups import make_memory_error, require_stored
from muisti.ports.replaced import find_anywhere, release_replaced
from muisti.remember.derive import derive_fields, derive_title
from muisti.remember.validate import validate_content, validate_memory
from muisti.text.near_names import format_suggestion
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
    """Change some fields and return the memory.

    Raises MemoryNotFound, InvalidMemory, and Conflict if the memory has changed since it was read.
    """
    unknown = sorted(set(changes) - set(CHANGEABLE))
    if unknown:
        hint = format_suggestion(unknown[0], CHANGEABLE)
        raise InvalidRequest("update", unknown[0], f"accepts only {', '.join(CHANGEABLE)}{hint}")
    with services.store.lock():
        stored = require_stored(services, memory_id, content_too="content" in changes)
        memory = stored.memory
        is_stale = expected_hash is not None and expected_hash != memory.content_hash
        if expected_version is not None:
            indexed = services.index.get(memory_id) if stored.indexed else None
            is_stale = is_stale or expected_version != (indexed or memory).version
        if is_stale:
            raise Conflict(
                f"{memory_id} has changed since you read it; read it again and repeat the change"
            )
        now = services.clock.now()
        redacted = redact_fields(changes, services.settings)
        updated_at = max(now, memory.updated_at)
        wanted = replace(memory, **redacted, updated_at=updated_at)
        validate_content(wanted.content, services.settings)
        if "valid_from" in changes and "valid_until" not in changes:
            wanted = _move_link_end(services, stored, wanted)
        retitle = (
            "content" in changes
            and "title" not in changes
            and memory.title == derive_title(memory.content)
        )
        if retitle or not wanted.title:
            wanted = replace(wanted, title=derive_title(wanted.content))
        is_renamed = wanted.title != memory.title and "aliases" not in changes
        if is_renamed and services.index.find_labelled(WIKILINK, [make_link_key(memory.title)]):
            # Wikilinks with the old title still lead here.
            aliases = dict.fromkeys((*memory.aliases, memory.title))
            wanted = replace(wanted, aliases=tuple(aliases))
        wanted = validate_memory(wanted, services.settings)
        if "content" in changes:
            wanted = derive_fields(
                replace(wanted, concepts=(), hashtags=(), wikilinks=()),
                wikilinks=services.settings.wikilinks,
            )
        update = Update(wanted, stored.revision, keep_version=wanted.content != memory.content)
        event = Event(EventName.UPDATED, now, (memory_id,), by_session)
        committed = services.store.commit(
            ChangeSet(updated=[update], events=[event], durable=False)
        )
    known = services.index.get(memory_id) if committed.indexed else None
    return known or replace(committed.memories[memory_id], index_pending=True)


def _move_link_end(services: Services, stored: Stored, wanted: Memory) -> Memory:
    """Return a memory with a new start. An end that a SUPERSEDES link set is not before it."""
    memory = stored.memory
    for link in services.index.get_links([memory.id]):
        is_replaced = link.supersedes and link.target == memory.id
        if is_replaced and is_end_of_link(memory, link):
            return replace(wanted, valid_until=compute_link_end(wanted, link))
    indexed = services.index.get(memory.id) if stored.indexed else None
    if indexed is not None and indexed.valid_until is None:  # what replaced it is in the trash
        return replace(wanted, valid_until=None)
    start, end = wanted.valid_from, memory.valid_until
    if start is not None and end is not None and services.index.chains([memory.id]):
        # What replaced it is in the trash, and was replaced itself.
        return replace(wanted, valid_until=max(start, end))
    return wanted


def delete(services: Services, memory_id: str, *, hard: bool = False) -> bool:
    """Move a memory to the trash; with `hard`, delete it permanently.

    Returns False if there is no such memory. Raises InvalidRequest for the ID of something else.
    """
    with services.store.lock():
        memory = services.index.get(memory_id, include_deleted=hard)
        if memory is not None and memory.file_path is not None:
            if hard:
                _erase(services, memory_id)
            else:
                trash(services, memory)
            return True
        problem = make_memory_error(services, memory_id)
        if isinstance(problem, InvalidRequest):
            raise problem
        if not hard:
            return False
        if memory_id in services.store.archived_ids():
            _erase(services, memory_id)
            return True
        if services.store.events(memory_id):  # a process died while it erased this memory
            services.store.commit(ChangeSet(erased=[memory_id]))
        return False


def trash(services: Services, memory: Memory, *, reason: str = "") -> None:
    """Move a memory to the trash. Call under the store's lock."""
    data: dict[str, str | int | float | None] = {"reason": reason} if reason else {}
    event = Event(EventName.DELETED, services.clock.now(), (memory.id,), data=data)
    services.store.commit(ChangeSet(trashed=[memory], events=[event], durable=False))


def _erase(services: Services, memory_id: str) -> None:
    stored = find_anywhere(services, memory_id)
    updates = release_replaced(services, [stored.memory]) if stored else []
    if updates:
        services.store.commit(ChangeSet(updated=updates, durable=False))
    event = Event(EventName.ERASED, services.clock.now(), (memory_id,))
    services.store.commit(ChangeSet(erased=[memory_id], events=[event]))


def restore(services: Services, memory_id: str) -> Memory:
    """Restore a memory from the trash or the archive and return it.

    A memory that is in neither is returned as it is. Raises MemoryNotFound.
    """
    with services.store.lock():
        memory = services.index.get(memory_id, include_deleted=True)
        if memory is not None and memory.deleted_at is None:
            return memory
        wanted = memory or services.store.archived_memory(memory_id)
        if wanted is None:
            raise make_memory_error(services, memory_id)
        now = services.clock.now()
        events = [
            event for event in services.store.events(memory_id) if memory_id in event.memory_ids
        ]
        deletions = [event for event in events if event.name == EventName.DELETED]
        was_cleaned_up = deletions and deletions[-1].data.get("reason") == "cleanup"
        data: dict[str, str | int | float | None] = {}
        if memory is None or was_cleaned_up:
            # Raise the salience: otherwise the next maintenance would remove it again.
            kind = services.settings.kinds.get(wanted.kind)
            grace = services.settings.salience_decay_days
            usage = Usage()
            for past in events:
                usage = fold_event(usage, past, grace)
            trace = make_trace(wanted, usage, kind.decay_per_day if kind else None)
            trace = trace._replace(grace_days=grace)
            data["from"] = "archive" if memory is None else "cleanup"
            data["salience"] = max(compute_salience(trace, now), RESTORED)
        event = Event(EventName.RESTORED, now, (memory_id,), None, data)
        committed = services.store.commit(
            ChangeSet(restored=[memory_id], events=[event], durable=False)
        )
    known = services.index.get(memory_id) if committed.indexed else None
    return known or replace(committed.memories[memory_id], index_pending=True)
