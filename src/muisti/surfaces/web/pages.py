"""All pages as one router, for a server to include."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Depends, Request

from muisti.engine import Muisti
from muisti.surfaces.web import (
    conversations,
    core,
    edit,
    graph,
    health,
    links,
    not_found,
    old_addresses,
    review,
    search,
    sessions,
    static,
    stats,
    timeline,
    trash,
    versions,
)
from muisti.surfaces.web import (
    memory as memory_pages,
)
from muisti.surfaces.web.jobs import ReindexJob
from muisti.surfaces.web.page_context import PageContext
from muisti.surfaces.web.review_counter import ReviewCounter


def create_router(
    memory: Muisti | None = None,
    *,
    get_revision: Callable[[], int | str] | None = None,
    find_context: Callable[[], PageContext] | None = None,
) -> APIRouter:
    """Return the pages of one vault, with their static files.

    `find_context` returns that of the current request, if the pages are those of several vaults.

    `get_revision` returns a value that changes whenever the vault does. Open pages poll it and
    reload what they show. Without it they do not refresh.
    """
    if find_context is None:
        assert memory is not None
        only = PageContext(memory, ReindexJob(memory), ReviewCounter(memory), get_revision)

    async def attach_context(request: Request) -> None:
        context = only if find_context is None else find_context()
        request.state.page_context = context
        if request.method == "POST":
            context.review_counter.forget()
        context.memory.check_available()

    router = APIRouter(include_in_schema=False)
    router.include_router(static.router)
    for module in (
        search,
        memory_pages,
        versions,
        edit,
        links,
        review,
        timeline,
        graph,
        stats,
        sessions,
        conversations,
        core,
        trash,
        health,
        old_addresses,
        not_found,  # last: it matches every path
    ):
        router.include_router(module.router, dependencies=[Depends(attach_context)])
    return router
