"""The write path: text in. Each step is named here in its order.

redact → check → classify → complete → merge with what says the same, or tell what it contradicts → file → journal and index
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
from muisti.remember.merge import Merges, apply_merges, plan_merges
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
    """Save all drafts or none, and return the memories. Raises InvalidMemory. Near: see `store`."""
    now = services.clock.now()
    return store(services, prepare(services, drafts, now, progress), now, progress, near=near)


Prepared = NewType("Prepared", Memory)
"""A memory that is redacted, checked and complete. Only `prepare` makes one, and only such can be stored."""


def prepare(
    services: Services,
    drafts: Sequence[Draft],
    now: datetime,
    progress: Progress | None = None,
    *,
    skip_invalid: bool = False,
) -> list[Prepared]:
    """Return the drafts as memories that can be stored: redacted, checked, classified, completed.

    Raises InvalidMemory for the first that cannot be; with `skip_invalid`, only if there are drafts and none of them can.
    """
    prepared: list[Prepared] = []
    problem = None
    projects = _projects_of_sessions(services, drafts)
    for done, draft in enumerate(drafts):
        if draft.project is None and draft.session_id in projects:
            draft = replace(draft, project=projects[draft.session_id])  # noqa: PLW2901  # completed, not exchanged
        try:
            prepared.append(Prepared(_prepared(draft, services.settings, now)))
        except InvalidMemory as error:
            if not skip_invalid:
                raise
            log.warning("a memory cannot be stored and is left out: %s", error)
            problem = error
        if progress and done % 100 == 0:
            progress(done // 2, len(drafts))
    if problem is not None and not prepared:
        raise problem
    return prepared


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
    """Store all memories or none. One that says what a memory already says reinforces that memory instead.

    Near off, for imports: only exactly the same text counts, and it reinforces nothing. Reinforce off, for what a crash may
    have interrupted: what was said already may have been strengthened by it.
    Events: what else is noted in the journal, in the same write.
    """
    cosines = None
    while True:
        with services.store.lock():
            with services.index.snapshot():  # one transaction for all look-ups
                answers = resolve_duplicates(services, prepared, near=near, cosines=cosines)
            if cosines is not None or not any(answer.undecided for answer in answers):
                plan = plan_merges(answers, now, reinforce=near and reinforce)
                plan.events.extend(events)
                committed = _commit(services, plan, now)
                break
        cosines = measure_similarity(
            services, answers
        )  # not while others wait for the lock; then it is decided anew
    if progress:
        progress(len(prepared), len(prepared))
    placed = [answer.twin or answer.memory for answer in answers]
    placed = [committed.memories.get(memory.id, memory) for memory in placed]
    if not committed.indexed:
        return [replace(memory, index_pending=True) for memory in placed]
    return _as_indexed(services, placed)


def _projects_of_sessions(services: Services, drafts: Sequence[Draft]) -> dict[str | None, str]:
    """What is saved in a session belongs to the session's project, unless it is said otherwise."""
    named = {
        draft.session_id
        for draft in drafts
        if draft.project is None and isinstance(draft.session_id, str)
    }
    known = [services.index.session(session_id) for session_id in named if session_id.isprintable()]
    return {
        session.id: session.project for session in known if session is not None and session.project
    }


_OPTIONAL = frozenset(field.name for field in fields(Draft) if field.default is None)
"""What a draft need not say: it is worked out, or has its default."""


def _prepared(draft: Draft, settings: Settings, now: datetime) -> Memory:
    """Take out what is private, check, classify, complete."""
    draft = redact_draft(draft, settings)
    content = validate_content(draft.content, settings)
    said = {field.name: getattr(draft, field.name) for field in fields(Draft)}
    said = {
        name: value for name, value in said.items() if value is not None or name not in _OPTIONAL
    }
    said["id"] = validate_id(draft.id) if draft.id is not None else make_id(now)
    said["title"] = draft.title.strip() if isinstance(draft.title, str) else draft.title
    if said["title"] in (None, ""):
        said["title"] = derive_title(content)
    said["kind"] = (
        classify_kind(content, settings)
        if draft.kind is None
        else validate_kind(draft.kind, settings)
    )
    said.setdefault("project", settings.project)
    said.setdefault("created_at", now)
    if draft.sector is None:
        said["sector"] = classify_sector(content, settings)
    said["links"] = tuple(replace(link, source=said["id"]) for link in draft.links)
    memory = Memory(**said, updated_at=said["created_at"])
    memory = validate_memory(memory, settings)
    if memory.tier is Tier.SESSION and memory.session_id is None:
        raise InvalidMemory("tier", "session", "a memory of one session needs its session_id")
    return derive_fields(memory)


def _commit(services: Services, plan: Merges, now: datetime) -> Committed:
    """Write the new memories and what is merged into others, in one change."""
    events = list(plan.events)
    if plan.fresh:
        # The memories tell everything but this: when they were saved, which for an import is not when they were made.
        events.insert(0, Event(EventName.SAVED, now, tuple(memory.id for memory in plan.fresh)))
    return services.store.commit(
        ChangeSet(
            created=plan.fresh,
            merged=plan.texts,
            updated=apply_merges(services, plan),
            events=events,
            durable=bool(plan.events),
        )
    )


def _as_indexed(services: Services, memories: Sequence[Memory]) -> list[Memory]:
    """The memories as a reader sees them, use included."""
    known = {
        memory.id: memory for memory in services.index.get_many([memory.id for memory in memories])
    }
    return [known.get(memory.id) or replace(memory, index_pending=True) for memory in memories]
