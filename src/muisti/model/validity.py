"""When a memory is valid (contract H4).

A memory starts at its `valid_from`, or when it was created. It ends at its `valid_until`, or when a
memory that replaced it starts. The index computes that end whenever a memory is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from muisti.model.memory import Link, Memory


class HasEnd(Protocol):
    """A memory, or a candidate of a search."""

    @property
    def valid_until(self) -> datetime | None:
        """The end of its validity."""
        ...


def is_outdated(memory: HasEnd, at: datetime) -> bool:
    """Return whether a memory that was read from the index is superseded or expired."""
    return memory.valid_until is not None and memory.valid_until <= at


def get_start(memory: Memory) -> datetime:
    """Return when a memory becomes valid."""
    return memory.valid_from or memory.created_at


def compute_link_end(old: Memory, link: Link) -> datetime:
    """Return the end that a SUPERSEDES link sets in the file of the memory that it replaces.

    It is not before that memory's `valid_from`.
    """
    end = link.valid_from or link.created_at
    return max(end, old.valid_from or end)


def is_end_of_link(old: Memory, link: Link) -> bool:
    """Return whether a SUPERSEDES link set the end in the file of the memory that it replaces."""
    ends = link.valid_from or link.created_at, compute_link_end(old, link)
    return old.valid_until in ends
