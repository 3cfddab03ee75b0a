"""The page of one memory, with its links, similar memories and history."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request, Response

from muisti.errors import MemoryNotFound, NotFound
from muisti.model import EntryType, Link, LinkType, Memory
from muisti.recall.filters import ALL
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, is_fragment, memory_url, redirect, render

router = APIRouter(route_class=PageRoute)
LINK_TYPES = tuple(link_type.value for link_type in LinkType)


@router.get("/memory/{memory_id}")
def show_memory(request: Request, context: Context, memory_id: str) -> Response:
    """Show one memory, also from the trash or the archive."""
    memory = context.get_memory(memory_id)
    if memory.origin is not EntryType.MEMORY:
        return redirect(memory_url(memory))
    return render(
        request,
        "memory.html",
        memory=memory,
        link_types=LINK_TYPES,
        **_load_links(context, memory),
    )


@router.get("/entry")
def show_entry(request: Request, context: Context, id: str = "") -> Response:
    """Show a message or a section of a document, which cannot be edited on the page."""
    entry = context.memory.get(id)
    if entry is None:
        raise MemoryNotFound(id)
    neighbours = context.memory.timeline(id, before=4, after=4)
    return render(request, "entry.html", memory=entry, neighbours=neighbours)


@router.get("/memory/{memory_id}/history")
def show_history(request: Request, context: Context, memory_id: str) -> Response:
    """Show the history of a memory, the latest first."""
    memory = context.get_memory(memory_id)
    return render(
        request,
        "parts/history.html" if is_fragment(request) else "history.html",
        memory=memory,
        history=list(reversed(context.memory.history(memory_id))),
        is_live=context.is_live(memory),
    )


@router.get("/memory/{memory_id}/related")
def show_similar(request: Request, context: Context, memory_id: str) -> Response:
    """Show similar memories."""
    results = context.memory.related(memory_id, limit=6, project=ALL, user=ALL)
    template = "parts/similar.html" if is_fragment(request) else "similar.html"
    return render(
        request,
        template,
        results=results,
        memory=context.get_memory(memory_id),
        outdated=context.memory.find_outdated([result.memory.id for result in results]),
    )


def _load_links(context: PageContext, memory: Memory) -> dict[str, Any]:
    """Return the memory's links, the memories at their other ends, and what replaced it."""
    is_live = context.is_live(memory)
    links: list[Link] = []
    replacement = None
    targets: dict[str, str | None] = {}
    with suppress(NotFound):
        if is_live and memory.wikilinks:
            found = context.memory.wikilinks(memory.id)
            targets = {name: memory_url(id_) if id_ else None for name, id_ in found.items()}
        links = context.memory.links(memory.id) if is_live else list(memory.links)
        replacement = context.memory.superseding(memory.id) if is_live else None
    linked = {}
    for link in links:
        other_id = link.target if link.source == memory.id else link.source
        if other := context.memory.get(other_id, include_deleted=True):
            linked[other_id] = other
    return {
        "links": links,
        "linked": linked,
        "replacement": replacement,
        "is_live": is_live,
        "targets": targets,
    }
