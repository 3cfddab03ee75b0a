"""The engine: `Muisti`. Hooks import only `engine.search`, to start quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.engine.facade import Muisti

__all__ = ["Muisti"]


def __getattr__(name: str) -> object:
    """Import the whole engine on first use."""
    if name != "Muisti":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from muisti.engine.facade import Muisti

    return Muisti
