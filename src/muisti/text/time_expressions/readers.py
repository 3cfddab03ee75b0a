"""Readers: each returns the calendar span that a matched phrase names.

Questions and statements have their own phrases and share these readers. A reader raises ValueError,
LookupError or StopIteration for a time that does not exist: 31 February, or a name spelled with ſ,
which a pattern matches as s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span

Match = re.Match[str]
Reader = Callable[[Match, datetime], Span]
RECENT = 30
"""How many days "recently" covers."""


def get_word(match: Match, name: str) -> str:
    """Return the text of a group in lower case with single spaces; "" if it did not match."""
    return " ".join((match.groupdict().get(name) or "").lower().split())


def get_which(match: Match) -> str:
    """Return last, past, previous, this, next, coming or ""."""
    return get_word(match, "which").rpartition(" ")[2]


def read_day(match: Match, now: datetime) -> Span:
    """Read "yesterday", "today" or "tomorrow", in several languages."""
    return cal.get_days(now, cal.DAYS[get_word(match, "day")])


def read_hours(match: Match, now: datetime) -> Span:
    """Read a part of a day."""
    first, last = cal.HOURS[get_word(match, "hours")]
    midnight = cal.get_days(now, 0)[0]
    return cal.shift(midnight, 0, first), cal.shift(midnight, 0, last)


def read_date(match: Match, now: datetime) -> Span:
    """Read one or more days; without a year, the latest that are not in the future."""
    month = cal.MONTHS.get(get_word(match, "month")) or int(match["month"])
    return _read_dated(match, now, month, int(match["day"]))


def _read_dated(match: Match, now: datetime, month: int, day: int) -> Span:
    to = int(get_word(match, "to") or day)
    datetime(2000, month, to)  # raises if the month never has such a day
    of = cal.make_yearly_days(month, day, count=to - day + 1)
    return _read_yearly(of, match, now)


def read_numeric_date(match: Match, now: datetime) -> Span:
    """Read day and month in either order. Raises ValueError if both orders are possible."""
    day, month = int(match["one"]), int(match["two"])
    if month > 12:
        day, month = month, day
    elif day <= 12 and day != month:
        raise ValueError("ambiguous: 5 March or 3 May")
    return _read_dated(match, now, month, day)


def _read_yearly(of: cal.OfYear, match: Match, now: datetime) -> Span:
    if get_word(match, "year"):
        return of(int(match["year"]))
    return cal.choose_occurrence(of, now, get_which(match))


def read_month(match: Match, now: datetime) -> Span:
    """Read a month, or a third of it."""
    month = (cal.MONTHS | cal.FOREIGN_MONTHS)[get_word(match, "month")]
    start, end = _read_yearly(cal.make_yearly_months(month), match, now)
    if not get_word(match, "part"):
        return start, end
    third = cal.PARTS[get_word(match, "part")]
    return cal.shift(start, 10 * third), end if third == 2 else cal.shift(start, 10 * third + 10)


def read_season(match: Match, now: datetime) -> Span:
    """Read a season of three months."""
    first = cal.SEASONS[get_word(match, "season")]
    return _read_yearly(cal.make_yearly_months(first, 3), match, now)


def read_quarter(match: Match, now: datetime) -> Span:
    """Read a quarter of a year."""
    first = 3 * cal.QUARTERS[get_word(match, "quarter")] - 2
    return _read_yearly(cal.make_yearly_months(first, 3), match, now)


def read_holiday(match: Match, now: datetime) -> Span:
    """Read a holiday and the days around it."""
    name = re.sub("['’]", "", get_word(match, "holiday"))
    return _read_yearly(cal.HOLIDAYS[name], match, now)


def read_year(match: Match, _: datetime) -> Span:
    """Read a year, several years, or a third of one."""
    year, part = int(match["year"]), get_word(match, "part")
    if part:
        return cal.get_months(year, 4 * cal.PARTS[part] + 1, 4)
    years = int(get_word(match, "until") or year) - year + 1
    return cal.get_months(year, 1, 12 * years)


def read_period(match: Match, now: datetime) -> Span:
    """Read the last, this or the next week, weekend, month, quarter or year."""
    return cal.get_period(now, get_word(match, "unit"), cal.STEPS[get_which(match)])


def read_named_period(match: Match, now: datetime) -> Span:
    """Read a period with its own name."""
    return cal.get_period(now, *cal.PERIODS[get_word(match, "period")])


def read_weekday(match: Match, now: datetime) -> Span:
    """Read a day of the week."""
    day, of_week = cal.WEEKDAYS[get_word(match, "weekday")], bool(get_word(match, "week"))
    return cal.get_weekday(now, day, get_which(match), of_week)


def read_ago(match: Match, now: datetime) -> Span:
    """Read "N days ago", with the tolerance that such words imply."""
    if get_word(match, "half"):
        return cal.get_days_ago(now, 6, "month", cal.SLACK["month"])
    count, unit = cal.parse_count(get_word(match, "count")), get_word(match, "unit")
    slack = 1 if unit == "day" and count > 7 else cal.SLACK[unit]
    vague = cal.DAYS_IN[unit] if get_word(match, "count") in cal.VAGUE else 0
    return cal.get_days_ago(now, count, unit, 0 if get_word(match, "today") else slack + vague)


def read_past(match: Match, now: datetime) -> Span:
    """Read "the last N days", until today."""
    count = cal.parse_count(get_word(match, "count") or "a")
    return cal.go_back(now, count, get_word(match, "unit")), cal.get_days(now, 0)[1]


def read_recent(_: Match, now: datetime) -> Span:
    """Read "recently"."""
    return cal.get_days(now, -RECENT, RECENT + 1)


def refuse(_: Match, __: datetime) -> Span:
    """Raise ValueError for a phrase that is not supported: reading part of it would be wrong."""
    raise ValueError("not supported")
