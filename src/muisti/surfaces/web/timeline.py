"""Memories by day."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from itertools import groupby

from fastapi import APIRouter, Request, Response

from muisti.engine import Muisti
from muisti.errors import InvalidRequest
from muisti.recall.filters import ALL_PROJECTS, FilterOptions
from muisti.surfaces.web.page_context import At
from muisti.surfaces.web.paging import placed, turning
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
PAGE = 50


@router.get("/timeline")
def timeline(
    request: Request, desk: At, kind: str = "", project: str = "", on: str = "", offset: int = 0
) -> Response:
    """The latest days first, or a day and what was before it."""
    options: FilterOptions = {"project": project or ALL_PROJECTS}
    if kind:
        options["kind"] = kind
    stats = desk.memory.get_stats()
    day = as_day(on) if on.strip() else None
    offset = first_on(desk.memory, day, options, stats.total_count) if day else placed(offset)
    found = desk.memory.list(limit=PAGE + 1, offset=offset, **options)
    days = [
        (day, list(some))
        for day, some in groupby(found[:PAGE], key=lambda one: one.created_at.astimezone().date())
    ]
    return show(
        request,
        "timeline.html",
        days=days,
        turn=turning("/timeline", offset, PAGE, more=len(found) > PAGE, kind=kind, project=project),
        kind=kind,
        project=project,
        on=day,
        hit=bool(days) and days[0][0] == day,
        kinds=desk.kinds(),
        projects=sorted(name for name in stats.by_project if name),
        first=stats.oldest_memory and stats.oldest_memory.astimezone().date(),
        last=stats.newest_memory and stats.newest_memory.astimezone().date(),
    )


def as_day(text: str) -> date:
    """A day as browsers write it. Raises InvalidRequest."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidRequest("day", text[:40], "write it like 2026-03-15") from error


def first_on(memory: Muisti, day: date, options: FilterOptions, total: int) -> int:
    """How many memories, of the latest first, come before those of a day: looked up as in a dictionary, not read through."""
    if day >= date.max - timedelta(days=1):
        return 0
    end = datetime.combine(day + timedelta(days=1), time()).astimezone()
    low, high = 0, total
    while low < high:
        middle = (low + high) // 2
        there = memory.list(limit=1, offset=middle, **options)
        if there and there[0].created_at >= end:
            low = middle + 1
        else:
            high = middle
    return low
