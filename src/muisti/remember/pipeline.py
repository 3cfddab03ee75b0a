"""The write path: text in. Each step is named here in its order.

redact → check → classify → complete → merge with what says the same, or tell what it contradicts → file → journal and index
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NewType

from muisti.commit import commit, writing
from muisti.errors import InvalidMemory, MuistiError
from muisti.model import Draft, Event, Memory, Tier
from muisti.ports import Parts, Progress
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.complete import completed, derived_title
from muisti.remember.dedup import measured, resolved
from muisti.remember.identity import new_id
from muisti.remember.merge import Merges, merge, planned_merges
from muisti.remember.validate import checked_content, checked_id, checked_kind, checked_memory
from muisti.settings import Settings
from muisti.text.redact import redact_draft

log = logging.getLogger("muisti")


def remember(parts: Parts, drafts: Sequence[Draft], progress: Progress | None = None, *, near: bool = True) -> list[Memory]:
    """Save all drafts or none, and return the memories. Raises InvalidMemory. Near: see `store`."""
    now = parts.clock.now()
    return store(parts, prepare(parts, drafts, now, progress), now, progress, near=near)


Prepared = NewType("Prepared", Memory)
"""A memory that is redacted, checked and complete. Only `prepare` makes one, and only such can be stored."""


def prepare(
    parts: Parts,
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
    projects = _projects_of_sessions(parts, drafts)
    for done, draft in enumerate(drafts):
        if draft.project is None and draft.session_id in projects:
            draft = replace(draft, project=projects[draft.session_id])  # noqa: PLW2901  # completed, not exchanged
        try:
            prepared.append(Prepared(_prepared(draft, parts.settings, now)))
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
    parts: Parts,
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
        with writing(parts):
            answers = resolved(parts, prepared, near=near, cosines=cosines)
            if cosines is not None or not any(answer.undecided for answer in answers):
                plan = planned_merges(answers, now, reinforce=near and reinforce)
                plan.events.extend(events)
                paths, indexed = _stored(parts, plan, now)
                break
        cosines = measured(parts, answers)  # not while others wait for the lock; then it is decided anew
    if progress:
        progress(len(prepared), len(prepared))
    placed = [answer.twin or answer.memory for answer in answers]
    placed = [replace(memory, file_path=paths.get(memory.id, memory.file_path)) for memory in placed]
    return _as_indexed(parts, placed) if indexed else [replace(memory, index_pending=True) for memory in placed]


def _projects_of_sessions(parts: Parts, drafts: Sequence[Draft]) -> dict[str | None, str]:
    """What is saved in a session belongs to the session's project, unless it is said otherwise."""
    named = {draft.session_id for draft in drafts if draft.project is None and isinstance(draft.session_id, str)}
    known = [parts.reader.session(session_id) for session_id in named if session_id.isprintable()]
    return {session.id: session.project for session in known if session is not None and session.project}


def _prepared(draft: Draft, settings: Settings, now: datetime) -> Memory:
    """Take out what is private, check, classify, complete."""
    draft = redact_draft(draft, settings)
    content = checked_content(draft.content, settings)
    created = now if draft.created_at is None else draft.created_at
    title = draft.title.strip() if isinstance(draft.title, str) else draft.title
    id_ = checked_id(draft.id) if draft.id is not None else new_id(now)
    memory = Memory(
        id=id_,
        content=content,
        title=derived_title(content) if title is None or title == "" else title,
        kind=checked_kind(draft.kind, settings) if draft.kind is not None else classify_kind(content, settings),
        sector=draft.sector if draft.sector is not None else classify_sector(content, settings),  # type: ignore[arg-type]
        tier=draft.tier if draft.tier is not None else Tier.PROJECT,  # type: ignore[arg-type]
        project=settings.project if draft.project is None else draft.project,
        session_id=draft.session_id,
        source=draft.source,
        summary=draft.summary,
        keywords=draft.keywords,
        files=draft.files,
        importance=0.5 if draft.importance is None else draft.importance,
        salience=1.0 if draft.salience is None else draft.salience,
        created_at=created,
        updated_at=created,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        pinned=draft.pinned,
        trusted=draft.trusted,
        links=tuple(replace(link, source=id_) for link in draft.links),
    )
    memory = checked_memory(memory, settings)
    if memory.tier is Tier.SESSION and memory.session_id is None:
        raise InvalidMemory("tier", "session", "a memory of one session needs its session_id")
    return completed(memory)


def _stored(parts: Parts, plan: Merges, now: datetime) -> tuple[dict[str, str | None], bool]:
    """The new files, then what is merged, then journal and index. If that cannot be written, the files are taken back.

    Answers where each memory is, and whether the index has it.
    """
    files = parts.vault.create(plan.fresh)
    events = list(plan.events)
    if files:
        # The files tell everything but this: when they were saved, which for an import is not when they were made.
        events.insert(0, Event("saved", now, tuple(file.memory.id for file in files)))
    try:
        changed = merge(parts, plan, now)
        removed = [str(file.memory.file_path) for file in changed]
        indexed = commit(parts, files=[*files, *changed], removed=removed, events=events, durable=bool(plan.events))
    except MuistiError:
        for file in files:
            parts.vault.erase(str(file.memory.file_path))
        raise
    return {file.memory.id: file.memory.file_path for file in files}, indexed


def _as_indexed(parts: Parts, memories: Sequence[Memory]) -> list[Memory]:
    """The memories as a reader sees them, use included."""
    known = {memory.id: memory for memory in parts.reader.many([memory.id for memory in memories])}
    return [known.get(memory.id) or replace(memory, index_pending=True) for memory in memories]
