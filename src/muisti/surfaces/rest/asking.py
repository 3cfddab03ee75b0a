"""What every route needs: the memory, and its vault in place."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from muisti.engine import Muisti
from muisti.errors import VaultNotFound
from muisti.settings import SETTINGS_FILE


def check_vault(memory: Muisti) -> None:
    """Raises VaultNotFound if the folder is gone: an empty answer, or a new folder in its place, would not tell."""
    if not (memory.root / SETTINGS_FILE).is_file():
        raise VaultNotFound(f"there is no vault at {memory.root} any more: mount it or bring it back; nothing is lost here")


async def _memory(request: Request) -> Muisti:
    memory: Muisti = request.app.state.memory
    check_vault(memory)
    return memory


Asking = Annotated[Muisti, Depends(_memory)]
Id = Annotated[str, Path(min_length=1, max_length=200)]
