"""How use and time change a memory's strength: pure rules over the journal's events (contract B3, C5, G1, G2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from muisti.model import RATES, Event, Memory, Sector, Usage

FLOOR = 0.05
REINFORCE = 0.1
DEEMPHASIZE = 0.2
RESTORED = 0.5
"""How strong a memory is at least that upkeep put away and somebody wanted back."""
MAX_COUNT = 1 << 53
"""Larger whole numbers are not the same in every program, and far larger ones fit into no database."""
IDLE_DAYS = 7.0
"""How long a memory of a kind with a decay of its own may lie before it begins to fade."""
PROTECTION, MOST_PROTECTION = 0.02, 0.1
"""What having been used gives back: grows with the logarithm of the uses, up to the most."""
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All that a memory's strength depends on, beside the present moment."""

    salience: float
    """At the time when it was last weighed: saved, reinforced, de-emphasised or imported."""
    weighed_at: datetime
    used_at: datetime | None = None
    idle_days: float = 0.0
    """Days that it had already lain idle too long, before it was last used."""
    first_used: datetime | None = None
    """Of one that was never weighed since its file was made: until then it lay idle."""
    access_count: int = 0
    importance: float = 0.5
    rate: float = RATES[Sector.SEMANTIC]
    """The sector's."""
    decay_per_day: float | None = None
    """The kind's, which then counts instead of the sector's."""


def traced(memory: Memory, usage: Usage, decay_per_day: float | None) -> Trace:
    """A memory as its file has it, with what the journal says of it. Decay per day: its kind's."""
    return Trace(
        salience=memory.salience if usage.salience is None else usage.salience,
        weighed_at=usage.touched_at or memory.created_at,
        used_at=usage.last_accessed,
        idle_days=usage.idle_days,
        first_used=usage.first_used,
        access_count=usage.access_count,
        importance=memory.importance,
        rate=RATES[memory.sector],
        decay_per_day=decay_per_day,
    )


def strength(trace: Trace, now: datetime) -> float:
    """A memory's salience now. The same however often, and whenever, it was asked for before.

    Time alone never makes it stronger, and a clock that stands before the last weighing counts as no time at all.
    """
    if trace.decay_per_day is None:
        faded = math.exp(-trace.rate / (trace.importance + 0.1) * days(trace.weighed_at, now))
    else:
        used = trace.weighed_at if trace.used_at is None else max(trace.weighed_at, trace.used_at)
        before = max(0.0, days(trace.weighed_at, trace.first_used) - IDLE_DAYS) if trace.first_used else 0.0
        faded = math.pow(trace.decay_per_day, before + trace.idle_days + max(0.0, days(used, now) - IDLE_DAYS))
    protection = min(MOST_PROTECTION, PROTECTION * math.log1p(trace.access_count))
    return max(min(FLOOR, trace.salience), min(trace.salience, trace.salience * faded + protection))


def days(since: datetime, now: datetime) -> float:
    """Whole hours between two moments, in days; none if the clock went back."""
    return max(0, (now - since) // _HOUR) / 24


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
        return _used(usage, event.at)
    if event.name in ("reinforced", "merged"):
        return _accessed(_weighed(usage, event), event.at)
    if event.name == "restored" and event.data.get("from") in ("cleanup", "archive"):
        return _used(_weighed(usage, event), event.at)
    if event.name == "deemphasized":
        return _weighed(usage, event)
    if event.name == "saved":
        return replace(usage, touched_at=_later(usage.touched_at, event.at), first_used=None, saved_at=usage.saved_at or event.at)
    if event.name == "edited":
        return replace(usage, edited_at=_later(usage.edited_at, event.at))
    if event.name == "imported":
        return replace(_weighed(usage, event), access_count=counted(event.data.get("access_count"), usage.access_count))
    return usage


def counted(value: object, otherwise: int = 0) -> int:
    """A count as the journal or another program has it, if it can be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT else otherwise


def _accessed(usage: Usage, at: datetime) -> Usage:
    return replace(_used(usage, at), access_count=usage.access_count + 1)


def _used(usage: Usage, at: datetime) -> Usage:
    """Use ends a time of lying idle. What it cost is kept: using a memory stops its fading, it does not undo it."""
    before = max((moment for moment in (usage.touched_at, usage.last_accessed) if moment is not None), default=at)
    idle = max(0.0, days(before, at) - IDLE_DAYS)
    first = usage.first_used or (at if usage.touched_at is None else None)
    return replace(usage, last_accessed=_later(usage.last_accessed, at), idle_days=usage.idle_days + idle, first_used=first)


def _weighed(usage: Usage, event: Event) -> Usage:
    salience = event.data.get("salience")
    if isinstance(salience, bool) or not isinstance(salience, int | float) or not 0 <= salience <= 1:
        return usage
    return replace(usage, salience=float(salience), touched_at=_later(usage.touched_at, event.at), idle_days=0.0, first_used=None)


def _later(known: datetime | None, at: datetime) -> datetime:
    """A clock that steps back does not take time back."""
    return at if known is None else max(known, at)
