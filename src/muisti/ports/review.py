"""Reads what waits for a person: unconfirmed memories and suggested links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from muisti.model import Filter, Link

ReviewOrder = Literal["created_at", "importance"]


class Unconfirmed(NamedTuple):
    """An unconfirmed memory, or a suggested link and the memory that it begins at."""

    memory_id: str
    link: Link | None


class ReviewReader(Protocol):
    """Finds unconfirmed memories and suggested links.

    Memories that a confirmed link supersedes are left out, and so are the links from and to them.
    """

    def unconfirmed(
        self, where: Filter, target: Filter, *, order: ReviewOrder, limit: int | None, offset: int
    ) -> list[Unconfirmed]:
        """Return one page of the queue: the latest, or the most important, first.

        `where` selects memories and, for a link, its source; `target` the other end of a link.
        The links of a memory follow it.
        """
        ...

    def count_unconfirmed(self, where: Filter, target: Filter) -> tuple[int, int]:
        """Return how many memories and how many links are in the queue."""
        ...
