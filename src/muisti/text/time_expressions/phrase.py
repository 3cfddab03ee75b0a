"""Reads a phrase that is nothing but a time: the value of an option, such as `last week`.

A question mentions its time among other words, so that "2024" or "March" need a word before them
there. Here they stand alone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span
from muisti.text.time_expressions.question import parse_when

LONGEST = 60
_UNIT = "(?P<unit>minute|hour|day|week|month|year)s?"
_AGO = re.compile(
    rf"(?:(?P<short>\d{{1,4}})(?P<letter>[hdw])|{cal.COUNT} {_UNIT})(?: ago)?", re.IGNORECASE
)
_MONTH = re.compile(r"(?P<year>\d{4})[-/](?P<month>\d{1,2})")
_YEAR = re.compile(r"(?P<year>(?:19|20)\d\d)")
_SHORT_UNITS = {"h": "hour", "d": "day", "w": "week"}
_SECONDS = {"minute": 60, "hour": 3600}
_LEADS = ("", "in ", "on ", "the ")
"""Tried before a phrase, because a question has such a word there."""


def parse_phrase(text: str, now: datetime) -> Span | None:
    """Return the span `[start, end)` that a phrase names, or None. Times have no time zone.

    An exact point of time, such as `3 hours ago`, is an empty span.
    """
    phrase = " ".join(text.split())
    if not 0 < len(phrase) <= LONGEST or phrase.casefold().startswith(tuple(cal.OPENERS)):
        return None
    try:
        return _read_number(phrase, now) or _read_words(phrase, now)
    except (ValueError, OverflowError):  # month 13, before year 1
        return None


def _read_number(phrase: str, now: datetime) -> Span | None:
    """Read a year, a month, or how long ago."""
    if match := _YEAR.fullmatch(phrase):
        return cal.get_months(int(match["year"]), 1, 12)
    if match := _MONTH.fullmatch(phrase):
        return cal.get_months(int(match["year"]), int(match["month"]))
    if phrase.casefold() == "now":
        return now, now
    match = _AGO.fullmatch(phrase)
    if match is None:
        return None
    unit = (match["unit"] or _SHORT_UNITS[match["letter"].casefold()]).casefold()
    count = int(match["short"]) if match["short"] else cal.parse_count(match["count"].casefold())
    if unit in _SECONDS:
        moment = now - timedelta(seconds=count * _SECONDS[unit])
        return moment, moment
    return cal.get_days_ago(now, count, unit, 0)


def _read_words(phrase: str, now: datetime) -> Span | None:
    """Read a phrase of a question, if it is all of the phrase."""
    for lead in _LEADS:
        said = parse_when(f"{lead}{phrase}", now.replace(tzinfo=UTC))
        if said is not None and len(said.phrase) >= len(phrase):
            return said.start.replace(tzinfo=None), said.end.replace(tzinfo=None)
    return None
