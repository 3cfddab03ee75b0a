"""All pages as one router, which a server includes."""

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
    search,
    static,
    stats,
    timeline,
    trash,
    versions,
)
from muisti.surfaces.web import (
    memory as memory_pages,
)
from muisti.surfaces.web.jobs import Jobs
from muisti.surfaces.web.page_context import PageContext


def pages(memory: Muisti, *, changes: Callable[[], int | str] | None = None) -> APIRouter:
    """The pages of one vault, with their static files.

    `changes` answers something that is another whenever the vault changed; open pages then show what is new by themselves.
    """
    desk = PageContext(memory, Jobs(memory), changes)

    async def sit_down(request: Request) -> None:
        request.state.desk = desk
        memory.check_available()

    router = APIRouter(include_in_schema=False)
    router.include_router(static.router)
    for module in (
        search,
        memory_pages,
        versions,
        edit,
        links,
        timeline,
        graph,
        stats,
        conversations,
        core,
        trash,
        health,
        not_found,
    ):
        router.include_router(module.router, dependencies=[Depends(sit_down)])
    return router
