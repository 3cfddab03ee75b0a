"""The trash, the archive and merged duplicates, each with a way to restore."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from muisti.engine import Muisti
from muisti.errors import NotFound
from muisti.model import HistoryEntry, Memory
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.paging import clamp_offset, link_pages
from muisti.surfaces.web.render import PageRoute, render

router = APIRouter(route_class=PageRoute)
PAGE = 50
MERGED_PAGE = 25


@router.get("/trash")
def show_trash(request: Request, context: Context, offset: int = 0) -> Response:
    """Show deleted memories, the latest first."""
    offset = clamp_offset(offset)
    memories = context.memory.list_trash(limit=PAGE, offset=offset)
    count = context.memory.get_stats().deleted_count
    pages = link_pages("/trash", offset, PAGE, more=count > offset + PAGE)
    return render(request, "trash.html", memories=memories, count=count, pages=pages)


@router.get("/archive")
def show_archive(request: Request, context: Context, offset: int = 0) -> Response:
    """Show memories that maintenance archived."""
    offset = clamp_offset(offset)
    memories = context.memory.list_archive(limit=PAGE, offset=offset)
    count = context.memory.count_archive()
    pages = link_pages("/archive", offset, PAGE, more=count > offset + PAGE)
    return render(request, "archive.html", memories=memories, count=count, pages=pages)


@router.get("/merged")
def show_merged(request: Request, context: Context, offset: int = 0) -> Response:
    """Show texts that were merged into memories as duplicates."""
    offset = clamp_offset(offset)
    memories = context.memory.merged(limit=MERGED_PAGE, offset=offset)
    count = context.memory.merged_count()
    pairs = [(one, merge) for one in memories for merge in _list_merges(context.memory, one)]
    pages = link_pages("/merged", offset, MERGED_PAGE, more=count > offset + MERGED_PAGE)
    return render(request, "merged.html", pairs=pairs, count=count, pages=pages)


def _list_merges(memory: Muisti, merged_into: Memory) -> list[HistoryEntry]:
    """Return the merges that can be undone, the latest first."""
    try:
        history = memory.history(merged_into.id)
    except NotFound:  # it is in the archive, and the journal was lost
        return []
    return [
        entry
        for entry in reversed(history)
        if entry.what == "merged" and entry.content is not None and entry.other_id
    ]
