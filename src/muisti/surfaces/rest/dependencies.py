"""What every route needs: the open vault, and IDs from the path."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from muisti.engine import Muisti


async def get_memory(request: Request) -> Muisti:
    """Return the open vault. Raises VaultNotFound if its folder is gone."""
    memory: Muisti = request.app.state.memory
    memory.check_available()
    return memory


MemoryDep = Annotated[Muisti, Depends(get_memory)]
Id = Annotated[str, Path(min_length=1, max_length=200)]
