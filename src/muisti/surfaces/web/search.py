"""The first page: search as you type."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response

from muisti.engine import Muisti
from muisti.model import EntryType, SearchResult, SearchResults
from muisti.recall.filters import ALL_PROJECTS, FilterOptions
from muisti.surfaces.web.page_context import At
from muisti.surfaces.web.render import PageRoute, is_fragment, show

router = APIRouter(route_class=PageRoute)
STEPS = (20, 50, 100)
"""How many results there are at first, and after asking for more."""
SOURCES = tuple(origin.value for origin in EntryType)


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody looks for. Empty fields do not narrow."""

    q: str = ""
    kind: str = ""
    project: str = ""
    source: str = ""
    n: int = STEPS[0]

    @property
    def options(self) -> FilterOptions:
        """What narrows, as the engine takes it."""
        narrowed: FilterOptions = {"project": self.project or ALL_PROJECTS}
        if self.kind:
            narrowed["kind"] = self.kind
        if self.source:
            narrowed["source"] = self.source
        return narrowed

    @property
    def address(self) -> str:
        """The address of this question, without what is not asked."""
        default = {"n": STEPS[0]}
        given = {
            name: value
            for name in self.__slots__
            if (value := getattr(self, name)) and value != default.get(name)
        }
        return f"/?{urlencode(given)}" if given else "/"

    def more(self) -> str:
        """The address with more results; empty if there are not more to be had."""
        step = next((step for step in STEPS if step > self.n), 0)
        return Question(self.q, self.kind, self.project, self.source, step).address if step else ""


@router.get("/")
def search(request: Request, desk: At, asked: Annotated[Question, Depends()]) -> Response:
    """Results for a question, or the latest memories."""
    start = time.perf_counter()
    found = looked_up(desk.memory, asked) if asked.q.strip() else latest(desk.memory, asked)
    values: dict[str, Any] = {
        "asked": asked,
        "found": found,
        "took": (time.perf_counter() - start) * 1000,
    }
    if is_fragment(request) and asked.q.strip():
        return _replacing(
            show(request, "parts/results.html", total=None, **values), asked
        )  # to count takes longer than to search
    stats = desk.memory.get_stats()
    values["total"] = stats.total_count
    if is_fragment(request):
        return _replacing(show(request, "parts/results.html", **values), asked)
    projects = sorted(name for name in stats.by_project if name)
    return show(
        request, "search.html", kinds=desk.kinds(), projects=projects, sources=SOURCES, **values
    )


def _replacing(response: Response, asked: Question) -> Response:
    """The address of the page is that of the question, so that it can be kept and sent."""
    response.headers["HX-Replace-Url"] = asked.address
    return response


def looked_up(memory: Muisti, asked: Question) -> SearchResults:
    """What answers a question. Somebody who types is not recalling: to note it as use would make memories stronger."""
    return memory.search(
        asked.q[:2000], limit=max(1, min(asked.n, STEPS[-1])), record=False, **asked.options
    )


def latest(memory: Muisti, asked: Question) -> SearchResults:
    """The newest memories, where nothing is asked. Only searches see messages and documents."""
    if asked.source not in ("", EntryType.MEMORY):
        return SearchResults()
    options: FilterOptions = {"project": asked.project or ALL_PROJECTS}
    if asked.kind:
        options["kind"] = asked.kind
    found = memory.list(limit=max(1, min(asked.n, STEPS[-1])), **options)
    return SearchResults([SearchResult(one, 0.0, 1.0, one.content[:400]) for one in found])


@router.get("/pulse")
def pulse(desk: At) -> Response:
    """Something that is another once the vault has changed: open pages ask for it, and then for what they show."""
    return Response(str(desk.changes()) if desk.changes else "", media_type="text/plain")
