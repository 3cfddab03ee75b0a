"""What waits for a person: unconfirmed memories and suggested links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muisti.model.memory import Link, Memory


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An unconfirmed memory, or a suggested link and the two memories that it connects."""

    memory: Memory
    """The unconfirmed memory; for a link, the one that it begins at."""
    link: Link | None = None
    target: Memory | None = None
    """The memory that the link points to."""


@dataclass(frozen=True, slots=True)
class ReviewCount:
    """How many items are in the review queue."""

    memories: int
    links: int

    @property
    def total(self) -> int:
        """The number of items."""
        return self.memories + self.links
