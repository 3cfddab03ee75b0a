"""What is out of the way but not gone: the trash, the archive, and texts that were merged."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from muisti.engine import Muisti
from muisti.errors import NotFound
from muisti.model import HistoryEntry, Memory
from muisti.surfaces.web.page_context import At
from muisti.surfaces.web.paging import placed, turning
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
PAGE = 50
PAIRED = 25
"""Memories with merged texts on one page."""


@router.get("/trash")
def trash(request: Request, desk: At, offset: int = 0) -> Response:
    """What was deleted, the latest first."""
    offset = placed(offset)
    found, count = (
        desk.memory.list_trash(limit=PAGE, offset=offset),
        desk.memory.get_stats().deleted_count,
    )
    turn = turning("/trash", offset, PAGE, more=count > offset + PAGE)
    return show(request, "trash.html", found=found, count=count, turn=turn)


@router.get("/archive")
def archive(request: Request, desk: At, offset: int = 0) -> Response:
    """What upkeep moved out of the way."""
    offset = placed(offset)
    found, count = desk.memory.list_archive(limit=PAGE, offset=offset), desk.memory.count_archive()
    turn = turning("/archive", offset, PAGE, more=count > offset + PAGE)
    return show(request, "archive.html", found=found, count=count, turn=turn)


@router.get("/merged")
def merged(request: Request, desk: At, offset: int = 0) -> Response:
    """Texts that said what a memory said already, each with a way back."""
    offset = placed(offset)
    found, count = desk.memory.merged(limit=PAIRED, offset=offset), desk.memory.merged_count()
    pairs = [(into, text) for into in found for text in _merged_texts(desk.memory, into)]
    turn = turning("/merged", offset, PAIRED, more=count > offset + PAIRED)
    return show(request, "merged.html", pairs=pairs, count=count, turn=turn)


def _merged_texts(memory: Muisti, into: Memory) -> list[HistoryEntry]:
    """Return what was merged into a memory and can be taken apart again, the latest first."""
    try:
        happened = memory.history(into.id)
    except NotFound:  # it is in the archive, and the journal was lost
        return []
    return [
        one
        for one in reversed(happened)
        if one.what == "merged" and one.content is not None and one.other_id
    ]
