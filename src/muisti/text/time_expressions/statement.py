"""The day that "yesterday" was: times that depend on when they were said, as dates that stay true.

Days are written as `on 2023-05-07`, weeks by their Monday, months and years by name. Vague words ("recently", "the other day")
stay: they say no date. A new phrase is a new row in `_ROWS`.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo

_Found = tuple[str, datetime]
"""What to write, without "on" or "in" where those belong to it, and the day on which the time begins."""
_Said = re.Match[str]

_NUMBERS: Mapping[str, int] = {
    word: number for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "couple": 2}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Mapping[str, int] = {name.lower(): number for number, name in enumerate(month_name) if name} | {
    name[:3].lower(): number for number, name in enumerate(month_name) if name
}
_SEASONS: Mapping[str, int] = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_STEPS: Mapping[str, int] = {"last": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "previous": -1}

_COUNT = r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:a )?couple(?: of)?)"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_DAY = r"(?P<day>monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|sat|sun)"
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_LEAD = r"(?P<lead>\b(?:on|in|since|by|until|till|from|before|after|of|for|during|over|around) (?:the )?)?"


def resolve_dates(text: str, at: datetime | None) -> tuple[str, datetime | None]:
    """The text with dates for relative times, and the first time that it speaks of; without `at` only full dates are known."""
    found: list[tuple[int, datetime]] = []
    if at is not None and _WORTH_A_LOOK.search(text):
        text = _rewritten(text, at, found)
    about = min(found)[1] if found else _named_date(text, at)
    return text, about


def _rewritten(text: str, at: datetime, found: list[tuple[int, datetime]]) -> str:
    for pattern, read in _ROWS:

        def put(said: _Said, read: Callable[[_Said, datetime], _Found] = read) -> str:
            try:
                words, begins = read(said, at)
            except (ValueError, OverflowError, LookupError):  # beyond the calendar; ſ, which matches an s but is none
                return said[0]
            found.append((said.start(), begins))
            return _placed(said, words)

        text = pattern.sub(put, text)
    return text


def _placed(said: _Said, words: str) -> str:
    """With what stood before it: "since yesterday" takes no "on"; "yesterday's game" becomes "the 2023-05-07 game"."""
    lead = said["lead"] or ""
    begins_sentence = said.start() == 0
    if not lead and _IS_SUBJECT.match(said.string, said.end()):
        words = _bare(words)
    if said["possessive"]:
        written = f"{lead}{'' if lead.endswith('the ') else 'the '}{_bare(words).removeprefix('the ')}"
    elif lead.strip().lower() in ("", "on", "in", "on the", "in the", "over the", "during the", "over", "during", "for"):
        written = words
    else:
        written = f"{lead.removesuffix('the ')}{_bare(words)}"
    return written[:1].upper() + written[1:] if begins_sentence else written


def _bare(words: str) -> str:
    return words[3:] if words.startswith(("on ", "in ")) else words


def _iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def _midnight(at: datetime, days: int = 0) -> datetime:
    day = at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)
    return day if day.tzinfo else day.replace(tzinfo=UTC)


def _on(at: datetime, days: int) -> _Found:
    day = _midnight(at, days)
    return f"on {_iso(day)}", day


def _in_week(at: datetime, weeks: int) -> _Found:
    monday = _midnight(at, 7 * weeks - at.weekday())
    return f"in the week of {_iso(monday)}", monday


def _in_month(at: datetime, months: int) -> _Found:
    number = at.year * 12 + at.month - 1 + months
    first = _midnight(at).replace(year=number // 12, month=number % 12 + 1, day=1)
    return f"in {month_name[first.month]} {first.year}", first


def _in_year(at: datetime, years: int) -> _Found:
    first = _midnight(at).replace(year=at.year + years, month=1, day=1)
    return f"in {first.year}", first


_FUTURE = re.compile(
    r"\b(?:will|going|gonna|due|starts?|ends?|leav\w+|coming|have|has|is|are|plan\w*|until)\b|'(?:ll|re|m|s)\b", re.I
)
_BY_UNIT: Mapping[str, Callable[[datetime, int], _Found]] = {"day": _on, "week": _in_week, "month": _in_month, "year": _in_year}


def _count(said: _Said) -> int:
    word = said["count"].lower().removeprefix("a ").removesuffix(" of")
    return int(word) if word.isdigit() else _NUMBERS[word]


def _ago(said: _Said, at: datetime) -> _Found:
    return _BY_UNIT[said["unit"].lower()](at, -_count(said))


def _ahead(said: _Said, at: datetime) -> _Found:
    if not _FUTURE.search(said.string, 0, said.start()):
        raise ValueError("how long something took, not when it will be")
    return _BY_UNIT[said["unit"].lower()](at, _count(said))


def _vaguely_ago(said: _Said, at: datetime) -> _Found:
    unit = said["unit"].lower()
    words, begins = _BY_UNIT[unit](at, 0)
    return f"{said['some'].lower()} {unit}s before {words.removeprefix('on ').removeprefix('in ')}", begins


def _unit(said: _Said, at: datetime) -> _Found:
    return _BY_UNIT[said["unit"].lower()](at, _STEPS[said["which"].lower()])


def _weekday(said: _Said, at: datetime) -> _Found:
    number = _WEEKDAYS.index(said["day"].lower()[:3])
    which = said["which"].lower()
    ahead = (number - at.weekday()) % 7
    if which in ("last", "past", "previous"):
        return _on(at, ahead - 7)
    return _on(at, ahead if which == "this" else ahead or 7)


def _weekend(said: _Said, at: datetime) -> _Found:
    saturday = _midnight(at, 5 - at.weekday() + 7 * _STEPS[said["which"].lower()])
    return f"on the weekend of {_iso(saturday)}", saturday


def _season(said: _Said, at: datetime) -> _Found:
    season, step = said["season"].lower(), _STEPS[said["which"].lower()]
    month = _SEASONS[season]
    year = at.year + step if step <= 0 or at.month >= month else at.year
    if step < 0 and at.month > month + 2:  # in October "last summer" is the one that has just been
        year = at.year
    return f"in {season} {year}", _midnight(at).replace(year=year, month=month, day=1)


def _month_of(said: _Said, at: datetime) -> _Found:
    month, step = _MONTHS[said["month"].lower()], _STEPS[said["which"].lower()]
    year = at.year + (step if step < 0 <= month - at.month or step > 0 >= month - at.month else 0)
    return f"in {month_name[month]} {year}", _midnight(at).replace(year=year, month=month, day=1)


def _part(said: _Said, at: datetime) -> _Found:
    _, begins = _on(at, -1 if (said["which"] or "").lower() in ("last", "yesterday") else 0)
    part = said["part"].lower()
    return f"on the {'evening' if part == 'night' else part} of {_iso(begins)}", begins


_DAYS: Mapping[str, int] = {
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
}


def _day(said: _Said, at: datetime) -> _Found:
    return _on(at, _DAYS[said["name"].lower()])


_WHICH = r"(?P<which>last|past|this|next|coming|previous)"
_ROWS: tuple[tuple[re.Pattern[str], Callable[[_Said, datetime], _Found]], ...] = tuple(
    (re.compile(rf"{_LEAD}\b{row}(?P<possessive>'s)?(?![\w'])", re.I), read)
    for row, read in (
        (r"(?P<which>this|last|yesterday) (?P<part>morning|afternoon|evening|night)", _part),
        (r"(?P<name>the day before yesterday|the day after tomorrow|yesterday|today|tonight|tomorrow)", _day),
        (rf"(?:about |around |like )?{_COUNT} {_UNIT} (?:ago|back|earlier)", _ago),
        (rf"(?P<some>a few|several|some|many) {_UNIT} (?:ago|back)", _vaguely_ago),
        (rf"(?<=\bin ){_COUNT} {_UNIT}(?: from now)?(?:'? time)?", _ahead),
        (rf"{_COUNT} {_UNIT} from now", _ahead),
        (rf"{_WHICH} {_DAY}", _weekday),
        (rf"{_WHICH} weekend", _weekend),
        (rf"{_WHICH} (?P<season>spring|summer|autumn|fall|winter)", _season),
        (rf"{_WHICH} {_MONTH}", _month_of),
        (rf"{_WHICH} (?P<unit>week|month|year)", _unit),
    )
)
_IS_SUBJECT = re.compile(r" (?:is|was|will|has|had|went|turned|'s)\b", re.I)
"""After "last week" these make it what is spoken of: "the week of … was wild"."""
_WORTH_A_LOOK = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|back|earlier|from now|last|past|this|next|coming|previous|"
    r"in (?:an?|\d|[a-z]+) )",
    re.I,
)

# Dates that are written out -------------------------------------------------------------------------------------------

_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_WRITTEN = re.compile(
    rf"\b{_MONTH}\.? (?P<first>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}}))?"
    rf"|\b(?P<second>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<after>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b"
    r"(?:,? (?P<later>\d{4}))?",
    re.I,
)


def _named_date(text: str, at: datetime | None) -> datetime | None:
    """The first date that is written out; one without a year is the nearest to `at`."""
    iso = _ISO.search(text)
    written = _WRITTEN.search(text)
    try:
        if iso:
            return datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=_zone(at))
        return _written_date(written, at) if written else None
    except ValueError:  # 31 February
        return None


def _written_date(said: _Said, at: datetime | None) -> datetime | None:
    month = _MONTHS[(said["month"] or said["after"]).lower()]
    day, year = int(said["first"] or said["second"]), said["year"] or said["later"]
    if year:
        return datetime(int(year), month, day, tzinfo=_zone(at))
    if at is None:
        return None
    nearest = [datetime(at.year + step, month, day, tzinfo=_zone(at)) for step in (-1, 0, 1) if 1 < at.year + step < 9999]
    today = _midnight(at)
    return min(nearest, key=lambda day: abs(day - today), default=None)


def _zone(at: datetime | None) -> tzinfo:
    return (at.tzinfo if at else None) or UTC
