"""What is out of the way but not gone: the trash, the archive, and texts that were merged.

The engine lists the living and the dead together. Here the names of the files say which are the dead ones, and when they went,
so that a page reads the memories it shows and no others.
"""

from __future__ import annotations

import os
import re
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
_HEAD = 4096
"""Bytes at the beginning of a file among which its id is."""
_ID = re.compile(r"^id:[ \t]*[\"']?([A-Za-z0-9][A-Za-z0-9_-]{0,63})[\"']?[ \t]*\r?$", re.MULTILINE)


@router.get("/trash")
def trash(request: Request, desk: At, offset: int = 0) -> Response:
    """What was deleted, the latest first."""
    names, offset = trashed(desk.memory.root), placed(offset)
    found = [one for path in names[offset : offset + PAGE] if (one := _dead(desk, path)) is not None]
    turn = turning("/trash", offset, PAGE, more=len(names) > offset + PAGE)
    return show(request, "trash.html", found=found, count=desk.memory.get_stats().deleted_count, turn=turn)


@router.get("/archive")
def archive(request: Request, desk: At, offset: int = 0) -> Response:
    """What upkeep moved out of the way."""
    found, offset = desk.memory.archived(), placed(offset)
    turn = turning("/archive", offset, PAGE, more=len(found) > offset + PAGE)
    return show(request, "archive.html", found=found[offset : offset + PAGE], count=len(found), turn=turn)


@router.get("/merged")
def merged(request: Request, desk: At, offset: int = 0) -> Response:
    """Texts that said what a memory said already, each with a way back."""
    ids, offset = with_merged_texts(desk.memory.root), placed(offset)
    pairs = list(_merges(desk, ids[offset : offset + PAIRED]))
    turn = turning("/merged", offset, PAIRED, more=len(ids) > offset + PAIRED)
    return show(request, "merged.html", pairs=pairs, count=len(ids), turn=turn)


def trashed(root: Path) -> list[Path]:
    """Files in the trash, the latest first: their names end with when they went there."""
    found = [Path(folder, name) for folder, _, names in os.walk(root / ".trash") for name in names if name.endswith(".md")]
    return sorted(found, key=lambda path: (path.stem.rpartition(".")[2], path.name), reverse=True)


def _dead(desk: Desk, path: Path) -> Memory | None:
    """The memory of a file in the trash; None if it is there no more, or a person put it there."""
    try:
        with path.open("rb") as file:
            told = _ID.search(file.read(_HEAD).decode("utf-8", "replace"))
    except OSError:
        return None
    found = desk.memory.get(told[1], include_deleted=True) if told else None
    return found if found is not None and found.deleted_at is not None else None


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
