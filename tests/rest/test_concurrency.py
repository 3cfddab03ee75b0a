"""How many requests run at the same time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

from muisti import Muisti
from muisti.model.tenants import Access
from muisti.surfaces.access import CALLER, Caller
from muisti.surfaces.rest.concurrency import TENANT_WRITERS, limit_concurrency


async def call_as(tenant: int, function: Callable[[], Any]) -> object:
    memory = cast("Muisti", None)  # nothing here uses the vault
    CALLER.set(Caller(memory, Access(tenant, "", "", "write")))
    return await function()


def test_L3_the_slow_writes_of_a_tenant_leave_room_for_those_of_another() -> None:
    may_end = threading.Event()
    slow = limit_concurrency(lambda: may_end.wait(60), reads=False)
    quick = limit_concurrency(lambda: "done", reads=False)

    async def write() -> object:
        others = [asyncio.create_task(call_as(1, slow)) for _ in range(2 * TENANT_WRITERS)]
        mine = asyncio.create_task(call_as(2, quick))
        try:
            return await asyncio.wait_for(mine, 30)
        finally:
            may_end.set()
            await asyncio.gather(*others)

    assert asyncio.run(write()) == "done"
