"""Long lists in pages, each with its own address."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

MAX_OFFSET = 10_000_000


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The addresses of the previous and the next page; empty where there is none."""

    previous: str = ""
    next: str = ""


def link_pages(path: str, offset: int, size: int, *, more: bool, **query: str) -> PageLinks:
    """Return the links around one page of a list. Pure."""

    def address(offset: int) -> str:
        parameters = {name: value for name, value in query.items() if value}
        if offset:
            parameters["offset"] = str(offset)
        return f"{path}?{urlencode(parameters)}" if parameters else path

    return PageLinks(
        previous=address(max(0, offset - size)) if offset > 0 else "",
        next=address(offset + size) if more else "",
    )


def clamp_offset(offset: int) -> int:
    """Return the nearest offset that a list can have."""
    return max(0, min(offset, MAX_OFFSET))
