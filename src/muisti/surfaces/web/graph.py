"""The graph of links, as a picture and as a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muisti.model import Link, Memory
from muisti.recall.filters import ALL_PROJECTS
from muisti.surfaces.web.page_context import At, PageContext
from muisti.surfaces.web.render import PageRoute, href, hue, show

router = APIRouter(route_class=PageRoute)
MOST = 300
"""Memories in one picture; more is no picture."""
READ = 20_000
"""Of so many of the newest memories the links are looked at."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is in the picture."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    left_out: int = 0


@router.get("/graph")
def graph(request: Request, desk: At, around: str = "", depth: int = 2) -> Response:
    """Everything that is linked, or what is around one memory."""
    drawn = _drawn(desk, around, depth)
    centre = desk.existing(around) if around else None
    names = {one.id: one for one in drawn.memories}
    rows = [(names[one.source], one, names[one.target]) for one in drawn.links]
    return show(
        request, "graph.html", drawn=drawn, rows=rows, centre=centre, around=around, depth=depth
    )


@router.get("/graph/data")
def data(desk: At, around: str = "", depth: int = 2) -> Response:
    """The same for the program that draws it."""
    drawn = _drawn(desk, around, depth)
    nodes = [
        {
            "id": one.id,
            "label": one.title[:60],
            "kind": one.kind,
            "hue": hue(one.kind),
            "href": href(one),
            "here": one.id == around,
        }
        for one in drawn.memories
    ]
    edges = [
        {
            "source": one.source,
            "target": one.target,
            "label": one.type.value.lower().replace("_", " "),
            "proposed": one.proposed,
        }
        for one in drawn.links
    ]
    return JSONResponse({"nodes": nodes, "edges": edges})


def _drawn(desk: PageContext, around: str, depth: int) -> Drawn:
    if around:
        found = desk.memory.graph(around, depth=max(1, min(depth, 4)))
        return busiest(found.memories, found.links)
    memories = desk.memory.list(limit=READ, project=ALL_PROJECTS)
    return busiest(memories, [link for one in memories for link in one.links])


def busiest(memories: Sequence[Memory], links: Sequence[Link]) -> Drawn:
    """The memories with the most links, and the links among them."""
    alive = {one.id: one for one in memories}
    whole = [link for link in links if link.source in alive and link.target in alive]
    degree = Counter(end for link in whole for end in (link.source, link.target))
    chosen = {id_ for id_, _ in degree.most_common(MOST)} or {
        one.id for one in memories[:1] if len(memories) == 1
    }
    among = tuple(link for link in whole if link.source in chosen and link.target in chosen)
    return Drawn(
        tuple(one for id_, one in alive.items() if id_ in chosen),
        among,
        len(degree) - len(chosen & set(degree)),
    )
