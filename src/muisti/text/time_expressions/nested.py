"""Readers of phrases that name a time by another: "the first week of March", "the day after …".

Each gets the match of its words, and the span of the time that follows them: its host.
"""

from __future__ import annotations

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span
from muisti.text.time_expressions.readers import Match, get_word

_WEEKDAYS = cal.match_any(name for name in cal.WEEKDAYS if name.endswith("day"))
NTH = (
    rf"(?P<nth>{cal.match_any(cal.ORDINALS)}) (?:{cal.NUMBER} )?"
    rf"(?P<unit>day|weekend|week|month|half|{_WEEKDAYS})s? (?:of|in) "
)
PART = rf"(?P<part>{cal.match_any(cal.PARTS)})(?: |-)(?:in )?"
BESIDE = (
    rf"(?:(?:the |last |first |next )?(?P<unit>day|weekend|week|month|year|{_WEEKDAYS})"
    rf"|{cal.COUNT} (?P<units>day|week|month|year)s?) (?P<side>before|after) "
)
AROUND = r"(?P<unit>weekend|week) of "


def read_nth(match: Match, host: Span) -> Span:
    """Read "the first week of", "the last two days of", "the second half of".

    Weeks are counted from the first day of the host. Raises ValueError if it has fewer.
    """
    unit, nth = get_word(match, "unit"), cal.ORDINALS[get_word(match, "nth")]
    if unit in cal.WEEKDAYS:
        return cal.get_nth_weekday(host, cal.WEEKDAYS[unit], nth)
    if unit == "weekend":
        return cal.get_nth_weekday(host, cal.WEEKDAYS["saturday"], nth, count=2)
    days = (host[1] - host[0]).days
    if unit == "half":
        middle = cal.add_months(host[0], 6) if days > 300 else cal.shift(host[0], days // 2)
        return (host[0], middle) if nth == 1 else (middle, host[1])
    size = cal.parse_count(get_word(match, "count") or "a") * (7 if unit == "week" else 1)
    if size * (28 if unit == "month" else 1) > days:
        raise ValueError("longer than its host")
    move = cal.add_months if unit == "month" else cal.shift
    start = move(host[0], size * (nth - 1)) if nth > 0 else move(host[1], -size)
    if start >= host[1]:
        raise ValueError("the host has fewer")
    return start, min(move(start, size), host[1])


def read_part(match: Match, host: Span) -> Span:
    """Read "early", "the middle of" or "the end of"."""
    return cal.get_third(host, cal.PARTS[get_word(match, "part")])


def read_beside(match: Match, host: Span) -> Span:
    """Read "the week before", "two days after", "the Sunday before"."""
    after = get_word(match, "side") == "after"
    unit = get_word(match, "unit")
    if not unit:
        count, unit = cal.parse_count(get_word(match, "count")), get_word(match, "units")
        day = cal.shift(host[1], -1) if after else host[0]
        return cal.get_days_ago(day, -count if after else count, unit, cal.SLACK[unit])
    size = 2 if unit == "weekend" else 1
    weekday = cal.WEEKDAYS.get("saturday" if unit == "weekend" else unit)
    if weekday is not None and after:
        return cal.get_days(host[1], (weekday - host[1].weekday()) % 7, size)
    if weekday is not None:
        latest = cal.shift(host[0], -size)
        return cal.get_days(latest, -((latest.weekday() - weekday) % 7), size)
    if after:
        return host[1], cal.go_back(host[1], -1, unit)
    return cal.go_back(host[0], 1, unit), host[0]


def read_around(match: Match, host: Span) -> Span:
    """Read "the week of" or "the weekend of" a day."""
    return cal.get_period(host[0], get_word(match, "unit"), 0)
