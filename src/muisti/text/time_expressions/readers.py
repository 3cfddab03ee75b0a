"""What a phrase means: from the groups of its match to the span of the calendar that it names.

Questions and statements have phrases of their own and share these readers. A reader raises
ValueError, LookupError or StopIteration for a time that does not exist: 31 February, or ſ, which a
pattern takes for an s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span

Said = re.Match[str]
Reader = Callable[[Said, datetime], Span]
RECENT = 30
"""Days that "recently" reaches back."""


def said_word(said: Said, name: str) -> str:
    """Return what a group matched, in lower case with single spaces; "" if there is no such group."""
    return " ".join((said.groupdict().get(name) or "").lower().split())


def said_which(said: Said) -> str:
    """Return last, past, previous, this, next or coming; nothing if none was said."""
    return said_word(said, "which").rpartition(" ")[2]


def read_day(said: Said, now: datetime) -> Span:
    """Yesterday, today, tomorrow, in several languages."""
    return cal.days(now, cal.DAYS[said_word(said, "day")])


def read_hours(said: Said, now: datetime) -> Span:
    """A part of a day."""
    first, last = cal.HOURS[said_word(said, "hours")]
    midnight = cal.days(now, 0)[0]
    return cal.shifted(midnight, 0, first), cal.shifted(midnight, 0, last)


def read_date(said: Said, now: datetime) -> Span:
    """A day, or the days until another; without a year, the latest that is not in the future."""
    month = cal.MONTHS.get(said_word(said, "month")) or int(said["month"])
    return _read_dated(said, now, month, int(said["day"]))


def _read_dated(said: Said, now: datetime, month: int, day: int) -> Span:
    to = int(said_word(said, "to") or day)
    datetime(2000, month, to)  # raises if the month never has such a day
    of = cal.dated(month, day, count=to - day + 1)
    return _read_yearly(of, said, now)


def read_numeric_date(said: Said, now: datetime) -> Span:
    """Day and month in either order, if only one can be meant."""
    day, month = int(said["one"]), int(said["two"])
    if month > 12:
        day, month = month, day
    elif day <= 12 and day != month:
        raise ValueError("the fifth of March, or the third of May")
    return _read_dated(said, now, month, day)


def _read_yearly(of: cal.OfYear, said: Said, now: datetime) -> Span:
    return (
        of(int(said["year"]))
        if said_word(said, "year")
        else cal.occurrence(of, now, said_which(said))
    )


def read_month(said: Said, now: datetime) -> Span:
    """A month, or a third of it."""
    span = _read_yearly(
        cal.monthly((cal.MONTHS | cal.FOREIGN_MONTHS)[said_word(said, "month")]), said, now
    )
    if not said_word(said, "part"):
        return span
    third = cal.PARTS[said_word(said, "part")]
    return cal.shifted(span[0], 10 * third), span[1] if third == 2 else cal.shifted(
        span[0], 10 * third + 10
    )


def read_season(said: Said, now: datetime) -> Span:
    """A season of three months."""
    return _read_yearly(cal.monthly(cal.SEASONS[said_word(said, "season")], 3), said, now)


def read_quarter(said: Said, now: datetime) -> Span:
    """A quarter of a year."""
    return _read_yearly(cal.monthly(3 * cal.QUARTERS[said_word(said, "quarter")] - 2, 3), said, now)


def read_holiday(said: Said, now: datetime) -> Span:
    """A holiday, or the days around it."""
    return _read_yearly(cal.HOLIDAYS[re.sub("['’]", "", said_word(said, "holiday"))], said, now)


def read_year(said: Said, _: datetime) -> Span:
    """A year, several, or a third of one."""
    year, part = int(said["year"]), said_word(said, "part")
    years = int(said_word(said, "until") or year) - year + 1
    return cal.months(year, 4 * cal.PARTS[part] + 1, 4) if part else cal.months(year, 1, 12 * years)


def read_period(said: Said, now: datetime) -> Span:
    """The last, this or the next week, weekend, month, quarter or year."""
    return cal.period(now, said_word(said, "unit"), cal.STEPS[said_which(said)])


def read_named_period(said: Said, now: datetime) -> Span:
    """A period with a name of its own."""
    return cal.period(now, *cal.PERIODS[said_word(said, "period")])


def read_weekday(said: Said, now: datetime) -> Span:
    """A day of the week."""
    return cal.weekday(
        now,
        cal.WEEKDAYS[said_word(said, "weekday")],
        said_which(said),
        bool(said_word(said, "week")),
    )


def read_ago(said: Said, now: datetime) -> Span:
    """The day so long ago, with as much room around it as such words leave."""
    if said_word(said, "half"):
        return cal.ago(now, 6, "month", cal.SLACK["month"])
    count, unit = cal.number(said_word(said, "count")), said_word(said, "unit")
    slack = 1 if unit == "day" and count > 7 else cal.SLACK[unit]
    vague = cal.DAYS_IN[unit] if said_word(said, "count") in cal.VAGUE else 0
    return cal.ago(now, count, unit, 0 if said_word(said, "today") else slack + vague)


def read_past(said: Said, now: datetime) -> Span:
    """So many units until today."""
    return cal.back(
        now, cal.number(said_word(said, "count") or "a"), said_word(said, "unit")
    ), cal.days(now, 0)[1]


def read_recent(_: Said, now: datetime) -> Span:
    """The last weeks."""
    return cal.days(now, -RECENT, RECENT + 1)


def refuse(_: Said, __: datetime) -> Span:
    """Raise ValueError: the phrase speaks of a time, but half of it would be read wrongly."""
    raise ValueError("a time, but which is not read yet; half of it would be wrong")
