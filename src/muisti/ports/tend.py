"""What keeps the memories in order: who is alike, how much there is, what has faded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from muisti.model import Memory, Stats


class Twins(Protocol):
    """Finds memories that say what a new one says, where the new one would be seen."""

    def twin(self, memory: Memory) -> Memory | None:
        """The memory that says exactly this."""
        ...

    def alike(self, memory: Memory, limit: int) -> list[Memory]:
        """Those that may say nearly this: they share its fingerprint but for a few bits, or its rarest words."""
        ...


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one memory takes up."""

    memory_id: str
    size: int
    """Bytes of its file and of its vectors."""


class Census(Protocol):
    """Counts and weighs memories."""

    def stats(self) -> Stats:
        """The vault in numbers."""
        ...

    def faded(self, least: float) -> int:
        """How many have lost at least so much since fading was last noted."""
        ...

    def live_bytes(self) -> int:
        """What all memories take up that are not deleted."""
        ...

    def longest_unused(self, protected: Sequence[str], among: Sequence[str] | None = None) -> list[Footprint]:
        """Memories that may be archived, the longest unused first: not pinned, of no active session, of no protected kind.

        Among: look at these only.
        """
        ...

    def weakest(self, below: float, protected: Sequence[str], among: Sequence[str] | None = None) -> list[str]:
        """Ids of memories with a lower salience that may be cleaned up, the weakest first."""
        ...
