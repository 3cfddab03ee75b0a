"""The engine: `Muisti`, the whole product as one object. A hook imports only the part that searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.engine.facade import Muisti

__all__ = ["Muisti"]


def __getattr__(name: str) -> object:
    """Load the whole engine when it is asked for."""
    if name != "Muisti":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from muisti.engine.facade import Muisti

    return Muisti
