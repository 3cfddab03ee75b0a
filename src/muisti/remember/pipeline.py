"""The write path: text in. Each step is named here in its order.

check → classify → complete → find the twin → file → journal and index
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muisti.commit import commit, writing
from muisti.errors import InvalidMemory, MuistiError
from muisti.model import Draft, Event, Memory, Tier
from muisti.ports import Parts, Progress
from muisti.remember.classify import classify_kind, classify_sector
from muisti.remember.complete import completed, derived_title
from muisti.remember.identity import new_id
from muisti.remember.validate import checked_content, checked_id, checked_kind, checked_memory
from muisti.settings import Settings
from muisti.usage import REINFORCE, reinforced


def remember(parts: Parts, drafts: Sequence[Draft], progress: Progress | None = None, *, reinforce: bool = True) -> list[Memory]:
    """Save all drafts or none. A draft that says what a memory already says reinforces that memory instead."""
    now = parts.clock.now()
    prepared = []
    projects = _projects_of_sessions(parts, drafts)
    for done, draft in enumerate(drafts):
        if draft.project is None and draft.session_id in projects:
            draft = replace(draft, project=projects[draft.session_id])  # noqa: PLW2901  # completed, not exchanged
        prepared.append(_prepared(draft, parts.settings, now))
        if progress and done % 100 == 0:
            progress(done // 2, len(drafts))
    with writing(parts):
        answers = _with_twins(parts, prepared)
        fresh = [memory for memory, answer in zip(prepared, answers, strict=True) if memory is answer]
        events = _reinforcements(prepared, answers, now) if reinforce else []
        paths, indexed = _stored(parts, fresh, events, now)
    if progress:
        progress(len(drafts), len(drafts))
    placed = [replace(answer, file_path=paths.get(answer.id, answer.file_path)) for answer in answers]
    return _as_indexed(parts, placed) if indexed else [replace(memory, index_pending=True) for memory in placed]


def _projects_of_sessions(parts: Parts, drafts: Sequence[Draft]) -> dict[str | None, str]:
    """What is saved in a session belongs to the session's project, unless it is said otherwise."""
    named = {draft.session_id for draft in drafts if draft.project is None and isinstance(draft.session_id, str)}
    known = [parts.reader.session(session_id) for session_id in named if session_id.isprintable()]
    return {session.id: session.project for session in known if session is not None and session.project}


def _prepared(draft: Draft, settings: Settings, now: datetime) -> Memory:
    """Check, classify, complete."""
    content = checked_content(draft.content, settings)
    created = now if draft.created_at is None else draft.created_at
    title = draft.title.strip() if isinstance(draft.title, str) else draft.title
    memory = Memory(
        id=checked_id(draft.id) if draft.id is not None else new_id(now),
        content=content,
        title=derived_title(content) if title is None or title == "" else title,
        kind=checked_kind(draft.kind, settings) if draft.kind is not None else classify_kind(content),
        sector=draft.sector if draft.sector is not None else classify_sector(content),  # type: ignore[arg-type]
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
    )
    memory = checked_memory(memory, settings)
    if memory.tier is Tier.SESSION and memory.session_id is None:
        raise InvalidMemory("tier", "session", "a memory of one session needs its session_id")
    return completed(memory)


def _with_twins(parts: Parts, prepared: Sequence[Memory]) -> list[Memory]:
    """For each memory: itself, or the one that says the same already, in the vault or earlier in this batch."""
    first: dict[tuple[str | None, ...], Memory] = {}
    answers = []
    for memory in prepared:
        session = memory.session_id if memory.tier is Tier.SESSION else None
        key = (memory.content_hash, memory.project, memory.tier, session)
        if key not in first:
            first[key] = parts.reader.twin(memory) or memory
        answers.append(first[key])
    return answers


def _reinforcements(prepared: Sequence[Memory], answers: Sequence[Memory], now: datetime) -> list[Event]:
    events = []
    for memory, answer in zip(prepared, answers, strict=True):
        if answer is not memory:
            salience = reinforced(answer.salience, REINFORCE)
            data = {"amount": REINFORCE, "salience": salience}
            events.append(Event("reinforced", now, (answer.id,), memory.session_id, data))
    return events


def _stored(parts: Parts, fresh: Sequence[Memory], events: list[Event], now: datetime) -> tuple[dict[str, str | None], bool]:
    """Files, then journal and index. If the journal cannot be written, the files are taken back.

    Answers where each memory is, and whether the index has it.
    """
    files = parts.vault.create(fresh)
    if fresh:
        # The files tell everything but this: when they were saved, which for an import is not when they were made.
        events = [Event("saved", now, tuple(memory.id for memory in fresh)), *events]
    try:
        indexed = commit(parts, files=files, events=events, durable=len(events) > bool(fresh))
    except MuistiError:
        for file in files:
            parts.vault.erase(str(file.memory.file_path))
        raise
    return {file.memory.id: file.memory.file_path for file in files}, indexed


def _as_indexed(parts: Parts, memories: Sequence[Memory]) -> list[Memory]:
    """The memories as a reader sees them, use included."""
    known = {memory.id: memory for memory in parts.reader.many([memory.id for memory in memories])}
    return [known.get(memory.id) or replace(memory, index_pending=True) for memory in memories]
