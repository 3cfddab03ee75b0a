"""The graph of links, as a drawing and as a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muisti.model import Link, Memory
from muisti.recall.filters import ALL
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, hue_class, memory_url, render

router = APIRouter(route_class=PageRoute)
MAX_NODES = 300
"""A larger drawing is not readable."""
MAX_READ = 20_000
"""Links are read from this many of the newest memories."""
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class GraphView:
    """The memories and links that are shown, and how many linked memories are not."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    omitted: int = 0


@router.get("/graph")
def show_graph(request: Request, context: Context, around: str = "", depth: int = 2) -> Response:
    """Show all linked memories, or those around one memory."""
    view = _load_graph(context, around, depth)
    by_id = {one.id: one for one in view.memories}
    return render(
        request,
        "graph.html",
        view=view,
        rows=[(by_id[link.source], link, by_id[link.target]) for link in view.links],
        centre=context.get_memory(around) if around else None,
        around=around,
        depth=depth,
        max_depth=MAX_DEPTH,
    )


@router.get("/graph/data")
def get_graph_data(context: Context, around: str = "", depth: int = 2) -> Response:
    """Return the same graph as JSON for the drawing."""
    view = _load_graph(context, around, depth)
    nodes = [
        {
            "id": memory.id,
            "label": memory.title[:60],
            "kind": memory.kind,
            "hue": hue_class(memory.kind),
            "href": memory_url(memory),
            "centre": memory.id == around,
        }
        for memory in view.memories
    ]
    edges = [
        {
            "source": link.source,
            "target": link.target,
            "label": link.type.value.lower().replace("_", " "),
            "proposed": link.proposed,
        }
        for link in view.links
    ]
    return JSONResponse({"nodes": nodes, "edges": edges})


def _load_graph(context: PageContext, around: str, depth: int) -> GraphView:
    if around:
        graph = context.memory.graph(around, depth=max(1, min(depth, MAX_DEPTH)))
        return select_most_linked(graph.memories, graph.links)
    memories = context.memory.list(limit=MAX_READ, project=ALL, user=ALL)
    return select_most_linked(memories, [link for one in memories for link in one.links])


def select_most_linked(memories: Sequence[Memory], links: Sequence[Link]) -> GraphView:
    """Return the memories with the most links, and the links among them. Pure."""
    by_id = {one.id: one for one in memories}
    links = [link for link in links if link.source in by_id and link.target in by_id]
    degrees = Counter(end for link in links for end in (link.source, link.target))
    shown = {memory_id for memory_id, _ in degrees.most_common(MAX_NODES)}
    omitted = len(degrees) - len(shown)
    if not shown and len(memories) == 1:
        shown = {memories[0].id}  # the centre of a graph without links
    return GraphView(
        tuple(one for one in by_id.values() if one.id in shown),
        tuple(link for link in links if link.source in shown and link.target in shown),
        omitted,
    )
