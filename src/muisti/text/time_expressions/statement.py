"""Replaces relative times in a statement, such as "yesterday", with dates.

Days become `on 2023-05-07`; weeks are named by their Monday, months and years by name. Vague words
("recently", "the other day") stay. To support a new phrase, add a row to `_ROWS`.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import NamedTuple

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span
from muisti.text.time_expressions.readers import (
    Match,
    Reader,
    get_which,
    get_word,
    read_month,
    read_period,
    read_season,
    read_weekday,
)

_EXACT = [*(word for word in cal.COUNTS if word not in cal.VAGUE), *cal.ONE]
_COUNT = rf"(?P<count>\d{{1,4}}|{cal.match_any(_EXACT)})"
_UNIT = rf"{cal.UNIT}s?"
_LEADS = "on in since by until till from before after of for during over around".split()
_LEAD = rf"(?P<lead>\b(?:{cal.match_any(_LEADS)}) (?:the )?)?"
_DROPPED_LEADS = frozenset(
    ("", "on", "in", "on the", "in the", "over the", "during the", "over", "during", "for")
)
_IS_SUBJECT = re.compile(r" (?:is|was|will|has|had|went|turned|'s)\b", re.I)
"""After "last week" these make it the subject: "the week of … was wild"."""
_FUTURE = re.compile(
    r"\b(?:will|going|gonna|due|starts?|ends?|leav\w+|coming|have|has|is|are|plan\w*|until)\b"
    r"|'(?:ll|re|m|s)\b",
    re.I,
)
_MAY_MATCH = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|back|earlier|from now|last|past|this|next|coming|"
    r"previous|in (?:an?|\d|[a-z]+) )",
    re.I,
)


def resolve_dates(text: str, at: datetime | None) -> tuple[str, datetime | None]:
    """Return the text with dates for relative times, and the first time that it mentions.

    `at` is when it was said. Without it, only full dates are recognized.
    """
    zone = UTC if at is None else cal.get_zone(at)
    now = None if at is None else at.replace(tzinfo=None)
    found: list[tuple[int, datetime]] = []
    if now is not None and _MAY_MATCH.search(text):
        for row in _ROWS:
            rewrite = partial(_rewrite, row=row, now=now, found=found)
            text = row.pattern.sub(rewrite, text)
    if found:
        return text, min(found)[1].replace(tzinfo=zone)
    return text, _find_written_date(text, now, zone)


class _Row(NamedTuple):
    pattern: re.Pattern[str]
    read: Reader
    write: Callable[[Match, datetime], str]
    """Returns the text for the start of the time, with "on" or "in"."""


def _rewrite(match: Match, row: _Row, now: datetime, found: list[tuple[int, datetime]]) -> str:
    """Return the date with the words before it, and add its position and start to `found`.

    Words that name no time are returned unchanged. "since yesterday" gets no "on", and
    "yesterday's game" becomes "the 2023-05-07 game".
    """
    try:
        begins = row.read(match, now)[0]
        words = row.write(match, begins)
    except (ValueError, OverflowError, LookupError, StopIteration):
        return match[0]
    if begins in (datetime.min, datetime.max):  # out of range
        return match[0]
    found.append((match.start(), begins))
    lead = match["lead"] or ""
    bare = words[3:] if words.startswith(("on ", "in ")) else words
    if not lead and _IS_SUBJECT.match(match.string, match.end()):
        words = bare
    if match["possessive"]:
        words = f"{lead}{'' if lead.endswith('the ') else 'the '}{bare.removeprefix('the ')}"
    elif lead.strip().lower() not in _DROPPED_LEADS:
        words = f"{lead.removesuffix('the ')}{bare}"
    return words[:1].upper() + words[1:] if match.start() == 0 else words


# Readers for phrases that only statements use, or use differently

_DAYS: Mapping[str, int] = {**cal.ENGLISH_DAYS, "tonight": 0}
_DAYS_OF_PARTS: Mapping[str, int] = {"this": 0, "last": -1, "yesterday": -1}


def _read_ahead(match: Match, now: datetime) -> Span:
    if not _FUTURE.search(match.string, 0, match.start()):
        raise ValueError("a duration, not a time")
    return cal.get_period(now, get_word(match, "unit"), cal.parse_count(get_word(match, "count")))


def _read_coming_weekday(match: Match, now: datetime) -> Span:
    """Read "this" and "next" as the next such day; in a question they refer to the week."""
    which = get_which(match)
    if cal.STEPS[which] < 0:
        return read_weekday(match, now)
    ahead = (cal.WEEKDAYS[get_word(match, "weekday")] - now.weekday()) % 7
    return cal.get_days(now, ahead if which == "this" else ahead or 7)


# Writers


def _write_unit(unit: str, begins: datetime) -> str:
    day = f"{begins:%Y-%m-%d}"
    return {
        "day": f"on {day}",
        "week": f"in the week of {day}",
        "weekend": f"on the weekend of {day}",
        "month": f"in {month_name[begins.month]} {begins.year}",
        "year": f"in {begins.year}",
    }[unit]


def _write_said_unit(match: Match, begins: datetime) -> str:
    return _write_unit(get_word(match, "unit"), begins)


def _write_day(_: Match, begins: datetime) -> str:
    return _write_unit("day", begins)


def _write_part_of_day(match: Match, begins: datetime) -> str:
    part = get_word(match, "part")
    return f"on the {'evening' if part == 'night' else part} of {begins:%Y-%m-%d}"


def _write_vaguely(match: Match, begins: datetime) -> str:
    unit = get_word(match, "unit")
    now = _write_unit(unit, begins).removeprefix("on ").removeprefix("in ")
    return f"{get_word(match, 'some')} {unit}s before {now}"


def _row(pattern: str, read: Reader, write: Callable[[Match, datetime], str]) -> _Row:
    whole = rf"{_LEAD}\b{pattern}(?P<possessive>'s)?(?![\w'])"
    return _Row(re.compile(whole, re.I), read, write)


_PART = r"(?P<which>this|last|yesterday) (?P<part>morning|afternoon|evening|night)"
_SOME = r"(?P<some>a few|several|some|many)"
_ROWS = (
    _row(
        _PART,
        lambda match, now: cal.get_days(now, _DAYS_OF_PARTS[get_word(match, "which")]),
        _write_part_of_day,
    ),
    _row(
        rf"(?P<day>{cal.match_any(_DAYS)})",
        lambda match, now: cal.get_days(now, _DAYS[get_word(match, "day")]),
        _write_day,
    ),
    _row(
        rf"(?:about |around |like )?{_COUNT} {_UNIT} (?:ago|back|earlier)",
        # Exact; in a question it has a tolerance.
        lambda match, now: cal.get_period(
            now, get_word(match, "unit"), -cal.parse_count(get_word(match, "count"))
        ),
        _write_said_unit,
    ),
    _row(
        rf"{_SOME} {_UNIT} (?:ago|back)",
        lambda match, now: cal.get_period(now, get_word(match, "unit"), 0),
        _write_vaguely,
    ),
    _row(rf"(?<=\bin ){_COUNT} {_UNIT}(?: from now)?(?:'? time)?", _read_ahead, _write_said_unit),
    _row(rf"{_COUNT} {_UNIT} from now", _read_ahead, _write_said_unit),
    _row(rf"{cal.WHICH}{cal.ANY_WEEKDAY}", _read_coming_weekday, _write_day),
    _row(rf"{cal.WHICH}(?P<unit>weekend)", read_period, _write_said_unit),
    _row(
        rf"{cal.WHICH}{cal.SEASON}",
        read_season,
        lambda match, begins: f"in {get_word(match, 'season')} {begins.year}",
    ),
    _row(rf"{cal.WHICH}{cal.MONTH}", read_month, lambda _, begins: _write_unit("month", begins)),
    _row(rf"{cal.WHICH}(?P<unit>week|month|year)", read_period, _write_said_unit),
)

# Written dates

_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_WRITTEN = re.compile(
    rf"\b{cal.MONTH}\.? (?P<first>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}}))?"
    rf"|\b(?P<second>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<after>{cal.match_any(cal.MONTHS)})\b"
    r"(?:,? (?P<later>\d{4}))?",
    re.I,
)


def _find_written_date(text: str, now: datetime | None, zone: tzinfo) -> datetime | None:
    """Return the first ISO date or else the first date that is written out, or None.

    A date without a year is the nearest to `now`, because a statement may be about the future.
    """
    try:
        if iso := _ISO.search(text):
            return datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=zone)
        match = _WRITTEN.search(text)
        if match is None:
            return None
        month = cal.MONTHS[get_word(match, "month") or get_word(match, "after")]
        day, year = int(match["first"] or match["second"]), match["year"] or match["later"]
        if year:
            return datetime(int(year), month, day, tzinfo=zone)
        if now is None:
            return None
        today = cal.get_days(now, 0)[0]
        years = [year for year in (now.year - 1, now.year, now.year + 1) if 1 < year < 9999]
        dates = [datetime(year, month, day) for year in years]
        nearest = min(dates, key=lambda date: abs(date - today), default=None)
        return nearest and nearest.replace(tzinfo=zone)
    except (ValueError, LookupError):  # 31 February, or a name spelled with ſ
        return None
