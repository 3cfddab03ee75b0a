"""How use and time change a memory's strength: pure rules over the journal's events (contract B3, C5, G1, G2)."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from muisti.model import RATES, Event, EventName, Memory, Sector, Usage

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


def make_trace(memory: Memory, usage: Usage, decay_per_day: float | None) -> Trace:
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


T = TypeVar("T")


class Arithmetic(Protocol[T]):
    """What the formula of salience needs: numbers for one memory, or SQL for all of them."""

    def number(self, value: float) -> T:
        """Return a constant."""
        ...

    def add(self, a: T, b: T) -> T:
        """Return a + b."""
        ...

    def multiply(self, a: T, b: T) -> T:
        """Return a × b."""
        ...

    def divide(self, a: T, b: T) -> T:
        """Return a ÷ b."""
        ...

    def larger(self, a: T, b: T) -> T:
        """Return the larger of two."""
        ...

    def smaller(self, a: T, b: T) -> T:
        """Return the smaller of two."""
        ...

    def exp(self, a: T) -> T:
        """Return e to the power of a."""
        ...

    def log1p(self, a: T) -> T:
        """Return the natural logarithm of 1 + a."""
        ...

    def power(self, a: T, b: T) -> T:
        """Return a to the power of b."""
        ...


@dataclass(frozen=True, slots=True)
class Factors(Generic[T]):
    """What a memory's salience depends on, as numbers or as SQL. Times are spans in days, whole hours of them."""

    salience: T
    """At the time when it was last weighed."""
    importance: T
    rate: T
    """The sector's decay rate."""
    access_count: T
    since_weighed: T
    since_used: T
    """Since it was last weighed or used."""
    idle_before_use: T
    """From when it was weighed until it was first used; 0 if it never was."""
    idle_days: T


def salience_by_sector(ops: Arithmetic[T], factors: Factors[T]) -> T:
    """Return the salience of a memory whose sector decides how it decays: exp(-rate / (importance + 0.1) × days)."""
    scaled = ops.divide(factors.rate, ops.add(factors.importance, ops.number(0.1)))
    loss = ops.multiply(ops.multiply(scaled, ops.number(-1.0)), factors.since_weighed)
    return _bounded(ops, factors, ops.exp(loss))


def salience_by_kind(ops: Arithmetic[T], factors: Factors[T], decay_per_day: float) -> T:
    """Return the salience of a memory whose kind has a decay of its own, counted from when it lies idle too long."""
    if decay_per_day == 1:
        return _bounded(ops, factors, ops.number(1.0))
    zero, grace = ops.number(0.0), ops.number(-IDLE_DAYS)
    idle = ops.add(ops.larger(zero, ops.add(factors.idle_before_use, grace)), factors.idle_days)
    idle = ops.add(idle, ops.larger(zero, ops.add(factors.since_used, grace)))
    return _bounded(ops, factors, ops.power(ops.number(decay_per_day), idle))


def _bounded(ops: Arithmetic[T], factors: Factors[T], remaining: T) -> T:
    """Having been used gives something back; time alone never makes a memory stronger, nor erases it."""
    protection = ops.multiply(ops.number(PROTECTION), ops.log1p(factors.access_count))
    protection = ops.smaller(ops.number(MOST_PROTECTION), protection)
    decayed = ops.add(ops.multiply(factors.salience, remaining), protection)
    least = ops.smaller(ops.number(FLOOR), factors.salience)
    return ops.larger(least, ops.smaller(factors.salience, decayed))


class _Floats:
    """Plain numbers."""

    number = staticmethod(float)
    add = staticmethod(operator.add)
    multiply = staticmethod(operator.mul)
    divide = staticmethod(operator.truediv)
    larger = staticmethod(max)
    smaller = staticmethod(min)
    exp = staticmethod(math.exp)
    log1p = staticmethod(math.log1p)
    power = staticmethod(math.pow)


_FLOATS: Arithmetic[float] = _Floats()


def compute_salience(trace: Trace, now: datetime) -> float:
    """Return a memory's salience now. The same however often, and whenever, it was asked for before.

    A clock that stands before the last weighing counts as no time at all.
    """
    used = trace.weighed_at if trace.used_at is None else max(trace.weighed_at, trace.used_at)
    factors = Factors(
        salience=trace.salience,
        importance=trace.importance,
        rate=trace.rate,
        access_count=float(trace.access_count),
        since_weighed=count_days(trace.weighed_at, now),
        since_used=count_days(used, now),
        idle_before_use=count_days(trace.weighed_at, trace.first_used) if trace.first_used else 0.0,
        idle_days=trace.idle_days,
    )
    if trace.decay_per_day is None:
        return salience_by_sector(_FLOATS, factors)
    return salience_by_kind(_FLOATS, factors, trace.decay_per_day)


def count_days(since: datetime, now: datetime) -> float:
    """Whole hours between two moments, in days; none if the clock went back."""
    return max(0, (now - since) // _HOUR) / 24


def apply_reinforcement(salience: float, amount: float) -> float:
    """Stronger, with diminishing returns: never above 1."""
    return min(1.0, salience + amount * (1.0 - salience))


def apply_deemphasis(salience: float, amount: float) -> float:
    """Weaker, but never below the floor."""
    return max(FLOOR, salience - amount)


def fold_event(usage: Usage, event: Event) -> Usage:
    """What an event makes of a memory's usage. Events that say nothing of it leave it as it is."""
    if event.name == EventName.RECALLED:
        return _accessed(usage, event.at)
    if event.name == EventName.TOUCHED:
        return _used(usage, event.at)
    if event.name in (EventName.REINFORCED, EventName.MERGED):
        return _accessed(_weighed(usage, event), event.at)
    if event.name == EventName.RESTORED and event.data.get("from") in ("cleanup", "archive"):
        return _used(_weighed(usage, event), event.at)
    if event.name == EventName.DEEMPHASIZED:
        return _weighed(usage, event)
    if event.name == EventName.SAVED:
        return replace(
            usage,
            touched_at=_later(usage.touched_at, event.at),
            first_used=None,
            saved_at=usage.saved_at or event.at,
        )
    if event.name == EventName.EDITED:
        return replace(usage, edited_at=_later(usage.edited_at, event.at))
    if event.name == EventName.IMPORTED:
        return replace(
            _weighed(usage, event),
            access_count=parse_count(event.data.get("access_count"), usage.access_count),
        )
    return usage


def parse_count(value: object, otherwise: int = 0) -> int:
    """A count as the journal or another program has it, if it can be one."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT
        else otherwise
    )


def _accessed(usage: Usage, at: datetime) -> Usage:
    return replace(_used(usage, at), access_count=usage.access_count + 1)


def _used(usage: Usage, at: datetime) -> Usage:
    """Use ends a time of lying idle. What it cost is kept: using a memory stops its fading, it does not undo it."""
    before = max(
        (moment for moment in (usage.touched_at, usage.last_accessed) if moment is not None),
        default=at,
    )
    idle = max(0.0, count_days(before, at) - IDLE_DAYS)
    first = usage.first_used or (at if usage.touched_at is None else None)
    return replace(
        usage,
        last_accessed=_later(usage.last_accessed, at),
        idle_days=usage.idle_days + idle,
        first_used=first,
    )


def _weighed(usage: Usage, event: Event) -> Usage:
    salience = event.data.get("salience")
    if (
        isinstance(salience, bool)
        or not isinstance(salience, int | float)
        or not 0 <= salience <= 1
    ):
        return usage
    return replace(
        usage,
        salience=float(salience),
        touched_at=_later(usage.touched_at, event.at),
        idle_days=0.0,
        first_used=None,
    )


def _later(known: datetime | None, at: datetime) -> datetime:
    """A clock that steps back does not take time back."""
    return at if known is None else max(known, at)
