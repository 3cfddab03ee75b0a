"""What is out of the way but not gone: the trash, the archive, and texts that were merged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fastapi import APIRouter, Request, Response

from muisti.errors import NotFound
from muisti.model import Happening, Memory
from muisti.surfaces.web.desk import At, Desk
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
    found, count = desk.memory.trashed(limit=PAGE, offset=offset), desk.memory.get_stats().deleted_count
    turn = turning("/trash", offset, PAGE, more=count > offset + PAGE)
    return show(request, "trash.html", found=found, count=count, turn=turn)


@router.get("/archive")
def archive(request: Request, desk: At, offset: int = 0) -> Response:
    """What upkeep moved out of the way."""
    offset = placed(offset)
    found, count = desk.memory.archived(limit=PAGE, offset=offset), desk.memory.archived_count()
    turn = turning("/archive", offset, PAGE, more=count > offset + PAGE)
    return show(request, "archive.html", found=found, count=count, turn=turn)


@router.get("/merged")
def merged(request: Request, desk: At, offset: int = 0) -> Response:
    """Texts that said what a memory said already, each with a way back."""
    ids, offset = with_merged_texts(desk.memory.root), placed(offset)
    pairs = list(_merges(desk, ids[offset : offset + PAIRED]))
    turn = turning("/merged", offset, PAIRED, more=len(ids) > offset + PAIRED)
    return show(request, "merged.html", pairs=pairs, count=len(ids), turn=turn)


def _merges(desk: Desk, ids: list[str]) -> Iterator[tuple[Memory, Happening]]:
    """Memories with what was merged into them and can be taken apart."""
    for memory_id in ids:
        with suppress(NotFound):
            into = desk.existing(memory_id)
            for one in reversed(desk.memory.history(memory_id)):
                if one.what == "merged" and one.content is not None and one.other_id:
                    yield into, one


def with_merged_texts(root: Path) -> list[str]:
    """Ids of memories whose folder of earlier texts holds merged ones, the latest first. Names alone are looked at."""
    latest: dict[str, str] = {}
    with suppress(OSError):
        for folder in os.scandir(root / ".history"):
            if folder.is_dir(follow_symlinks=False):
                names = [name for name in os.listdir(folder) if name.endswith(".merged.md")]
                latest |= {folder.name: max(names)} if names else {}
    return sorted(latest, key=lambda id_: (latest[id_], id_), reverse=True)
