"""What is extracted from a conversation, and how it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muisti.model import (
    Draft,
    Event,
    EventName,
    Exchange,
    Extracted,
    Filter,
    Memory,
    Tier,
    Utterance,
)
from muisti.ports import ChangeSet, Services
from muisti.remember.change import trash
from muisti.remember.identity import derive_id
from muisti.remember.pipeline import Prepared, prepare, store
from muisti.remember.scope import default_tier
from muisti.remember.session_corrections import link_correction, resolve_corrections
from muisti.settings import Settings
from muisti.text.redact import redact_text

EXTRACTED = "extracted"
"""The source of extracted memories."""
EVERYWHERE = "everywhere"
"""The value of `Exchange.preferences` that makes preferences global."""


def extract_from(
    services: Services, conversation: Sequence[Utterance], mode: str
) -> list[Extracted]:
    """Return what the configured extractor finds in a conversation. Raises ExtractorProblem.

    Nothing if extraction is off.
    """
    if not services.settings.extraction_enabled:
        return []
    redacted = [
        replace(
            utterance,
            text=redact_text(utterance.text, services.settings),
            speaker=redact_text(utterance.speaker, services.settings),
        )
        for utterance in conversation
    ]
    return extract_redacted(services, redacted, mode)


def extract_redacted(
    services: Services, redacted: Sequence[Utterance], mode: str
) -> list[Extracted]:
    """Return what the configured extractor finds in a conversation that is redacted already."""
    # Imported on first use: the tables of the rules take time to load.
    if services.language_model is None:
        from muisti.remember.extract.rules import extract

        return extract(redacted, mode=mode)
    from muisti.remember.extract import llm

    return llm.extract(services.language_model, redacted, mode=mode, kinds=services.settings.kinds)


def to_drafts(
    found: Sequence[Extracted],
    *,
    session_id: str | None,
    project: str | None,
    user: str | None = None,
    said_at: datetime | None,
) -> list[Draft]:
    """Return drafts of extracted memories, created when they were said, and unconfirmed."""
    drafts = []
    for extracted in found:
        about = extracted.about
        if about is not None and said_at is not None and about > said_at:
            about = None  # a plan is valid from when it was made, not from the day it is about
        draft = Draft(
            content=extracted.content,
            kind=extracted.kind,
            importance=extracted.importance,
            created_at=said_at,
            valid_from=about,
            session_id=session_id,
            project=project,
            user=user,
            source=EXTRACTED,
            trusted=False,
        )
        drafts.append(draft)
    return drafts


def store_extracted(
    services: Services,
    exchange: Exchange,
    found: Sequence[Extracted],
    *,
    error: str = "",
    again: bool = False,
) -> list[Memory]:
    """Store what was extracted and record, in the same write, that the exchange is done.

    Again: an interrupted call may have stored it before; duplicates are not reinforced then.
    """
    settings, now = services.settings, services.clock.now()
    resolved = resolve_corrections(services, exchange.session_id, found)
    important = [pair for pair in resolved if pair[0].importance >= settings.extract_threshold]
    drafts = to_drafts(
        [item for item, _ in important],
        session_id=exchange.session_id,
        project=exchange.project,
        user=exchange.owner,
        said_at=exchange.at,
    )
    drafts = [
        replace(draft, id=derive_id(exchange.id, number)) for number, draft in enumerate(drafts)
    ]
    corrected = {draft.id: old for draft, (_, old) in zip(drafts, important, strict=True)}
    if exchange.preferences == EVERYWHERE:
        drafts = [_widen_preference(draft, settings) for draft in drafts]
    # Of a model's response all is stored or nothing (contract I2).
    skip_invalid = services.language_model is None
    prepared = [
        Prepared(link_correction(memory, corrected[memory.id], now, EXTRACTED))
        for memory in prepare(services, drafts, now, skip_invalid=skip_invalid)
    ]
    ids = [memory.id for memory in prepared]
    known = {memory.id for memory in services.index.get_many(ids, include_deleted=True)}
    extracted = _list_extracted(services, exchange.session_id)
    least = min((memory.importance for memory in extracted), default=0.0)
    is_full = len(extracted) >= settings.extract_per_session
    prepared = [
        memory
        for memory in prepared
        if memory.id not in known and not (is_full and memory.importance <= least)
    ]
    data: dict[str, str | int | float | None] = {"exchange": exchange.id, "count": len(prepared)}
    if error:
        data["error"] = error
    event = Event(EventName.EXTRACTED, now, session_id=exchange.session_id, data=data)
    if prepared:
        saved = store(services, prepared, now, events=[event], reinforce=not again)
    else:
        saved = []
        with services.store.lock():
            services.store.commit(ChangeSet(events=[event]))
    trim_session(services, exchange.session_id)
    return saved


def _widen_preference(draft: Draft, settings: Settings) -> Draft:
    """Return a preference as a global memory, and other drafts as they are."""
    if default_tier(draft.kind, draft.content, settings) is not Tier.GLOBAL:
        return draft
    return replace(draft, project="", tier=Tier.GLOBAL.value)


def trim_session(services: Services, session_id: str) -> list[Memory]:
    """Move a session's least important extracted memories over the limit to the trash."""
    most = services.settings.extract_per_session
    if len(_list_extracted(services, session_id)) <= most:
        return []
    with services.store.lock():
        extracted = _list_extracted(services, session_id)
        extracted.sort(key=lambda memory: (memory.importance, memory.created_at, memory.id))
        surplus = extracted[: max(0, len(extracted) - most)]
        for memory in surplus:
            trash(services, memory, reason="replaced")
    return surplus


def _list_extracted(services: Services, session_id: str) -> list[Memory]:
    """Return the memories extracted from a session that are neither pinned nor confirmed."""
    where = Filter(session=session_id, all_sessions=True)
    found = services.index.select(where, order="created_at", limit=None)
    return [
        memory
        for memory in found
        if memory.source == EXTRACTED and not memory.pinned and not memory.trusted
    ]
