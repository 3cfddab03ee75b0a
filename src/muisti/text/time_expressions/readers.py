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
MONTHS_AGO = {
    "half a year ago": 6,
    "a half year ago": 6,
    "a year and a half ago": 18,
    "this time last year": 12,
}
RECENT_DAYS = {"the other day": 10, "recent days": 10, "recent months": 120}


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
    if which_year := get_word(match, "which_year"):
        return of(now.year + cal.STEPS[which_year])
    return cal.choose_occurrence(of, now, get_which(match))


def read_month(match: Match, now: datetime) -> Span:
    """Read a month, or a third of it."""
    month = (cal.MONTHS | cal.FOREIGN_MONTHS)[get_word(match, "month")]
    span = _read_yearly(cal.make_yearly_months(month), match, now)
    part = get_word(match, "part")
    return cal.get_third(span, cal.PARTS[part]) if part else span


def read_month_number(match: Match, _: datetime) -> Span:
    """Read "2023-04"."""
    return cal.get_months(int(match["year"]), int(match["month"]))


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
    return _read_yearly(cal.get_holiday(get_word(match, "holiday")), match, now)


def read_long_weekend(match: Match, now: datetime) -> Span:
    """Read "Labor Day weekend": the holiday and the nearest weekend, with what is between."""
    day = read_holiday(match, now)
    ahead = (5 - day[0].weekday()) % 7
    weekend = cal.get_days(day[0], ahead if ahead <= 3 else ahead - 7, 2)
    return min(day[0], weekend[0]), max(day[1], weekend[1])


def read_year(match: Match, _: datetime) -> Span:
    """Read a year, several years, or a third of one."""
    year, part = int(match["year"]), get_word(match, "part")
    if part:
        return cal.get_third(cal.get_months(year, 1, 12), cal.PARTS[part])
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
    if months := MONTHS_AGO.get(get_word(match, "named")):
        return cal.get_days_ago(now, months, "month", cal.SLACK["month"])
    count, unit = cal.parse_count(get_word(match, "count")), get_word(match, "unit")
    vague = get_word(match, "count") in cal.VAGUE
    if unit in ("hour", "minute"):
        back = -count if unit == "hour" else 0
        return cal.shift(now, 0, back - 1), cal.shift(now, 0, back + (unit == "hour"))
    if unit in ("weekend", "quarter"):
        start, end = cal.get_period(now, unit, -count)
        return cal.shift(start, -7 * vague), cal.shift(end, 7 * vague)
    unit = {"fortnight": "week", "decade": "year"}.get(unit, unit)
    count *= {"fortnight": 2, "decade": 10}.get(get_word(match, "unit"), 1)
    slack = 1 if unit == "day" and count > 7 else cal.SLACK[unit]
    slack += cal.DAYS_IN[unit] if vague else 0
    return cal.get_days_ago(now, count, unit, 0 if get_word(match, "today") else slack)


def read_foreign_ago(match: Match, now: datetime) -> Span:
    """Read "N days ago" in Finnish, Swedish or German."""
    word = get_word(match, "count")
    count = cal.FOREIGN_COUNTS.get(word) or int(word)
    unit = cal.FOREIGN_UNITS[get_word(match, "unit")]
    return cal.get_days_ago(now, count, unit, cal.SLACK[unit])


def read_weekday_ago(match: Match, now: datetime) -> Span:
    """Read "two Fridays ago", or the weekday that is nearest to "two months ago"."""
    day, unit = cal.WEEKDAYS[get_word(match, "weekday")], get_word(match, "unit")
    count = cal.parse_count(get_word(match, "count") or "two")  # "the Friday before last"
    if not unit:
        return cal.get_days(cal.get_weekday(now, day, "last", False)[0], 7 - 7 * count)
    center = cal.go_back(now, count, unit)
    ahead = (day - center.weekday()) % 7
    return cal.get_days(center, ahead if ahead <= 3 else ahead - 7)


def read_past(match: Match, now: datetime) -> Span:
    """Read "the last N days", until today."""
    count, unit = cal.parse_count(get_word(match, "count") or "a"), get_word(match, "unit")
    if unit == "hour":
        return cal.shift(now, 0, -count), now
    if unit == "weekend":
        return cal.get_period(now, unit, -count)[0], cal.get_days(now, 0)[1]
    return cal.go_back(now, count, unit), cal.get_days(now, 0)[1]


def read_ahead(match: Match, now: datetime) -> Span:
    """Read "the next N days", from today on."""
    count = cal.parse_count(get_word(match, "count"))
    return cal.get_days(now, 0)[0], cal.shift(cal.go_back(now, -count, get_word(match, "unit")), 1)


def read_from_now(match: Match, now: datetime) -> Span:
    """Read "N weeks from now", with the tolerance of "N weeks ago"."""
    count, unit = cal.parse_count(get_word(match, "count")), get_word(match, "unit")
    return cal.get_days_ago(now, -count, unit, cal.SLACK[unit])


def read_half(match: Match, _: datetime) -> Span:
    """Read "H1 2022"."""
    return cal.get_months(int(match["year"]), 6 * int(match["half"]) - 5, 6)


def read_week_number(match: Match, _: datetime) -> Span:
    """Read "week 12 of 2023", counted as ISO 8601 does."""
    monday = datetime.fromisocalendar(int(match["year"]), int(match["week"]), 1)
    return cal.get_days(monday, 0, 7)


def read_season_before_last(match: Match, now: datetime) -> Span:
    """Read "the summer before last"."""
    of = cal.make_yearly_months(cal.SEASONS[get_word(match, "season")], 3)
    return of(cal.choose_occurrence(of, now, "last")[0].year - 1)


def read_current(match: Match, now: datetime) -> Span:
    """Read "the month" in "the end of the month"."""
    return cal.get_period(now, get_word(match, "unit"), 0)


def read_recent(match: Match, now: datetime) -> Span:
    """Read "recently" or "the other day"."""
    days = RECENT_DAYS.get(get_word(match, "recent"), RECENT)
    return cal.get_days(now, -days, days + 1)


def refuse(_: Match, __: datetime) -> Span:
    """Raise ValueError for a phrase that is not supported: reading part of it would be wrong."""
    raise ValueError("not supported")
