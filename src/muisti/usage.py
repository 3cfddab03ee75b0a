"""How use changes a memory's strength: pure rules over the journal's events (contract B3, C5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from muisti.model import Event, Usage

FLOOR = 0.05
REINFORCE = 0.1
DEEMPHASIZE = 0.2
MAX_COUNT = 1 << 53
"""Larger whole numbers are not the same in every program, and far larger ones fit into no database."""


def reinforced(salience: float, amount: float) -> float:
    """Stronger, with diminishing returns: never above 1."""
    return min(1.0, salience + amount * (1.0 - salience))


def deemphasized(salience: float, amount: float) -> float:
    """Weaker, but never below the floor."""
    return max(FLOOR, salience - amount)


def folded(usage: Usage, event: Event) -> Usage:
    """What an event makes of a memory's usage. Events that say nothing of it leave it as it is."""
    if event.name == "recalled":
        return _accessed(usage, event.at)
    if event.name == "touched":
        return replace(usage, last_accessed=_later(usage.last_accessed, event.at))
    if event.name == "reinforced":
        return _accessed(_weighed(usage, event), event.at)
    if event.name == "deemphasized":
        return _weighed(usage, event)
    if event.name == "edited":
        return replace(usage, edited_at=_later(usage.edited_at, event.at))
    if event.name == "imported":
        return replace(_weighed(usage, event), access_count=counted(event.data.get("access_count"), usage.access_count))
    return usage


def counted(value: object, otherwise: int = 0) -> int:
    """A count as the journal or another program has it, if it can be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT else otherwise


def _accessed(usage: Usage, at: datetime) -> Usage:
    return replace(usage, access_count=usage.access_count + 1, last_accessed=_later(usage.last_accessed, at))


def _weighed(usage: Usage, event: Event) -> Usage:
    salience = event.data.get("salience")
    if isinstance(salience, bool) or not isinstance(salience, int | float) or not 0 <= salience <= 1:
        return usage
    return replace(usage, salience=float(salience), touched_at=_later(usage.touched_at, event.at))


def _later(known: datetime | None, at: datetime) -> datetime:
    """A clock that steps back does not take time back."""
    return at if known is None else max(known, at)
