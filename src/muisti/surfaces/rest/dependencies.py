"""What every route needs: the memory, and its vault in place."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from muisti.engine import Muisti


async def _memory(request: Request) -> Muisti:
    memory: Muisti = request.app.state.memory
    memory.check_available()
    return memory


MemoryDep = Annotated[Muisti, Depends(_memory)]
Id = Annotated[str, Path(min_length=1, max_length=200)]
