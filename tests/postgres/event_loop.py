"""What waits for the database must not run on the thread that serves all requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


def record_calls(patch: pytest.MonkeyPatch, owner: type, name: str) -> list[bool]:
    """Return a list that gets, for each call of a method, whether it ran on an event loop."""
    found: list[bool] = []
    original = getattr(owner, name)

    def call(self: object, *args: Any) -> Any:
        try:
            asyncio.get_running_loop()
            found.append(True)
        except RuntimeError:
            found.append(False)
        return original(self, *args)

    patch.setattr(owner, name, call)
    return found
