"""The SQL expression for salience, derived from the formula in `muisti.model.salience`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from muisti.model.salience import Factors, salience_by_kind, salience_by_sector

if TYPE_CHECKING:
    from muisti.model import Kind, Sector

DAY = 86_400_000_000
HOUR = 3_600_000_000


class SqlArithmetic:
    """Arithmetic on SQL expressions, as far as databases agree on it."""

    def number(self, value: float) -> str:
        """Return a constant."""
        raise NotImplementedError

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
        raise NotImplementedError

    def smaller(self, a: str, b: str) -> str:
        """Return the smaller of two."""
        raise NotImplementedError

    def exp(self, a: str) -> str:
        """Return e to the power of a."""
        raise NotImplementedError

    def log1p(self, a: str) -> str:
        """Return the natural logarithm of 1 + a."""
        return f"ln(1 + {a})"

    def power(self, a: str, b: str) -> str:
        """Return a to the power of b."""
        raise NotImplementedError

    def to_real(self, a: str) -> str:
        """Return an integer as a floating-point number."""
        return a

    def days(self, since: str, until: str) -> str:
        """Return whole hours, in days: integer division truncates; at least 0."""
        raise NotImplementedError


def salience_sql(
    ops: SqlArithmetic,
    kinds: Mapping[str, Kind],
    rates: Mapping[Sector, float],
    now: str,
    grace_days: float,
) -> str:
    """Return the SQL for the salience of a memory `m` with its `usage u` at the time `now`."""
    sectors = "".join(f" WHEN '{sector}' THEN {ops.number(rate)}" for sector, rate in rates.items())
    weighed = "coalesce(u.touched_at, m.created_at)"
    used = ops.larger(weighed, "coalesce(u.last_accessed, 0)")
    factors = Factors(
        salience="coalesce(u.salience, m.salience)",
        importance="m.importance",
        rate=f"CASE m.sector{sectors} END",
        access_count=ops.to_real("coalesce(u.access_count, 0)"),
        since_weighed=ops.days(weighed, now),
        since_used=ops.days(used, now),
        idle_before_use=f"coalesce({ops.days(weighed, 'u.first_used')}, 0)",
        idle_days="coalesce(u.idle_days, 0)",
    )
    by_sector = salience_by_sector(ops, factors)
    by_kind = "".join(
        f" WHEN '{kind.name}' THEN {salience_by_kind(ops, factors, kind.decay_per_day, grace_days)}"
        for kind in kinds.values()
        if kind.decay_per_day is not None
    )
    return f"(CASE m.kind{by_kind} ELSE {by_sector} END)" if by_kind else by_sector
