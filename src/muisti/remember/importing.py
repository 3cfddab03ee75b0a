"""Memories from elsewhere: read everything first, then save what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from muisti.errors import ImportFailed, InvalidMemory
from muisti.model import Event, EventName, Link, LinkSource, Usage
from muisti.model.salience import FLOOR
from muisti.ports import ChangeSet, ImportedMemory, Progress, Services
from muisti.remember.identity import make_id
from muisti.remember.pipeline import remember


def import_memories(
    services: Services,
    source: Path,
    *,
    kind: str | None = None,
    project: str | None = None,
    trusted: bool = False,
    progress: Progress | None = None,
) -> int:
    """How many were new. What is here already, by id or by content, is left alone, so a repeat does no harm."""
    now = services.clock.now()
    incoming = {
        item.draft.id or make_id(now): item
        for item in services.import_export.load(source)
        if item.draft.id is None or services.index.get(item.draft.id, include_deleted=True) is None
    }
    drafts = [
        replace(
            item.draft,
            id=id_,
            kind=kind or item.draft.kind,
            project=item.draft.project if project is None else project,
            trusted=trusted,
            links=item.draft.links if trusted else _proposed(services, item.draft.links),
        )
        for id_, item in incoming.items()
    ]
    try:
        saved = (
            {memory.id for memory in remember(services, drafts, progress, near=False)}
            if drafts
            else set()
        )
    except InvalidMemory as error:
        raise ImportFailed(f"{source}: {error}") from error
    used = [
        _event(services, id_, item)
        for id_, item in incoming.items()
        if id_ in saved and item.usage != Usage()
    ]
    if used:
        with services.store.lock():
            services.store.commit(ChangeSet(events=used))
    return len(saved & incoming.keys())


def _proposed(services: Services, links: Sequence[Link]) -> tuple[Link, ...]:
    """What comes from elsewhere must not change what is here: such links only propose."""
    ours = {
        memory.id
        for memory in services.index.get_many([link.target for link in links], include_deleted=True)
    }
    return tuple(
        replace(link, extracted_by=LinkSource.SYSTEM, confidence=min(0.99, link.confidence))
        if link.target in ours
        else link
        for link in links
    )


def _event(services: Services, memory_id: str, item: ImportedMemory) -> Event:
    usage = item.usage
    salience = 1.0 if usage.salience is None else min(1.0, max(FLOOR, usage.salience))
    return Event(
        EventName.IMPORTED,
        services.clock.now(),
        (memory_id,),
        None,
        {"salience": salience, "access_count": usage.access_count},
    )
