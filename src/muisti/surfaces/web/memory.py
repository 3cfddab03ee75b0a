"""One memory: what it says, where it stands, what became of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, Response

from muisti.errors import MemoryNotFound, NotFound
from muisti.model import EntryType, Link, LinkType, Memory
from muisti.recall.filters import ALL_PROJECTS
from muisti.surfaces.web.page_context import At, PageContext
from muisti.surfaces.web.render import PageRoute, go, href, is_fragment, show

router = APIRouter(route_class=PageRoute)
TYPES = tuple(kind.value for kind in LinkType)


@router.get("/memory/{memory_id}")
def read(request: Request, desk: At, memory_id: str) -> Response:
    """The page of one memory, wherever it is."""
    found = desk.existing(memory_id)
    if found.origin is not EntryType.MEMORY:
        return go(href(found))
    return show(request, "memory.html", memory=found, types=TYPES, **standing(desk, found))


@router.get("/entry")
def entry(request: Request, desk: At, id: str = "") -> Response:
    """A message, or a section of a document, which are read here and changed where they stand."""
    found = desk.memory.get(id)
    if found is None:
        raise MemoryNotFound(id)
    around = desk.memory.timeline(id, before=4, after=4)
    return show(request, "entry.html", memory=found, around=around)


@router.get("/memory/{memory_id}/history")
def history(request: Request, desk: At, memory_id: str) -> Response:
    """Versions, merges, links and uses, the latest first."""
    found = desk.existing(memory_id)
    happened = list(reversed(desk.memory.history(memory_id)))
    template = "parts/history.html" if is_fragment(request) else "history.html"
    return show(request, template, memory=found, happened=happened, live_memory=desk.is_live(found))


@router.get("/memory/{memory_id}/related")
def related(request: Request, desk: At, memory_id: str) -> Response:
    """What is near it in words and meaning."""
    found = desk.memory.related(memory_id, limit=6, project=ALL_PROJECTS)
    template = "parts/related.html" if is_fragment(request) else "related.html"
    return show(request, template, found=found, memory=desk.existing(memory_id))


def standing(desk: PageContext, found: Memory) -> dict[str, Any]:
    """How a memory stands to others."""
    alive = desk.is_live(found)
    links: list[Link] = []
    successor = None
    with suppress(NotFound):
        links = desk.memory.links(found.id) if alive else list(found.links)
        successor = desk.memory.superseding(found.id) if alive else None
    ids = {end for link in links for end in (link.source, link.target)} - {found.id}
    known = {
        one.id: one
        for id_ in ids
        if (one := desk.memory.get(id_, include_deleted=True)) is not None
    }
    return {"links": links, "known": known, "successor": successor, "alive": alive}
