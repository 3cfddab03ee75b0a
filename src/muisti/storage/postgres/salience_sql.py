"""The SQL expression for salience, derived from the formula in `muisti.model.salience`."""

from __future__ import annotations

from collections.abc import Mapping

from muisti.model import RATES, Kind, Sector
from muisti.model.salience import IDLE_DAYS, Factors, salience_by_kind, salience_by_sector

_DAY = 86_400_000_000
_HOUR = 3_600_000_000
_CLOCK = "current_setting('muisti.now')::bigint"
# Recorded decay is not undone if the clock is set back. A record more than a day in the future was
# made with a wrong clock and is ignored.
RECORDED = f"""coalesce((SELECT decayed_at FROM totals WHERE decayed_at < {_CLOCK} + {_DAY}), 0)"""
NOW = f"(SELECT GREATEST({_CLOCK}, {RECORDED}))"
_WEIGHED = "coalesce(u.touched_at, m.created_at)"
_USED = f"GREATEST({_WEIGHED}, coalesce(u.last_accessed, 0))"


class PostgresArithmetic:
    """Arithmetic on expressions of double precision."""

    def number(self, value: float) -> str:
        """Return a constant."""
        return f"{value!r}::float8"

    def add(self, a: str, b: str) -> str:
        """Return a + b."""
        return f"({a} + {b})"

    def multiply(self, a: str, b: str) -> str:
        """Return a × b."""
        return f"({a} * {b})"

    def divide(self, a: str, b: str) -> str:
        """Return a ÷ b."""
        return f"({a} / {b})"

    def larger(self, a: str, b: str) -> str:
        """Return the larger of two."""
        return f"GREATEST({a}, {b})"

    def smaller(self, a: str, b: str) -> str:
        """Return the smaller of two."""
        return f"LEAST({a}, {b})"

    def exp(self, a: str) -> str:
        """Return e to the power of a. PostgreSQL raises an error where the result is almost 0."""
        return f"exp(GREATEST({a}, -100::float8))"

    def log1p(self, a: str) -> str:
        """Return the natural logarithm of 1 + a."""
        return f"ln(1 + {a})"

    def power(self, a: str, b: str) -> str:
        """Return a to the power of b, for an `a` below 1. It is never so small that it fails."""
        return f"power({a}, LEAST({b}, -100 / ln({a})))"


def salience_sql(
    kinds: Mapping[str, Kind],
    rates: Mapping[Sector, float] = RATES,
    now: str = NOW,
    grace_days: float = IDLE_DAYS,
) -> str:
    """Return the SQL for the salience of `entries m` with `usage u` at the time `now`."""
    ops = PostgresArithmetic()
    sectors = "".join(f" WHEN '{sector}' THEN {ops.number(rate)}" for sector, rate in rates.items())
    factors = Factors(
        salience="coalesce(u.salience, m.salience)",
        importance="m.importance",
        rate=f"CASE m.sector{sectors} END",
        access_count="coalesce(u.access_count, 0)::float8",
        since_weighed=_days(_WEIGHED, now),
        since_used=_days(_USED, now),
        idle_before_use=f"coalesce({_days(_WEIGHED, 'u.first_used')}, 0)",
        idle_days="coalesce(u.idle_days, 0)",
    )
    by_sector = salience_by_sector(ops, factors)
    by_kind = "".join(
        f" WHEN '{kind.name}' THEN {salience_by_kind(ops, factors, kind.decay_per_day, grace_days)}"
        for kind in kinds.values()
        if kind.decay_per_day is not None
    )
    return f"(CASE m.kind{by_kind} ELSE {by_sector} END)" if by_kind else by_sector


def _days(since: str, until: str) -> str:
    """Return the SQL for whole hours, in days: integer division truncates; at least 0.

    NULL if a time is: GREATEST would ignore it.
    """
    return (
        f"(CASE WHEN {until} > {since} THEN ({until} - {since}) / {_HOUR} / 24.0::float8 "
        f"WHEN {until} IS NULL THEN NULL ELSE 0 END)"
    )
