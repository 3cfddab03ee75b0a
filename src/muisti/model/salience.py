"""Salience: pure rules for how use and time change it (contract B3, C5, G1, G2)."""

from __future__ import annotations

import math
import operator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from muisti.model import RATES, EventName, Sector

if TYPE_CHECKING:
    from muisti.model import Event, Memory, Usage

FLOOR = 0.05
REINFORCE = 0.1
DEEMPHASIZE = 0.2
RESTORED = 0.5
"""The least salience of a memory that maintenance moved away and a user restored."""
MAX_COUNT = 1 << 53
"""Larger integers lose precision in JSON parsers and overflow databases."""
IDLE_DAYS = 7.0
"""Grace period of kinds with their own decay: idle days before it starts."""
PROTECTION, MOST_PROTECTION = 0.02, 0.1
"""Accesses offset decay: by PROTECTION × ln(1 + accesses), at most MOST_PROTECTION."""
_HOUR = timedelta(hours=1)


class Trace(NamedTuple):
    """Everything besides the current time that a memory's salience depends on."""

    salience: float
    """When it was last set: by saving, reinforcing, de-emphasising or importing."""
    weighed_at: datetime
    used_at: datetime | None = None
    idle_days: float = 0.0
    """Idle days beyond the grace period, before the last use."""
    first_used: datetime | None = None
    """The first use of a memory whose salience was never set by an event."""
    access_count: int = 0
    importance: float = 0.5
    rate: float = RATES[Sector.SEMANTIC]
    """The sector's decay rate."""
    decay_per_day: float | None = None
    """The kind's decay, which replaces the sector's rate."""
    grace_days: float = IDLE_DAYS
    """Idle days before that decay starts."""


def make_trace(memory: Memory, usage: Usage, decay_per_day: float | None) -> Trace:
    """Combine a memory as its file has it, its usage, and the decay of its kind."""
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
    """Operations of the salience formula, on numbers or on SQL expressions."""

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


class Factors(NamedTuple, Generic[T]):
    """Inputs of the salience formula, as numbers or as SQL. Times are whole hours, in days."""

    salience: T
    """The value that was last set."""
    importance: T
    rate: T
    """The sector's decay rate."""
    access_count: T
    since_weighed: T
    """Time since the value was set."""
    since_used: T
    """Time since the value was set or the memory was used."""
    idle_before_use: T
    """Time from setting the value to the first use; 0 if it was never used."""
    idle_days: T


def salience_by_sector(ops: Arithmetic[T], factors: Factors[T]) -> T:
    """Return the salience of a memory that decays by sector.

    The factor is exp(-rate / (importance + 0.1) × days).
    """
    scaled = ops.divide(factors.rate, ops.add(factors.importance, ops.number(0.1)))
    loss = ops.multiply(ops.multiply(scaled, ops.number(-1.0)), factors.since_weighed)
    return _apply_bounds(ops, factors, ops.exp(loss))


def salience_by_kind(
    ops: Arithmetic[T], factors: Factors[T], decay_per_day: float, grace_days: float = IDLE_DAYS
) -> T:
    """Return the salience of a memory whose kind has its own decay per idle day."""
    if decay_per_day == 1:
        return _apply_bounds(ops, factors, ops.number(1.0))
    zero, grace = ops.number(0.0), ops.number(-float(grace_days))
    idle = ops.add(ops.larger(zero, ops.add(factors.idle_before_use, grace)), factors.idle_days)
    idle = ops.add(idle, ops.larger(zero, ops.add(factors.since_used, grace)))
    return _apply_bounds(ops, factors, ops.power(ops.number(decay_per_day), idle))


def _apply_bounds(ops: Arithmetic[T], factors: Factors[T], remaining: T) -> T:
    """Add the protection by accesses. Time never raises salience or lowers it below the floor."""
    protection = ops.multiply(ops.number(PROTECTION), ops.log1p(factors.access_count))
    protection = ops.smaller(ops.number(MOST_PROTECTION), protection)
    decayed = ops.add(ops.multiply(factors.salience, remaining), protection)
    least = ops.smaller(ops.number(FLOOR), factors.salience)
    return ops.larger(least, ops.smaller(factors.salience, decayed))


class _Floats:
    """Arithmetic on numbers."""

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
    """Return a memory's salience now. It does not depend on earlier calls.

    If the clock is before the last change, no time has passed.
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
    return salience_by_kind(_FLOATS, factors, trace.decay_per_day, trace.grace_days)


def count_days(since: datetime, now: datetime) -> float:
    """Return the whole hours between two times, in days; 0 if the clock went back."""
    return max(0, (now - since) // _HOUR) / 24


def apply_reinforcement(salience: float, amount: float) -> float:
    """Return a higher salience, with diminishing returns: at most 1."""
    return min(1.0, salience + amount * (1.0 - salience))


def apply_deemphasis(salience: float, amount: float) -> float:
    """Return a lower salience, at least the floor."""
    return max(FLOOR, salience - amount)


def fold_event(usage: Usage, event: Event, grace_days: float = IDLE_DAYS) -> Usage:
    """Return a memory's usage after an event. Events that do not concern it change nothing."""
    if event.name == EventName.RECALLED:
        return _record_access(usage, event.at, grace_days)
    if event.name == EventName.TOUCHED:
        # Journals of before have no count: there a touch was no access.
        record = _record_access if event.data.get("count") else _record_use
        return record(usage, event.at, grace_days)
    if event.name in (EventName.REINFORCED, EventName.MERGED):
        return _record_access(_set_salience(usage, event), event.at, grace_days)
    if event.name == EventName.RESTORED and event.data.get("from") in ("cleanup", "archive"):
        return _record_use(_set_salience(usage, event), event.at, grace_days)
    if event.name == EventName.DEEMPHASIZED:
        return _set_salience(usage, event)
    if event.name == EventName.SAVED:
        return usage._replace(
            touched_at=_later(usage.touched_at, event.at),
            first_used=None,
            saved_at=usage.saved_at or event.at,
        )
    if event.name == EventName.EDITED:
        return usage._replace(edited_at=_later(usage.edited_at, event.at))
    if event.name == EventName.IMPORTED:
        return _set_salience(usage, event)._replace(
            access_count=parse_count(event.data.get("access_count"), usage.access_count),
        )
    return usage


def parse_count(value: object, otherwise: int = 0) -> int:
    """Return a count from the journal or an import, or `otherwise` if it is not valid."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_COUNT:
        return value
    return otherwise


def _record_access(usage: Usage, at: datetime, grace_days: float) -> Usage:
    return _record_use(usage, at, grace_days)._replace(access_count=usage.access_count + 1)


def _record_use(usage: Usage, at: datetime, grace_days: float) -> Usage:
    """End an idle period. Its idle days are kept: use stops decay but does not undo it."""
    times = [time for time in (usage.touched_at, usage.last_accessed) if time is not None]
    idle = max(0.0, count_days(max(times, default=at), at) - grace_days)
    first = usage.first_used or (at if usage.touched_at is None else None)
    return usage._replace(
        last_accessed=_later(usage.last_accessed, at),
        idle_days=usage.idle_days + idle,
        first_used=first,
    )


def _set_salience(usage: Usage, event: Event) -> Usage:
    """Set the salience that an event carries. An invalid value changes nothing."""
    salience = event.data.get("salience")
    if (
        isinstance(salience, bool)
        or not isinstance(salience, int | float)
        or not 0 <= salience <= 1
    ):
        return usage
    return usage._replace(
        salience=float(salience),
        touched_at=_later(usage.touched_at, event.at),
        idle_days=0.0,
        first_used=None,
    )


def _later(known: datetime | None, at: datetime) -> datetime:
    """Return the later time: a clock that is set back does not move times back."""
    return at if known is None else max(known, at)
