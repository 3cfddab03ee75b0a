"""What every route needs: the open vault, and IDs from the path."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from muisti.engine import Muisti
from muisti.surfaces.access import CALLER
from muisti.surfaces.rest.events import EventBroadcaster
from muisti.surfaces.rest.reindexing import ReindexJob


async def get_memory(request: Request) -> Muisti:
    """Return the open vault of this request. Raises VaultNotFound if its folder is gone."""
    caller = CALLER.get()
    memory: Muisti = request.app.state.memory if caller is None else caller.memory
    memory.check_available()
    return memory


def get_events(request: Request) -> EventBroadcaster:
    """Return the event streams of the request's vault."""
    tenants = request.app.state.tenants
    found: EventBroadcaster = request.app.state.events if tenants is None else tenants.get().events
    return found


def get_reindexing(request: Request) -> ReindexJob:
    """Return the job that rebuilds the index of the request's vault."""
    tenants = request.app.state.tenants
    found: ReindexJob = (
        request.app.state.reindexing if tenants is None else tenants.get().reindexing
    )
    return found


MemoryDep = Annotated[Muisti, Depends(get_memory)]
Id = Annotated[str, Path(min_length=1, max_length=200)]
