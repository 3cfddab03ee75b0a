"""The SQL expression for salience, derived from the formula in `muisti.model.salience`."""

from __future__ import annotations

from collections.abc import Mapping

from muisti.model import RATES, Kind, Sector
from muisti.model.salience import IDLE_DAYS, Factors, salience_by_kind, salience_by_sector

_DAY = 86_400_000_000
_HOUR = 3_600_000_000
# Recorded decay is not undone if the clock is set back. A record more than a day in the future was
# made with a wrong clock and is ignored.
RECORDED = f"""coalesce(
    (SELECT value FROM totals WHERE name = 'decayed_at' AND value < now_us() + {_DAY}), 0)"""
NOW = f"max(now_us(), {RECORDED})"
_WEIGHED = "coalesce(u.touched_at, m.created_at)"
_USED = f"max({_WEIGHED}, coalesce(u.last_accessed, 0))"


class SqliteArithmetic:
    """Arithmetic on SQLite expressions."""

    def number(self, value: float) -> str:
        """Return a constant."""
        return repr(value)

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
        return f"max({a}, {b})"

    def smaller(self, a: str, b: str) -> str:
        """Return the smaller of two."""
        return f"min({a}, {b})"

    def exp(self, a: str) -> str:
        """Return e to the power of a."""
        return f"exp({a})"

    def log1p(self, a: str) -> str:
        """Return the natural logarithm of 1 + a."""
        return f"ln(1 + {a})"

    def power(self, a: str, b: str) -> str:
        """Return a to the power of b."""
        return f"pow({a}, {b})"


def salience_sql(
    kinds: Mapping[str, Kind],
    rates: Mapping[Sector, float] = RATES,
    now: str = NOW,
    grace_days: float = IDLE_DAYS,
) -> str:
    """Return the SQL for the salience of `memories m` with `usage u` at the time `now`."""
    sectors = "".join(f" WHEN '{sector}' THEN {rate!r}" for sector, rate in rates.items())
    ops = SqliteArithmetic()
    factors = Factors(
        salience="coalesce(u.salience, m.salience)",
        importance="m.importance",
        rate=f"CASE m.sector{sectors} END",
        access_count="coalesce(u.access_count, 0)",
        since_weighed=_days(_WEIGHED, now),
        since_used=_days(_USED, now),
        idle_before_use=f"coalesce({_days(_WEIGHED, 'u.first_used')}, 0)",
        idle_days="coalesce(u.idle_days, 0)",
    )
    by_sector = salience_by_sector(ops, factors)
    decays = [
        (kind.name, kind.decay_per_day) for kind in kinds.values() if kind.decay_per_day is not None
    ]
    by_kind = "".join(
        f" WHEN '{name}' THEN {salience_by_kind(ops, factors, decay, grace_days)}"
        for name, decay in decays
    )
    return f"(CASE m.kind{by_kind} ELSE {by_sector} END)" if by_kind else by_sector


def _days(since: str, until: str) -> str:
    """Return the SQL for whole hours, in days: integer division truncates; at least 0."""
    return f"(max(0, {until} - {since}) / {_HOUR} / 24.0)"
