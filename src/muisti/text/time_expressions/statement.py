"""The day that "yesterday" was: times that depend on when they were said, as dates that stay true.

Days are written as `on 2023-05-07`, weeks by their Monday, months and years by name. Vague words
("recently", "the other day") stay: they name no date. A new phrase is a new row in `_ROWS`.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
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
"""After "last week" these make it what is spoken of: "the week of … was wild"."""
_FUTURE = re.compile(
    r"\b(?:will|going|gonna|due|starts?|ends?|leav\w+|coming|have|has|is|are|plan\w*|until)\b"
    r"|'(?:ll|re|m|s)\b",
    re.I,
)
_WORTH_A_LOOK = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|back|earlier|from now|last|past|this|next|coming|"
    r"previous|in (?:an?|\d|[a-z]+) )",
    re.I,
)


def resolve_dates(text: str, at: datetime | None) -> tuple[str, datetime | None]:
    """Return the text with dates for relative times, and the first time that it speaks of.

    Without `at`, the moment it was said, only full dates are known.
    """
    zone = UTC if at is None else cal.get_zone(at)
    now = None if at is None else at.replace(tzinfo=None)
    found: list[tuple[int, datetime]] = []
    if now is not None and _WORTH_A_LOOK.search(text):
        for row in _ROWS:
            text = row.pattern.sub(lambda said, row=row: _rewrite(said, row, now, found), text)  # type: ignore[misc]
    if found:
        return text, min(found)[1].replace(tzinfo=zone)
    return text, _written_date(text, now, zone)


class _Row(NamedTuple):
    pattern: re.Pattern[str]
    read: Reader
    write: Callable[[Match, datetime], str]
    """What to write for the moment at which the time begins, with its "on" or "in"."""


def _rewrite(said: Match, row: _Row, now: datetime, found: list[tuple[int, datetime]]) -> str:
    """Return the date with what stood before it, and note when it is.

    Words that name no time are returned as they are. "since yesterday" takes no "on", and
    "yesterday's game" becomes "the 2023-05-07 game".
    """
    try:
        begins = row.read(said, now)[0]
        words = row.write(said, begins)
    except (ValueError, OverflowError, LookupError, StopIteration):
        return said[0]
    if begins in (datetime.min, datetime.max):  # the calendar does not reach so far
        return said[0]
    found.append((said.start(), begins))
    lead = said["lead"] or ""
    bare = words[3:] if words.startswith(("on ", "in ")) else words
    if not lead and _IS_SUBJECT.match(said.string, said.end()):
        words = bare
    if said["possessive"]:
        words = f"{lead}{'' if lead.endswith('the ') else 'the '}{bare.removeprefix('the ')}"
    elif lead.strip().lower() not in _DROPPED_LEADS:
        words = f"{lead.removesuffix('the ')}{bare}"
    return words[:1].upper() + words[1:] if said.start() == 0 else words


# Reading: what only statements say, or mean otherwise

_DAYS: Mapping[str, int] = {**cal.ENGLISH_DAYS, "tonight": 0}
_DAYS_OF_PARTS: Mapping[str, int] = {"this": 0, "last": -1, "yesterday": -1}


def _read_day(said: Match, now: datetime) -> Span:
    return cal.get_days(now, _DAYS[get_word(said, "day")])


def _read_part_of_day(said: Match, now: datetime) -> Span:
    return cal.get_days(now, _DAYS_OF_PARTS[get_word(said, "which")])


def _read_ago(said: Match, now: datetime) -> Span:
    """The unit so long ago. A question about it leaves some room around the day instead."""
    return cal.get_period(now, get_word(said, "unit"), -cal.parse_count(get_word(said, "count")))


def _read_ahead(said: Match, now: datetime) -> Span:
    if not _FUTURE.search(said.string, 0, said.start()):
        raise ValueError("how long something took, not when it will be")
    return cal.get_period(now, get_word(said, "unit"), cal.parse_count(get_word(said, "count")))


def _read_now(said: Match, now: datetime) -> Span:
    return cal.get_period(now, get_word(said, "unit"), 0)


def _read_coming_weekday(said: Match, now: datetime) -> Span:
    """Read "this" and "next" as the first to come: a plan means that, a question means the week."""
    which = get_which(said)
    if cal.STEPS[which] < 0:
        return read_weekday(said, now)
    ahead = (cal.WEEKDAYS[get_word(said, "weekday")] - now.weekday()) % 7
    return cal.get_days(now, ahead if which == "this" else ahead or 7)


# Writing


def _write_unit(unit: str, begins: datetime) -> str:
    day = f"{begins:%Y-%m-%d}"
    return {
        "day": f"on {day}",
        "week": f"in the week of {day}",
        "weekend": f"on the weekend of {day}",
        "month": f"in {month_name[begins.month]} {begins.year}",
        "year": f"in {begins.year}",
    }[unit]


def _write_said_unit(said: Match, begins: datetime) -> str:
    return _write_unit(get_word(said, "unit"), begins)


def _write_day(_: Match, begins: datetime) -> str:
    return _write_unit("day", begins)


def _write_month(_: Match, begins: datetime) -> str:
    return _write_unit("month", begins)


def _write_part_of_day(said: Match, begins: datetime) -> str:
    part = get_word(said, "part")
    return f"on the {'evening' if part == 'night' else part} of {begins:%Y-%m-%d}"


def _write_vaguely(said: Match, begins: datetime) -> str:
    unit = get_word(said, "unit")
    now = _write_unit(unit, begins).removeprefix("on ").removeprefix("in ")
    return f"{get_word(said, 'some')} {unit}s before {now}"


def _write_season(said: Match, begins: datetime) -> str:
    return f"in {get_word(said, 'season')} {begins.year}"


def _row(pattern: str, read: Reader, write: Callable[[Match, datetime], str]) -> _Row:
    whole = rf"{_LEAD}\b{pattern}(?P<possessive>'s)?(?![\w'])"
    return _Row(re.compile(whole, re.I), read, write)


_PART = r"(?P<which>this|last|yesterday) (?P<part>morning|afternoon|evening|night)"
_SOME = r"(?P<some>a few|several|some|many)"
_ROWS = (
    _row(_PART, _read_part_of_day, _write_part_of_day),
    _row(rf"(?P<day>{cal.match_any(_DAYS)})", _read_day, _write_day),
    _row(
        rf"(?:about |around |like )?{_COUNT} {_UNIT} (?:ago|back|earlier)",
        _read_ago,
        _write_said_unit,
    ),
    _row(rf"{_SOME} {_UNIT} (?:ago|back)", _read_now, _write_vaguely),
    _row(rf"(?<=\bin ){_COUNT} {_UNIT}(?: from now)?(?:'? time)?", _read_ahead, _write_said_unit),
    _row(rf"{_COUNT} {_UNIT} from now", _read_ahead, _write_said_unit),
    _row(rf"{cal.WHICH}{cal.ANY_WEEKDAY}", _read_coming_weekday, _write_day),
    _row(rf"{cal.WHICH}(?P<unit>weekend)", read_period, _write_said_unit),
    _row(rf"{cal.WHICH}{cal.SEASON}", read_season, _write_season),
    _row(rf"{cal.WHICH}{cal.MONTH}", read_month, _write_month),
    _row(rf"{cal.WHICH}(?P<unit>week|month|year)", read_period, _write_said_unit),
)

# Dates that are written out

_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_WRITTEN = re.compile(
    rf"\b{cal.MONTH}\.? (?P<first>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}}))?"
    rf"|\b(?P<second>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<after>{cal.match_any(cal.MONTHS)})\b"
    r"(?:,? (?P<later>\d{4}))?",
    re.I,
)


def _written_date(text: str, now: datetime | None, zone: tzinfo) -> datetime | None:
    """Return the first date that is written out, an ISO date before others.

    One without a year is the nearest to `now`, since a statement may be a plan; a question takes
    the latest that is not in the future.
    """
    try:
        if iso := _ISO.search(text):
            return datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=zone)
        said = _WRITTEN.search(text)
        if said is None:
            return None
        month = cal.MONTHS[get_word(said, "month") or get_word(said, "after")]
        day, year = int(said["first"] or said["second"]), said["year"] or said["later"]
        if year:
            return datetime(int(year), month, day, tzinfo=zone)
        if now is None:
            return None
        today = cal.get_days(now, 0)[0]
        years = [year for year in (now.year - 1, now.year, now.year + 1) if 1 < year < 9999]
        nearest = min(
            (datetime(year, month, day) for year in years),
            key=lambda day: abs(day - today),
            default=None,
        )
        return nearest and nearest.replace(tzinfo=zone)
    except (ValueError, LookupError):  # 31 February; ſ, which matches an s but is none
        return None
