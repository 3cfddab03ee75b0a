"""The functions that PostgreSQL computes salience with."""

from __future__ import annotations

from muisti.storage.salience_sql import DAY, HOUR, SqlArithmetic

_CLOCK = "current_setting('muisti.now')::bigint"
# Recorded decay is not undone if the clock is set back. A record more than a day in the future was
# made with a wrong clock and is ignored.
RECORDED = f"""coalesce((SELECT decayed_at FROM totals WHERE decayed_at < {_CLOCK} + {DAY}), 0)"""
NOW = f"(SELECT GREATEST({_CLOCK}, {RECORDED}))"


class PostgresArithmetic(SqlArithmetic):
    """Arithmetic on expressions of double precision."""

    def number(self, value: float) -> str:
        """Return a constant."""
        return f"{value!r}::float8"

    def larger(self, a: str, b: str) -> str:
        """Return the larger of two."""
        return f"GREATEST({a}, {b})"

    def smaller(self, a: str, b: str) -> str:
        """Return the smaller of two."""
        return f"LEAST({a}, {b})"

    def exp(self, a: str) -> str:
        """Return e to the power of a. PostgreSQL raises an error where the result is almost 0."""
        return f"exp(GREATEST({a}, -100::float8))"

    def power(self, a: str, b: str) -> str:
        """Return a to the power of b, for an `a` below 1. It is never so small that it fails."""
        return f"power({a}, LEAST({b}, -100 / ln({a})))"

    def to_real(self, a: str) -> str:
        """Return an integer as a floating-point number."""
        return f"{a}::float8"

    def days(self, since: str, until: str) -> str:
        """Return whole hours, in days: integer division truncates; at least 0.

        NULL if a time is: GREATEST would ignore it.
        """
        return (
            f"(CASE WHEN {until} > {since} THEN ({until} - {since}) / {HOUR} / 24.0::float8 "
            f"WHEN {until} IS NULL THEN NULL ELSE 0 END)"
        )


ARITHMETIC = PostgresArithmetic()
