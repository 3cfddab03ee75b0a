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
from typing import NewType

from muisti.errors import InvalidMemory
from muisti.model import Draft, Event, EventName, Memory, Tier
from muisti.ports import ChangeSet, Committed, Progress, Services
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.dedup import measure_similarity, resolve_duplicates
from muisti.remember.derive import derive_fields, derive_title
from muisti.remember.identity import make_id
from muisti.remember.merge import MergePlan, apply_merges, plan_merges
from muisti.remember.validate import validate_content, validate_id, validate_kind, validate_memory
from muisti.settings import Settings
from muisti.text.redact import redact_draft

log = logging.getLogger("muisti")


def remember(
    services: Services,
    drafts: Sequence[Draft],
    progress: Progress | None = None,
    *,
    near: bool = True,
) -> list[Memory]:
    """Save all drafts or none and return the memories. Raises InvalidMemory. Near: see `store`."""
    now = services.clock.now()
    prepared = prepare(services, drafts, now, progress)
    return store(services, prepared, now, progress, near=near)


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
    prepared: list[Prepared] = []
    problem = None
    # The project of its session is the default project of a draft.
    session_ids = {
        draft.session_id
        for draft in drafts
        if draft.project is None and isinstance(draft.session_id, str)
    }
    sessions = [services.index.session(id_) for id_ in session_ids if id_.isprintable()]
    projects: dict[str | None, str] = {
        session.id: session.project for session in sessions if session and session.project
    }
    for done, draft in enumerate(drafts):
        if draft.project is None and draft.session_id in projects:
            draft = replace(draft, project=projects[draft.session_id])  # noqa: PLW2901
        try:
            prepared.append(_prepare_draft(draft, services.settings, now))
        except InvalidMemory as error:
            if not skip_invalid:
                raise
            log.warning("skipped an invalid memory: %s", error)
            problem = error
        if progress and done % 100 == 0:
            progress(done // 2, len(drafts))
    if problem is not None and not prepared:
        raise problem
    return prepared


_OPTIONAL = frozenset(field.name for field in fields(Draft) if field.default is None)
"""Fields that are derived, or get their default, if the draft has none."""


def _prepare_draft(draft: Draft, settings: Settings, now: datetime) -> Prepared:
    """Redact, validate, classify and complete one draft."""
    draft = redact_draft(draft, settings)
    content = validate_content(draft.content, settings)
    values = {field.name: getattr(draft, field.name) for field in fields(Draft)}
    for name in _OPTIONAL:
        if values[name] is None:
            del values[name]
    values["id"] = make_id(now) if draft.id is None else validate_id(draft.id)
    values["title"] = draft.title.strip() if isinstance(draft.title, str) else draft.title
    if values["title"] in (None, ""):
        values["title"] = derive_title(content)
    if draft.kind is None:
        values["kind"] = classify_kind(content, settings)
    else:
        values["kind"] = validate_kind(draft.kind, settings)
    if draft.sector is None:
        values["sector"] = classify_sector(content, settings)
    values.setdefault("project", settings.project)
    values.setdefault("created_at", now)
    values["links"] = tuple(replace(link, source=values["id"]) for link in draft.links)
    memory = validate_memory(Memory(**values, updated_at=values["created_at"]), settings)
    if memory.tier is Tier.SESSION and memory.session_id is None:
        raise InvalidMemory("tier", "session", "needs a session_id")
    return Prepared(derive_fields(memory))


def store(
    services: Services,
    prepared: Sequence[Prepared],
    now: datetime,
    progress: Progress | None = None,
    *,
    near: bool = True,
    reinforce: bool = True,
    events: Sequence[Event] = (),
) -> list[Memory]:
    """Store all memories or none. A duplicate reinforces the memory that is already stored.

    Near: False for imports. Then only identical texts are duplicates, and reinforce nothing.
    Reinforce: False if an interrupted call may have reinforced the duplicates before.
    Events: further journal entries of the same write.
    """
    cosines = None
    while True:
        with services.store.lock():
            with services.index.snapshot():  # one transaction for all look-ups
                decisions = resolve_duplicates(services, prepared, near=near, cosines=cosines)
            if cosines is not None or not any(decision.undecided for decision in decisions):
                plan = plan_merges(decisions, now, reinforce=near and reinforce)
                plan.events.extend(events)
                committed = _commit(services, plan, now)
                break
        # Embedding is slow: it runs without the lock, and then all duplicates are resolved again.
        cosines = measure_similarity(services, decisions)
    if progress:
        progress(len(prepared), len(prepared))
    stored = [decision.duplicate_of or decision.memory for decision in decisions]
    stored = [committed.memories.get(memory.id, memory) for memory in stored]
    indexed = services.index.get_many([memory.id for memory in stored]) if committed.indexed else []
    by_id = {memory.id: memory for memory in indexed}
    return [by_id.get(memory.id) or replace(memory, index_pending=True) for memory in stored]


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
