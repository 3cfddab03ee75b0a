"""The write path, as a list of its steps.

`prepare` (no lock): redact → validate → classify → derive the other fields
`store` (under the store's lock): find duplicates and contradictions → plan merges → commit

`commit` writes the files, the journal and the index.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, NewType

from muisti.errors import InvalidMemory, InvalidRequest
from muisti.model import (
    Draft,
    Event,
    EventName,
    Link,
    LinkSource,
    LinkType,
    Memory,
    Tier,
)
from muisti.model.journal import make_start_event, make_use_events
from muisti.ports import ChangeSet, Committed, Progress, Services
from muisti.ports.lookups import require_memory, require_stored
from muisti.ports.scope import find_session_scopes
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.dedup import DuplicateDecision, measure_similarity, resolve_duplicates
from muisti.remember.derive import derive_title, derive_values
from muisti.remember.identity import make_id
from muisti.remember.merge import MergePlan, apply_merges, plan_merges
from muisti.remember.summaries import apply_range
from muisti.remember.validate import validate_content, validate_id, validate_kind, validate_values
from muisti.settings import Settings
from muisti.text.redact import redact_fields

log = logging.getLogger("muisti")


def remember(
    services: Services,
    drafts: Sequence[Draft],
    progress: Progress | None = None,
    *,
    near: bool = True,
    merge: bool = True,
) -> list[Memory]:
    """Save all drafts or none and return the memories. Raises InvalidMemory.

    Near and merge: see `store`.
    """
    now = services.clock.now()
    prepared = prepare(services, drafts, now, progress)
    is_new = all(draft.id is None for draft in drafts)
    return store(services, prepared, now, progress, near=near, merge=merge, has_new_ids=is_new)


def remember_replacement(services: Services, draft: Draft, replaces: str) -> Memory:
    """Save a draft with a link that says which memory it replaces, and return the new memory.

    The caller marks the old one as outdated. The link comes first and alone says which of the two
    is current, so that a crash in between leaves one current memory. Nothing is written if the old
    memory does not exist, belongs to another user or has the same text. Raises MemoryNotFound,
    InvalidMemory, InvalidRequest.
    """
    if not isinstance(replaces, str):
        raise InvalidRequest("replaces", replaces, "must be the ID of a memory")
    now = services.clock.now()
    old = require_stored(services, replaces).memory
    if old.valid_until is None:
        link = Link(
            source="",  # `prepare` sets it
            type=LinkType.SUPERSEDES,
            target=replaces,
            created_at=now,
            extracted_by=LinkSource.SYSTEM,
        )
        draft = replace(draft, links=(*draft.links, link))
    prepared = prepare(services, [draft], now)
    if prepared[0].user != old.user:
        raise InvalidRequest("replaces", replaces, "must be a memory of the same user")
    return store(services, prepared, now, replaces=replaces, has_new_ids=draft.id is None)[0]


Prepared = NewType("Prepared", Memory)
"""A redacted, validated and complete memory. Only `prepare` makes one; only these are stored."""


def prepare(
    services: Services,
    drafts: Sequence[Draft],
    now: datetime,
    progress: Progress | None = None,
    *,
    skip_invalid: bool = False,
) -> list[Prepared]:
    """Return the drafts as memories that can be stored.

    Raises InvalidMemory for the first invalid draft; with `skip_invalid`, only if there are
    drafts and all of them are invalid.
    """
    completed: list[dict[str, Any]] = []
    problem = None
    session_ids = {draft.session_id for draft in drafts if isinstance(draft.session_id, str)}
    scopes: dict[str | None, list[tuple[str, str]]] = {
        id_: find_session_scopes(services, id_) for id_ in session_ids if id_.isprintable()
    }
    for done, draft in enumerate(drafts):
        try:
            scoped = _apply_session(draft, scopes.get(draft.session_id, []))
            if draft.id is None:  # an import may come without the conversation
                scoped = apply_range(services, scoped)
            completed.append(_complete_draft(scoped, services.settings, now))
        except InvalidMemory as error:
            if not skip_invalid:
                raise
            log.warning("skipped an invalid memory: %s", error)
            problem = error
        if progress and done % 100 == 0:
            progress(done // 2, len(drafts))
    if problem is not None and not completed:
        raise problem
    contents = [values["content"] for values in completed]
    derived = derive_values(contents, wikilinks=services.settings.wikilinks)
    return [
        Prepared(Memory(**values, **more)) for values, more in zip(completed, derived, strict=True)
    ]


def _apply_session(draft: Draft, scopes: Sequence[tuple[str, str]]) -> Draft:
    """Return the draft with the project and the user of its session, unless it names others.

    Scopes: of the session, or of the texts that name it. Raises InvalidMemory if the draft names
    another user than the session.
    """
    if not scopes:
        return draft
    matching = [scope for scope in scopes if draft.user in (None, scope[1])]
    project, user = (matching or scopes)[0]
    if user and not matching:
        reason = f"must be the user of session {draft.session_id}, {user}"
        raise InvalidMemory("user", draft.user, reason)
    own = draft.project if draft.project is not None else project or None
    return replace(draft, project=own, user=user or draft.user)


_GIVEN = tuple(field.name for field in fields(Draft))
_OPTIONAL = frozenset(field.name for field in fields(Draft) if field.default is None)
"""Fields that are derived, or get their default, if the draft has none."""


def _complete_draft(draft: Draft, settings: Settings, now: datetime) -> dict[str, Any]:
    """Redact, validate and classify one draft. Return the fields of its memory."""
    given = {name: getattr(draft, name) for name in _GIVEN}
    values = redact_fields(given, settings)
    content = validate_content(values["content"], settings)
    title = values["title"]
    for name in _OPTIONAL:
        if values[name] is None:
            del values[name]
    values["id"] = make_id(now) if draft.id is None else validate_id(draft.id)
    values["title"] = title.strip() if isinstance(title, str) else title
    if values["title"] in (None, ""):
        values["title"] = derive_title(content)
    if draft.kind is None:
        values["kind"] = classify_kind(content, settings)
    else:
        values["kind"] = validate_kind(draft.kind, settings)
    if draft.sector is None:
        values["sector"] = classify_sector(content, settings)
    values.setdefault("project", settings.project)
    values.setdefault("user", settings.user)
    values.setdefault("created_at", now)
    if draft.links:
        values["links"] = tuple(replace(link, source=values["id"]) for link in draft.links)
    values["updated_at"] = values["created_at"]
    values = validate_values(values, settings)
    if values.get("tier") is Tier.SESSION and values.get("session_id") is None:
        raise InvalidMemory("tier", "session", "needs a session_id")
    return values


def store(
    services: Services,
    prepared: Sequence[Prepared],
    now: datetime,
    progress: Progress | None = None,
    *,
    near: bool = True,
    merge: bool = True,
    reinforce: bool = True,
    events: Sequence[Event] = (),
    replaces: str | None = None,
    has_new_ids: bool = False,
) -> list[Memory]:  # shape: one argument for each option
    """Store all memories or none. A duplicate reinforces the memory that is already stored.

    Near: False for imports. Then only identical texts are duplicates, and reinforce nothing.
    Merge: False to store a memory even if another has the same text.
    Reinforce: False if an interrupted call may have reinforced the duplicates before.
    Events: further journal entries of the same write.
    Replaces: the ID of the memory that the only new one replaces. Raises InvalidRequest if they
    have the same text.
    Has new IDs: whether the journal cannot know any of these memories.
    """
    cosines = None
    while True:
        with services.store.lock():
            with services.index.snapshot():  # one transaction for all look-ups
                decisions = [DuplicateDecision(memory) for memory in prepared]
                if merge:
                    decisions = resolve_duplicates(
                        services, prepared, near=near, cosines=cosines, replaces=replaces
                    )
            if replaces is not None:
                _check_replaces(services, replaces, decisions)
            if cosines is not None or not any(decision.undecided for decision in decisions):
                plan = plan_merges(decisions, now, reinforce=near and reinforce)
                plan.events.extend(events)
                if near:
                    plan.events.extend(_record_sessions(services, prepared, now))
                committed = _commit(services, plan, now)
                stored = [decision.duplicate_of or decision.memory for decision in decisions]
                stored = [committed.memories.get(memory.id, memory) for memory in stored]
                by_id = _find_complete(plan, committed, now) if has_new_ids else {}
                ids = [memory.id for memory in stored if memory.id not in by_id]
                if ids and committed.indexed:
                    by_id |= {memory.id: memory for memory in services.index.get_many(ids)}
                break
        # Embedding is slow: it runs without the lock, and then all duplicates are resolved again.
        cosines = measure_similarity(services, decisions)
    if progress:
        progress(len(prepared), len(prepared))
    return [by_id.get(memory.id) or replace(memory, index_pending=True) for memory in stored]


def _find_complete(plan: MergePlan, committed: Committed, now: datetime) -> dict[str, Memory]:
    """Return the created memories by ID of which the index would return just what was stored.

    It adds what the journal says and how much salience has faded.
    """
    if not committed.indexed:
        return {}
    named = {id_ for event in plan.events for id_ in event.memory_ids}
    return {
        memory.id: committed.memories[memory.id]
        for memory in plan.created
        if memory.id not in named and memory.created_at == now and memory.salience == 1
    }


def _record_sessions(
    services: Services, prepared: Sequence[Prepared], now: datetime
) -> list[Event]:
    """Return an event for each session that is named for the first time, or is active."""
    first = {memory.session_id: memory for memory in reversed(prepared) if memory.session_id}
    events = []
    for session_id, memory in first.items():
        session = services.index.session(session_id)
        events += make_use_events(session, now)
        if session is None and not services.index.find_session_scopes(session_id):
            events.append(
                make_start_event(session_id, memory.project, memory.user, now, implicit=True)
            )
    return events


def _check_replaces(
    services: Services, replaces: str, decisions: Sequence[DuplicateDecision]
) -> None:
    """Raises MemoryNotFound, or InvalidRequest if the new text is that of the replaced memory."""
    require_memory(services, replaces)  # it may have been deleted before the lock was taken
    known = [decision.duplicate_of for decision in decisions]
    if any(memory is not None and memory.id == replaces for memory in known):
        raise InvalidRequest(
            "replaces", replaces, "must be another memory; this one has the same content already"
        )


def _commit(services: Services, plan: MergePlan, now: datetime) -> Committed:
    """Write the new memories and the merges in one change."""
    events = list(plan.events)
    if plan.created:
        # A memory's file does not say when it was saved; created_at of an import is older.
        saved = Event(EventName.SAVED, now, tuple(memory.id for memory in plan.created))
        events.insert(0, saved)
    return services.store.commit(
        ChangeSet(
            created=plan.created,
            merged=plan.merged,
            updated=apply_merges(services, plan),
            events=events,
            durable=bool(plan.events),
        )
    )
