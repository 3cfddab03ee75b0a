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

Match = re.Match[str]
Reader = Callable[[Match, datetime], Span]
RECENT = 30
"""Days that "recently" reaches back."""


def get_word(said: Match, name: str) -> str:
    """Return what a group matched, in lower case with single spaces; "" if there is no such group."""
    return " ".join((said.groupdict().get(name) or "").lower().split())


def get_which(said: Match) -> str:
    """Return last, past, previous, this, next or coming; nothing if none was said."""
    return get_word(said, "which").rpartition(" ")[2]


def read_day(said: Match, now: datetime) -> Span:
    """Yesterday, today, tomorrow, in several languages."""
    return cal.get_days(now, cal.DAYS[get_word(said, "day")])


def read_hours(said: Match, now: datetime) -> Span:
    """A part of a day."""
    first, last = cal.HOURS[get_word(said, "hours")]
    midnight = cal.get_days(now, 0)[0]
    return cal.shift(midnight, 0, first), cal.shift(midnight, 0, last)


def read_date(said: Match, now: datetime) -> Span:
    """A day, or the days until another; without a year, the latest that is not in the future."""
    month = cal.MONTHS.get(get_word(said, "month")) or int(said["month"])
    return _read_dated(said, now, month, int(said["day"]))


def _read_dated(said: Match, now: datetime, month: int, day: int) -> Span:
    to = int(get_word(said, "to") or day)
    datetime(2000, month, to)  # raises if the month never has such a day
    of = cal.make_yearly_days(month, day, count=to - day + 1)
    return _read_yearly(of, said, now)


def read_numeric_date(said: Match, now: datetime) -> Span:
    """Day and month in either order, if only one can be meant."""
    day, month = int(said["one"]), int(said["two"])
    if month > 12:
        day, month = month, day
    elif day <= 12 and day != month:
        raise ValueError("the fifth of March, or the third of May")
    return _read_dated(said, now, month, day)


def _read_yearly(of: cal.OfYear, said: Match, now: datetime) -> Span:
    return (
        of(int(said["year"]))
        if get_word(said, "year")
        else cal.choose_occurrence(of, now, get_which(said))
    )


def read_month(said: Match, now: datetime) -> Span:
    """A month, or a third of it."""
    span = _read_yearly(
        cal.make_yearly_months((cal.MONTHS | cal.FOREIGN_MONTHS)[get_word(said, "month")]),
        said,
        now,
    )
    if not get_word(said, "part"):
        return span
    third = cal.PARTS[get_word(said, "part")]
    return cal.shift(span[0], 10 * third), span[1] if third == 2 else cal.shift(
        span[0], 10 * third + 10
    )


def read_season(said: Match, now: datetime) -> Span:
    """A season of three months."""
    return _read_yearly(cal.make_yearly_months(cal.SEASONS[get_word(said, "season")], 3), said, now)


def read_quarter(said: Match, now: datetime) -> Span:
    """A quarter of a year."""
    return _read_yearly(
        cal.make_yearly_months(3 * cal.QUARTERS[get_word(said, "quarter")] - 2, 3), said, now
    )


def read_holiday(said: Match, now: datetime) -> Span:
    """A holiday, or the days around it."""
    return _read_yearly(cal.HOLIDAYS[re.sub("['’]", "", get_word(said, "holiday"))], said, now)


def read_year(said: Match, _: datetime) -> Span:
    """A year, several, or a third of one."""
    year, part = int(said["year"]), get_word(said, "part")
    years = int(get_word(said, "until") or year) - year + 1
    return (
        cal.get_months(year, 4 * cal.PARTS[part] + 1, 4)
        if part
        else cal.get_months(year, 1, 12 * years)
    )


def read_period(said: Match, now: datetime) -> Span:
    """The last, this or the next week, weekend, month, quarter or year."""
    return cal.get_period(now, get_word(said, "unit"), cal.STEPS[get_which(said)])


def read_named_period(said: Match, now: datetime) -> Span:
    """A period with a name of its own."""
    return cal.get_period(now, *cal.PERIODS[get_word(said, "period")])


def read_weekday(said: Match, now: datetime) -> Span:
    """A day of the week."""
    return cal.get_weekday(
        now,
        cal.WEEKDAYS[get_word(said, "weekday")],
        get_which(said),
        bool(get_word(said, "week")),
    )


def read_ago(said: Match, now: datetime) -> Span:
    """The day so long ago, with as much room around it as such words leave."""
    if get_word(said, "half"):
        return cal.get_days_ago(now, 6, "month", cal.SLACK["month"])
    count, unit = cal.parse_count(get_word(said, "count")), get_word(said, "unit")
    slack = 1 if unit == "day" and count > 7 else cal.SLACK[unit]
    vague = cal.DAYS_IN[unit] if get_word(said, "count") in cal.VAGUE else 0
    return cal.get_days_ago(now, count, unit, 0 if get_word(said, "today") else slack + vague)


def read_past(said: Match, now: datetime) -> Span:
    """So many units until today."""
    return cal.go_back(
        now, cal.parse_count(get_word(said, "count") or "a"), get_word(said, "unit")
    ), cal.get_days(now, 0)[1]


def read_recent(_: Match, now: datetime) -> Span:
    """The last weeks."""
    return cal.get_days(now, -RECENT, RECENT + 1)


def refuse(_: Match, __: datetime) -> Span:
    """Raise ValueError: the phrase speaks of a time, but half of it would be read wrongly."""
    raise ValueError("a time, but which is not read yet; half of it would be wrong")
