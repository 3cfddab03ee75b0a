"""The functions that SQLite computes salience with."""

from __future__ import annotations

from muisti.storage.salience_sql import DAY, HOUR, SqlArithmetic

# Recorded decay is not undone if the clock is set back. A record more than a day in the future was
# made with a wrong clock and is ignored.
RECORDED = f"""coalesce(
    (SELECT value FROM totals WHERE name = 'decayed_at' AND value < now_us() + {DAY}), 0)"""
NOW = f"max(now_us(), {RECORDED})"


class SqliteArithmetic(SqlArithmetic):
    """Arithmetic on SQLite expressions."""

    def number(self, value: float) -> str:
        """Return a constant."""
        return repr(value)

    def larger(self, a: str, b: str) -> str:
        """Return the larger of two."""
        return f"max({a}, {b})"

    def smaller(self, a: str, b: str) -> str:
        """Return the smaller of two."""
        return f"min({a}, {b})"

    def exp(self, a: str) -> str:
        """Return e to the power of a."""
        return f"exp({a})"

    def power(self, a: str, b: str) -> str:
        """Return a to the power of b."""
        return f"pow({a}, {b})"

    def days(self, since: str, until: str) -> str:
        """Return whole hours, in days: integer division truncates; at least 0."""
        return f"(max(0, {until} - {since}) / {HOUR} / 24.0)"


ARITHMETIC = SqliteArithmetic()
