"""All pages as one router, which a server includes."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Depends, Request

from muisti.engine import Muisti
from muisti.surfaces.web import (
    attic,
    change,
    chats,
    core,
    graph,
    health,
    links,
    nowhere,
    numbers,
    read,
    search,
    static,
    timeline,
    versions,
)
from muisti.surfaces.web.desk import Desk
from muisti.surfaces.web.work import Work


def pages(memory: Muisti, *, changes: Callable[[], int | str] | None = None) -> APIRouter:
    """The pages of one vault, with their static files.

    `changes` answers something that is another whenever the vault changed; open pages then show what is new by themselves.
    """
    desk = Desk(memory, Work(memory), changes)

    async def sit_down(request: Request) -> None:
        request.state.desk = desk
        memory.check_available()

    router = APIRouter(include_in_schema=False)
    router.include_router(static.router)
    for module in (
        search,
        read,
        versions,
        change,
        links,
        timeline,
        graph,
        numbers,
        chats,
        core,
        attic,
        health,
        nowhere,
    ):
        router.include_router(module.router, dependencies=[Depends(sit_down)])
    return router
