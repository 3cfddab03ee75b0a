"""The graph of links, as a drawing and as a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from muisti.model import Link, LinkType, Memory
from muisti.recall.filters import ALL
from muisti.surfaces.web.page_context import Context, PageContext
from muisti.surfaces.web.render import PageRoute, hue_class, memory_url, render
from muisti.surfaces.web.titles import complete_title

router = APIRouter(route_class=PageRoute)
MAX_NODES = 300
"""A larger drawing is not readable."""
MAX_READ = 20_000
"""Links are read from this many of the newest memories."""
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class GraphParams:
    """Which part of the graph is shown. An empty filter matches everything."""

    around: str = ""
    depth: int = 2
    kind: str = ""
    project: str = ""

    def address(self, path: str) -> str:
        """Return a path with these parameters, without those that are empty."""
        given = {
            "around": self.around,
            "depth": str(self.depth) if self.around else "",
            "kind": self.kind,
            "project": self.project,
        }
        query = urlencode({name: value for name, value in given.items() if value})
        return f"{path}?{query}" if query else path

    def matches(self, memory: Memory) -> bool:
        """Return whether the filters match a memory."""
        return self.kind in ("", memory.kind) and self.project in ("", memory.project)


@dataclass(frozen=True, slots=True)
class GraphView:
    """The memories and links that are shown, and how many linked memories are not."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    omitted: int = 0

    def count_kinds(self) -> list[tuple[str, int]]:
        """Return the kinds of the memories, the most frequent first."""
        counts = Counter(one.kind for one in self.memories)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def link_types(self) -> list[str]:
        """Return the types of the links, in the order of the model."""
        found = {link.type for link in self.links}
        return [one.value for one in LinkType if one in found]


Params = Annotated[GraphParams, Depends()]


@router.get("/graph")
def show_graph(request: Request, context: Context, params: Params) -> Response:
    """Show all linked memories, or those around one memory."""
    view = _load_graph(context, params)
    by_id = {one.id: one for one in view.memories}
    return render(
        request,
        "graph.html",
        view=view,
        rows=[(by_id[link.source], link, by_id[link.target]) for link in view.links],
        centre=context.get_memory(params.around) if params.around else None,
        params=params,
        kinds=context.kinds(),
        projects=context.projects(),
        max_depth=MAX_DEPTH,
    )


@router.get("/graph/data")
def get_graph_data(context: Context, params: Params) -> Response:
    """Return the same graph as JSON for the drawing."""
    view = _load_graph(context, params)
    degrees = _count_links(view.links)
    nodes = [
        {
            "id": memory.id,
            "label": complete_title(memory),
            "kind": memory.kind,
            "hue": hue_class(memory.kind),
            "project": memory.project,
            "href": memory_url(memory),
            "links": degrees[memory.id],
            "centre": memory.id == params.around,
            "matches": params.matches(memory),
        }
        for memory in view.memories
    ]
    edges = [
        {
            "source": link.source,
            "target": link.target,
            "type": link.type.value,
            "label": link.type.value.lower().replace("_", " "),
            "proposed": link.proposed,
        }
        for link in view.links
    ]
    return JSONResponse({"nodes": nodes, "edges": edges})


def _load_graph(context: PageContext, params: GraphParams) -> GraphView:
    if params.around:
        graph = context.memory.graph(params.around, depth=max(1, min(params.depth, MAX_DEPTH)))
        memories, links = graph.memories, graph.links
    else:
        memories = tuple(context.memory.list(limit=MAX_READ, project=ALL, user=ALL))
        linking = [one.id for one in memories if one.links or one.wikilinks]
        links = tuple(context.memory.find_links(linking))
    if params.kind or params.project:
        matching = {one.id for one in memories if params.matches(one)}
        links = tuple(one for one in links if one.source in matching or one.target in matching)
    return select_most_linked(memories, links)


def _count_links(links: Sequence[Link]) -> Counter[str]:
    return Counter(end for link in links for end in (link.source, link.target))


def select_most_linked(memories: Sequence[Memory], links: Sequence[Link]) -> GraphView:
    """Return the memories with the most links, and the links among them. Pure."""
    by_id = {one.id: one for one in memories}
    links = [link for link in links if link.source in by_id and link.target in by_id]
    degrees = _count_links(links)
    shown = {memory_id for memory_id, _ in degrees.most_common(MAX_NODES)}
    omitted = len(degrees) - len(shown)
    if not shown and len(memories) == 1:
        shown = {memories[0].id}  # the centre of a graph without links
    return GraphView(
        tuple(one for one in by_id.values() if one.id in shown),
        tuple(link for link in links if link.source in shown and link.target in shown),
        omitted,
    )
