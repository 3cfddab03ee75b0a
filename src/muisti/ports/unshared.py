"""Parts of stores whose processes do not divide their work. A search loads this: it is small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.ports.vectors import Space


class UnsharedQueue:
    """The part of ExtractionQueue for stores whose processes keep what they accepted."""

    is_shared = False

    def postpone(self, exchange_id: str, error: str, pause: float, *, counts: bool) -> bool:
        """Return False: the process keeps it."""
        return False

    def count_accepted(self) -> int:
        """Return 0: the process knows what it accepted."""
        return 0


class UnsharedWork:
    """BackgroundWork for stores whose processes agree on nothing: maintenance is always due."""

    def begin_maintenance(self, every: float) -> bool:
        """Return True."""
        return True

    def end_maintenance(self, *, complete: bool) -> None:
        """Do nothing."""

    def retry(self) -> int:
        """Return 0: nothing is given up."""
        return 0


class UnclaimedVectors(Protocol):
    """The part of VectorIndex for stores in which texts are not claimed."""

    def find_missing(self, space: Space, limit: int) -> list[str]:
        """Return the IDs of texts without vectors in this space, oldest row first."""
        ...

    def claim_missing(
        self, space: Space, limit: int, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Return these texts, or those without vectors."""
        return self.find_missing(space, limit) if ids is None else list(ids[:limit])

    def count_claimed(self, space: Space) -> int:
        """Return 0: nothing is claimed."""
        return 0

    def release(self, space: Space, ids: Sequence[str]) -> None:
        """Do nothing."""
        return

    def postpone(self, space: Space, ids: Sequence[str], error: str, pause: float) -> None:
        """Do nothing: they are tried again with all others."""
        return
