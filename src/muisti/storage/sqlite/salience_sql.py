"""A memory's salience at this moment, as an SQL expression: the rule of `muisti.model.salience.strength` inside every query."""

from __future__ import annotations

from collections.abc import Mapping

from muisti.model import RATES, Kind, Sector
from muisti.model.salience import FLOOR, IDLE_DAYS, MOST_PROTECTION, PROTECTION

_DAY = 86_400_000_000
_HOUR = 3_600_000_000
# Fading that was once noted is not taken back by a clock that is set back. A note from more than a day ahead is of a
# clock that was wrong: it does not count.
NOTED = f"coalesce((SELECT value FROM totals WHERE name = 'decayed_at' AND value < now_us() + {_DAY}), 0)"
NOW = f"max(now_us(), {NOTED})"
_WEIGHED = "coalesce(u.touched_at, m.created_at)"
_SALIENCE = "coalesce(u.salience, m.salience)"


def salience_sql(kinds: Mapping[str, Kind], rates: Mapping[Sector, float] = RATES, now: str = NOW) -> str:
    """The salience of `memories m` with `usage u` at a moment, which is an SQL expression itself."""
    decays = [(kind.name, kind.decay_per_day) for kind in kinds.values() if kind.decay_per_day is not None]
    own = "".join(f" WHEN '{name}' THEN {_by_kind(decay, now)}" for name, decay in decays)
    sectors = "".join(f" WHEN '{sector}' THEN {-rate!r}" for sector, rate in rates.items())
    by_sector = f"exp(CASE m.sector{sectors} END / (m.importance + 0.1) * {_days(_WEIGHED, now)})"
    faded = f"(CASE m.kind{own} ELSE {by_sector} END)" if own else by_sector
    protection = f"min({MOST_PROTECTION}, {PROTECTION} * ln(1 + coalesce(u.access_count, 0)))"
    return f"max(min({FLOOR}, {_SALIENCE}), min({_SALIENCE}, {_SALIENCE} * {faded} + {protection}))"


def _by_kind(decay: float, now: str) -> str:
    if decay == 1:
        return "1.0"
    used = f"max({_WEIGHED}, coalesce(u.last_accessed, 0))"
    before = f"coalesce(max(0.0, {_days(_WEIGHED, 'u.first_used')} - {IDLE_DAYS}), 0)"
    return f"pow({decay!r}, {before} + coalesce(u.idle_days, 0) + max(0.0, {_days(used, now)} - {IDLE_DAYS}))"


def _days(since: str, now: str) -> str:
    """Whole hours, in days. Division of whole numbers cuts off, and below zero is no time at all."""
    return f"(max(0, {now} - {since}) / {_HOUR} / 24.0)"
