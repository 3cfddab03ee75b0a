"""Long lists in pages, each with an address of its own."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

FARTHEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Turning:
    """Where the page before and the page after are; empty where there is none."""

    before: str = ""
    after: str = ""


def turning(path: str, offset: int, size: int, *, more: bool, **query: str) -> Turning:
    """The addresses around one page of a list. Pure."""

    def at(place: int) -> str:
        asked = {name: value for name, value in query.items() if value} | (
            {"offset": str(place)} if place else {}
        )
        return f"{path}?{urlencode(asked)}" if asked else path

    return Turning(
        at(max(0, offset - size)) if offset > 0 else "", at(offset + size) if more else ""
    )


def placed(offset: int) -> int:
    """An offset that a list can have."""
    return max(0, min(offset, FARTHEST))
