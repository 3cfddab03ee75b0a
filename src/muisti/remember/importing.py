"""Import memories: read the whole source first, then save what is new."""

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
    """Return how many memories were new.

    Memories that exist already, by ID or by content, are left alone, so an import can be repeated.
    Raises ImportFailed.
    """
    now = services.clock.now()
    incoming: dict[str, ImportedMemory] = {}
    for item in services.import_export.load(source):
        id_ = item.draft.id
        if id_ is None:
            incoming[make_id(now)] = item
        elif services.index.get(id_, include_deleted=True) is None:
            incoming[id_] = item
    drafts = [
        replace(
            item.draft,
            id=id_,
            kind=kind or item.draft.kind,
            project=item.draft.project if project is None else project,
            trusted=trusted,
            links=item.draft.links if trusted else _demote_links(services, item.draft.links),
        )
        for id_, item in incoming.items()
    ]
    if not drafts:
        return 0
    try:
        saved = {memory.id for memory in remember(services, drafts, progress, near=False)}
    except InvalidMemory as error:
        raise ImportFailed(f"{source}: {error}") from error
    events = []
    for id_, item in incoming.items():
        usage = item.usage
        if id_ not in saved or usage == Usage():
            continue
        data: dict[str, str | int | float | None] = {
            "salience": 1.0 if usage.salience is None else min(1.0, max(FLOOR, usage.salience)),
            "access_count": usage.access_count,
        }
        events.append(Event(EventName.IMPORTED, services.clock.now(), (id_,), None, data))
    if events:
        with services.store.lock():
            services.store.commit(ChangeSet(events=events))
    return len(saved & incoming.keys())


def _demote_links(services: Services, links: Sequence[Link]) -> tuple[Link, ...]:
    """Make links to stored memories suggestions: an untrusted import must not change them."""
    targets = [link.target for link in links]
    stored = {memory.id for memory in services.index.get_many(targets, include_deleted=True)}
    return tuple(
        replace(link, extracted_by=LinkSource.SYSTEM, confidence=min(0.99, link.confidence))
        if link.target in stored
        else link
        for link in links
    )
