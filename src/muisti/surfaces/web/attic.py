"""What is out of the way but not gone: the trash, the archive, and texts that were merged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fastapi import APIRouter, Request, Response

from muisti.errors import NotFound
from muisti.model import Happening, Memory
from muisti.recall.options import ALL_PROJECTS
from muisti.surfaces.web.desk import At, Desk
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
PAGE = 500
MOST = 200


@router.get("/trash")
def trash(request: Request, desk: At) -> Response:
    """What was deleted, the latest first."""
    count = desk.memory.get_stats().deleted_count
    found = sorted(_deleted(desk, min(count, MOST)), key=lambda one: str(one.deleted_at), reverse=True)
    return show(request, "trash.html", found=found, count=count)


@router.get("/archive")
def archive(request: Request, desk: At) -> Response:
    """What upkeep moved out of the way."""
    found = desk.memory.archived()
    return show(request, "archive.html", found=found[:MOST], count=len(found))


@router.get("/merged")
def merged(request: Request, desk: At) -> Response:
    """Texts that said what a memory said already, each with a way back."""
    return show(request, "merged.html", pairs=list(_merges(desk))[:MOST])


def _deleted(desk: Desk, count: int) -> Iterator[Memory]:
    """The engine lists the living and the dead together."""
    offset = 0
    while count > 0 and (some := desk.memory.list(limit=PAGE, offset=offset, include_deleted=True, project=ALL_PROJECTS)):
        for one in some:
            if one.deleted_at is not None:
                count -= 1
                yield one
        offset += PAGE


def _merges(desk: Desk) -> Iterator[tuple[Memory, Happening]]:
    """Memories with what was merged into them and can be taken apart."""
    for memory_id in _with_merged_texts(desk.memory.root):
        with suppress(NotFound):
            into = desk.existing(memory_id)
            for one in reversed(desk.memory.history(memory_id)):
                if one.what == "merged" and one.content is not None and one.other_id:
                    yield into, one


def _with_merged_texts(root: Path) -> list[str]:
    """Ids of memories whose folder of earlier texts holds merged ones, the latest first. Names alone are looked at."""
    latest: dict[str, str] = {}
    with suppress(OSError):
        for folder in os.scandir(root / ".history"):
            if folder.is_dir(follow_symlinks=False):
                names = [name for name in os.listdir(folder) if name.endswith(".merged.md")]
                latest |= {folder.name: max(names)} if names else {}
    return sorted(latest, key=lambda id_: latest[id_], reverse=True)[:MOST]
