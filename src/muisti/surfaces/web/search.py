"""The search page: results as you type."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response

from muisti.engine import Muisti
from muisti.model import EntryType, SearchResult, SearchResults
from muisti.recall.filters import ALL, FilterOptions
from muisti.surfaces.web.page_context import Context
from muisti.surfaces.web.render import PageRoute, is_fragment, render

router = APIRouter(route_class=PageRoute)
LIMITS = (20, 50, 100)
"""How many results are shown at first, and after each "Show more"."""
STANDING = "standing instructions"
"""The name of the group in the filter and the address."""
SOURCES = tuple(entry_type.value for entry_type in EntryType)


@dataclass(frozen=True, slots=True)
class SearchParams:
    """The query and filters of a search. An empty filter matches everything."""

    q: str = ""
    kind: str = ""
    project: str = ""
    source: str = ""
    only: str = ""
    n: int = LIMITS[0]

    @property
    def limit(self) -> int:
        """How many results to return."""
        return max(1, min(self.n, LIMITS[-1]))

    @property
    def filters(self) -> FilterOptions:
        """The filters as the engine takes them."""
        filters: FilterOptions = {"project": self.project or ALL, "user": ALL}
        if self.kind:
            filters["kind"] = self.kind
        if self.only == STANDING:
            filters["standing"] = True
        if self.source:
            filters["source"] = self.source
        return filters

    @property
    def address(self) -> str:
        """The address of this search, without parameters that have their default."""
        default = SearchParams()
        given = {
            name: getattr(self, name)
            for name in self.__slots__
            if getattr(self, name) not in ("", 0, getattr(default, name))
        }
        return f"/?{urlencode(given)}" if given else "/"

    def more(self) -> str:
        """Return the address with more results, or nothing at the highest limit."""
        step = next((step for step in LIMITS if step > self.n), 0)
        return replace(self, n=step).address if step else ""


@router.get("/")
def show_search(
    request: Request, context: Context, params: Annotated[SearchParams, Depends()]
) -> Response:
    """Show the results of a search, or the latest memories."""
    start = time.perf_counter()
    has_query = bool(params.q.strip())
    results = (run_search if has_query else list_latest)(context.memory, params)
    values: dict[str, Any] = {
        "params": params,
        "results": results,
        "outdated": context.memory.find_outdated([result.memory.id for result in results]),
        "milliseconds": (time.perf_counter() - start) * 1000,
    }
    if is_fragment(request):
        # Counting takes longer than searching, and only the list without a query shows the total.
        total = None if has_query else context.memory.get_stats().total_count
        response = render(request, "parts/results.html", total=total, **values)
        response.headers["HX-Replace-Url"] = params.address  # can be bookmarked and shared
        return response
    stats = context.memory.get_stats()
    return render(
        request,
        "search.html",
        total=stats.total_count,
        kinds=context.kinds(),
        projects=sorted(name for name in stats.by_project if name),
        sources=SOURCES,
        groups=(STANDING,),
        **values,
    )


def run_search(memory: Muisti, params: SearchParams) -> SearchResults:
    """Search without recording it as a recall, which would reinforce what is found."""
    return memory.search(params.q[:2000], limit=params.limit, record=False, **params.filters)


def list_latest(memory: Muisti, params: SearchParams) -> SearchResults:
    """Return the newest memories as results. Messages and documents need a query."""
    if params.source not in ("", EntryType.MEMORY):
        return SearchResults()
    found = memory.list(limit=params.limit, **replace(params, source="").filters)
    return SearchResults([SearchResult(one, 0.0, None, one.content[:400]) for one in found])


@router.get("/revision")
@router.get("/pulse")
def get_revision(context: Context) -> Response:
    """Return a value that changes with the vault. `/pulse` is its address in earlier versions."""
    revision = str(context.get_revision()) if context.get_revision else ""
    return Response(revision, media_type="text/plain")
