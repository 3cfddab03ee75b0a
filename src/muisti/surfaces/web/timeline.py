"""Memories by day."""

from __future__ import annotations

from itertools import groupby
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from muisti.recall.options import ALL_PROJECTS, FilterOptions
from muisti.surfaces.web.desk import At
from muisti.surfaces.web.render import PageRoute, show

router = APIRouter(route_class=PageRoute)
PAGE = 50


@router.get("/timeline")
def timeline(request: Request, desk: At, kind: str = "", project: str = "", offset: int = 0) -> Response:
    """The latest days first."""
    options: FilterOptions = {"project": project or ALL_PROJECTS}
    if kind:
        options["kind"] = kind
    offset = max(0, min(offset, 10_000_000))
    found = desk.memory.list(limit=PAGE + 1, offset=offset, **options)
    days = [(day, list(some)) for day, some in groupby(found[:PAGE], key=lambda one: one.created_at.astimezone().date())]
    narrowed = {name: value for name, value in (("kind", kind), ("project", project)) if value}
    older = f"/timeline?{urlencode({**narrowed, 'offset': offset + PAGE})}" if len(found) > PAGE else ""
    newer = f"/timeline?{urlencode({**narrowed, 'offset': max(0, offset - PAGE)})}" if offset else ""
    return show(
        request,
        "timeline.html",
        days=days,
        older=older,
        newer=newer,
        kind=kind,
        project=project,
        kinds=desk.kinds(),
        projects=desk.projects(),
    )
