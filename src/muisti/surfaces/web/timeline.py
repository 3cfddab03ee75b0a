"""The timeline: memories by day."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from itertools import groupby

from fastapi import APIRouter, Request, Response

from muisti.engine import Muisti
from muisti.errors import InvalidRequest
from muisti.recall.filters import ALL, FilterOptions
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.paging import clamp_offset, link_pages
from muisti.surfaces.web.render import PageRoute, render

router = APIRouter(route_class=PageRoute)
PAGE = 50


@router.get("/timeline")
def show_timeline(
    request: Request,
    context: Context,
    kind: str = "",
    project: str = "",
    on: str = "",
    offset: int = 0,
) -> Response:
    """Show memories by day, the latest first, or starting at a given day."""
    filters: FilterOptions = {"project": project or ALL, "user": ALL}
    if kind:
        filters["kind"] = kind
    stats = context.memory.get_stats()
    start = parse_day(on) if on.strip() else None
    if start:
        offset = find_offset(context.memory, start, filters, stats.total_count)
    else:
        offset = clamp_offset(offset)
    found = context.memory.list(limit=PAGE + 1, offset=offset, **filters)
    days = [
        (day, list(memories))
        for day, memories in groupby(
            found[:PAGE], key=lambda one: one.created_at.astimezone().date()
        )
    ]
    return render(
        request,
        "timeline.html",
        days=days,
        outdated=context.memory.find_outdated([one.id for one in found]),
        pages=link_pages(
            "/timeline", offset, PAGE, more=len(found) > PAGE, kind=kind, project=project
        ),
        kind=kind,
        project=project,
        on=start,
        found_day=bool(days) and days[0][0] == start,
        kinds=context.kinds(),
        projects=sorted(name for name in stats.by_project if name),
        first=stats.oldest_memory and stats.oldest_memory.astimezone().date(),
        last=stats.newest_memory and stats.newest_memory.astimezone().date(),
    )


def parse_day(text: str) -> date:
    """Return an ISO date. Raises InvalidRequest."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidRequest("day", text, "must be a date like 2026-03-15") from error


def find_offset(memory: Muisti, day: date, filters: FilterOptions, total: int) -> int:
    """Return how many memories are newer than the day, by binary search."""
    if day >= date.max - timedelta(days=1):
        return 0
    end = datetime.combine(day + timedelta(days=1), time()).astimezone()
    low, high = 0, total
    while low < high:
        middle = (low + high) // 2
        found = memory.list(limit=1, offset=middle, **filters)
        if found and found[0].created_at >= end:
            low = middle + 1
        else:
            high = middle
    return low
