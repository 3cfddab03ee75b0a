"""The time that a question speaks of. Pure. A new phrase is a new row in `_RULES`, a new word one in `calendar_words`.

Where rows overlap, the one further up wins; of several times, the shortest, then the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span

READ = 2000
"""Characters of a question that are looked at."""
RECENT = 30


@dataclass(frozen=True, slots=True)
class When:
    """`[start, end)` in UTC, the words that said so, and whether they name a day or a span."""

    start: datetime
    end: datetime
    phrase: str
    exact: bool = True


_Said = re.Match[str]
_Read = Callable[[_Said, datetime], Span]


@dataclass(frozen=True, slots=True)
class _Rule:
    said: re.Pattern[str]
    core: str
    """A pattern without what must stand around it: how it is said as the end of a range. Few questions have one."""
    read: _Read


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    span: Span | None
    """None if the words speak of a time that does not exist or cannot be read."""
    opens: str = ""
    exact: bool = True


def parse_when(text: str, now: datetime) -> When | None:
    """The time a question speaks of; None if it speaks of none, asks for one, or the calendar does not reach so far.

    Days are days where `now` is; without a time zone that is UTC.
    """
    asked = text[:READ]
    if _ASKS.match(asked):
        return None
    found = [when for mention in _mentions(asked, now.replace(tzinfo=None)) if (when := _when(mention, asked, now))]
    return min(found, key=lambda when: when.end - when.start, default=None)


def _when(mention: _Mention, asked: str, now: datetime) -> When | None:
    if not mention.span:
        return None
    zone = cal.zone_of(now)
    start, end = (cal.in_utc(moment, zone) for moment in mention.span)
    opens = cal.OPENERS.get(mention.opens)
    if opens in ("since", "after"):
        today = cal.in_utc(now.replace(tzinfo=None), zone)
        start, end = start if opens == "since" else end, today + min(timedelta(1), cal.LAST - today)
    elif opens:
        start, end = cal.FIRST, start if opens == "before" else end
    return When(start, end, asked[mention.start : mention.end], mention.exact) if start < end else None


def _mentions(asked: str, now: datetime) -> list[_Mention]:
    """In the order of the text. What is no date ("February 31") still keeps shorter readings from its words."""
    taken = bytearray(len(asked))
    mentions = []
    for mention in _readings(asked, now):
        words = slice(mention.start, mention.end)
        if not any(taken[words]):
            taken[words] = b"\1" * len(taken[words])
            mentions.append(mention)
    return sorted(mentions, key=lambda mention: mention.start)


def _readings(asked: str, now: datetime) -> Iterator[_Mention]:
    for head in _RANGE.finditer(asked):
        yield from _range(head, now)
    for rule in _RULES:
        for said in rule.said.finditer(asked):
            again = _EVERY.search(asked[max(0, said.start() - 20) : said.start()])
            exact = rule.read is not _recent and _word(said, "count") not in cal.VAGUE
            yield _Mention(*said.span(), None if again else _span(rule, said, now), _word(said, "opens"), exact)


def _range(head: _Said, now: datetime) -> Iterator[_Mention]:
    """From one time to another. A beginning without a year is the latest before the end."""
    first = _core_at(head.string, head.end())
    if not first or _word(first[1], "to"):  # "March 3 to 10" has a row
        return
    join = _JOIN.match(head.string, first[1].end())
    last = _core_at(head.string, join.end()) if join else None
    if not last:
        if head[1].lower() == "between" or (join and join[1]):  # half of it would be wrong
            yield _Mention(head.start(), first[1].end(), None)
        return
    end = _span(*last, now)
    floats = first[0].read in _FLOATING and not (_word(first[1], "year") or _word(first[1], "which"))
    start = _span(*first, end[0] if end and floats else now)
    yield _Mention(head.start(), last[1].end(), (start[0], end[1]) if start and end else None)


def _core_at(asked: str, at: int) -> tuple[_Rule, _Said] | None:
    return next(((rule, said) for rule in _RULES if (said := _core(rule.core).match(asked, at))), None)


@cache
def _core(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _span(rule: _Rule, said: _Said, now: datetime) -> Span | None:
    try:
        return rule.read(said, now)
    except (ValueError, LookupError, StopIteration):  # 31 February; ſ, which matches an s but is none; nothing so early
        return None


def _word(said: _Said, name: str) -> str:
    """What was said there: in lower case with single spaces; nothing if the pattern has no such place."""
    return " ".join((said.groupdict().get(name) or "").lower().split())


def _which(said: _Said) -> str:
    return _word(said, "which").rpartition(" ")[2]


def _day(said: _Said, now: datetime) -> Span:
    return cal.days(now, cal.DAYS[_word(said, "day")])


def _hours(said: _Said, now: datetime) -> Span:
    first, last = cal.HOURS[_word(said, "hours")]
    midnight = cal.days(now, 0)[0]
    return cal.shifted(midnight, 0, first), cal.shifted(midnight, 0, last)


def _date(said: _Said, now: datetime) -> Span:
    """A day, or the days until another; without a year, the latest that is not in the future."""
    month = cal.MONTHS.get(_word(said, "month")) or int(said["month"])
    return _dated(said, now, month, int(said["day"]))


def _dated(said: _Said, now: datetime, month: int, day: int) -> Span:
    to = int(_word(said, "to") or day)
    datetime(2000, month, to)  # raises if the month never has such a day
    of = cal.dated(month, day, count=to - day + 1)
    return _yearly(of, said, now)


def _numeric(said: _Said, now: datetime) -> Span:
    """Day and month in either order, if only one can be meant."""
    day, month = int(said["one"]), int(said["two"])
    if month > 12:
        day, month = month, day
    elif day <= 12 and day != month:
        raise ValueError("the fifth of March, or the third of May")
    return _dated(said, now, month, day)


def _yearly(of: cal.OfYear, said: _Said, now: datetime) -> Span:
    return of(int(said["year"])) if _word(said, "year") else cal.occurrence(of, now, _which(said))


def _month(said: _Said, now: datetime) -> Span:
    span = _yearly(cal.monthly((cal.MONTHS | cal.FOREIGN_MONTHS)[_word(said, "month")]), said, now)
    if not _word(said, "part"):
        return span
    third = cal.PARTS[_word(said, "part")]
    return cal.shifted(span[0], 10 * third), span[1] if third == 2 else cal.shifted(span[0], 10 * third + 10)


def _season(said: _Said, now: datetime) -> Span:
    return _yearly(cal.monthly(cal.SEASONS[_word(said, "season")], 3), said, now)


def _quarter(said: _Said, now: datetime) -> Span:
    return _yearly(cal.monthly(3 * cal.QUARTERS[_word(said, "quarter")] - 2, 3), said, now)


def _holiday(said: _Said, now: datetime) -> Span:
    return _yearly(cal.HOLIDAYS[re.sub("['’]", "", _word(said, "holiday"))], said, now)


def _year(said: _Said, _: datetime) -> Span:
    year, part = int(said["year"]), _word(said, "part")
    years = int(_word(said, "until") or year) - year + 1
    return cal.months(year, 4 * cal.PARTS[part] + 1, 4) if part else cal.months(year, 1, 12 * years)


def _period(said: _Said, now: datetime) -> Span:
    return cal.period(now, _word(said, "unit"), cal.STEPS[_which(said)])


def _named_period(said: _Said, now: datetime) -> Span:
    return cal.period(now, *cal.PERIODS[_word(said, "period")])


def _weekday(said: _Said, now: datetime) -> Span:
    return cal.weekday(now, cal.WEEKDAYS[_word(said, "weekday")], _which(said), bool(_word(said, "week")))


def _ago(said: _Said, now: datetime) -> Span:
    if _word(said, "half"):
        return cal.ago(now, 6, "month", cal.SLACK["month"])
    count, unit = cal.number(_word(said, "count")), _word(said, "unit")
    slack = 1 if unit == "day" and count > 7 else cal.SLACK[unit]
    vague = cal.DAYS_IN[unit] if _word(said, "count") in cal.VAGUE else 0
    return cal.ago(now, count, unit, 0 if _word(said, "today") else slack + vague)


def _past(said: _Said, now: datetime) -> Span:
    return cal.back(now, cal.number(_word(said, "count") or "a"), _word(said, "unit")), cal.days(now, 0)[1]


def _recent(_: _Said, now: datetime) -> Span:
    return cal.days(now, -RECENT, RECENT + 1)


def _unread(_: _Said, __: datetime) -> Span:
    raise ValueError("a time, but which is not read yet; half of it would be wrong")


def _row(core: str, read: _Read, before: str = rf"(?:{cal.OPENS})?", after: str = "") -> _Rule:
    """A phrase, and what must stand before and after it. A space is any little white space."""
    tail = rf"(?:{core})(?![\w/-]|\.\d)"
    said, alone = (text.replace(" ", r"(?:\s{1,4})") for text in (rf"(?<![\w./-])(?:{before}){tail}{after}", tail))
    return _Rule(re.compile(said, re.IGNORECASE), alone, read)


_ASKS = re.compile(r"\s*(?:when(?! (?:i|we|my|he|she|they|it)\b)|(?:what|which) (?:date|day|time|year|month))\b", re.IGNORECASE)
_RANGE = re.compile(r"\b(between|from)\s{1,4}(?:the\s{1,4})?", re.IGNORECASE)
_JOIN = re.compile(r"\s{0,4}(?:[-–]|\band\b|\b(to|until|till|through)\b)\s{0,4}(?:the\s{1,4})?", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:every|each|per|page|version)\s(?:(?:other|single)\s)?\Z", re.IGNORECASE)
_FLOATING: tuple[_Read, ...] = (_date, _month, _season, _quarter, _holiday, _weekday)
_RULES = [
    _row(rf"{cal.UNIT}s? (?:before|after)(?! (?:yesterday|tomorrow|last)\b)", _unread, ""),
    _row(rf"{cal.YEAR}[-/](?P<month>[01]?\d)[-/](?P<day>[0-3]?\d)", _date),
    _row(rf"(?P<one>\d{{1,2}})(?P<dot>[/.])(?P<two>\d{{1,2}})(?P=dot){cal.YEAR}", _numeric),
    _row(rf"{cal.SURE} {cal.DAY}{cal.TO}(?:,? {cal.YEAR})?", _date),
    _row(rf"{cal.MONTH} {cal.DAY}{cal.AND}(?:,? {cal.YEAR})?", _date, "(?:between|from) "),
    _row(rf"{cal.DAY}{cal.TO}(?: of)? {cal.SURE}(?:,? {cal.YEAR})?", _date),
    _row(rf"{cal.DAY}{cal.AND}(?: of)? {cal.MONTH}(?:,? {cal.YEAR})?", _date, "(?:between|from) (?:the )?"),
    _row(rf"{cal.MONTH}\.? {cal.DAY},? {cal.YEAR}", _date),
    _row(rf"{cal.DAY}(?: of)? {cal.MONTH},? {cal.YEAR}", _date),
    _row(rf"{cal.NOUN}\.? {cal.DAY}", _date),
    _row(rf"{cal.VERB} {cal.DAY}", _date, rf"(?:{cal.OPENS}|(?:on|from|for|around) )"),
    _row(rf"{cal.CAPITAL} {cal.DAY}", _date, after=cal.ENDS),
    _row(rf"{cal.VERB} (?P<day>[0-3]?\d)(?:st|nd|rd|th)", _date),
    _row(rf"{cal.DAY} of {cal.MONTH}", _date),
    _row(rf"{cal.DAY} {cal.SURE}", _date),
    _row(rf"(?P<half>half a year|a half year) ago|{cal.COUNT} {cal.UNIT}s? ago(?P<today> today)?", _ago),
    _row(rf"(?P<hours>{cal.any_of(cal.HOURS)})", _hours),
    _row(rf"(?P<day>{cal.any_of(cal.DAYS)})", _day),
    _row("now", lambda _, now: cal.days(now, 0), "(?!)"),  # only as the end of a range
    _row(rf"(?P<period>{cal.any_of(cal.PERIODS)})", _named_period),
    _row(rf"{cal.WEEKDAY}(?: of)? {cal.WHICH}(?P<week>week)", _weekday, rf"(?:{cal.OPENS}|on )?"),
    _row(rf"{cal.WHICH}{cal.WEEKDAY}", _weekday, after=cal.NO_SCHOOL),
    _row(cal.WEEKDAY, _weekday, rf"(?:{cal.OPENS}|(?:on|from) )", cal.NO_SCHOOL),
    _row(rf"(?:last|past|previous) {cal.NUMBER} {cal.UNIT}s?", _past, after="(?! of)"),
    _row(r"past (?P<unit>day|week|month|quarter|year)", _past, rf"(?:{cal.IN}|for (?:the )?)?", "(?! of)"),
    _row(r"the last (?P<unit>day|week|month|quarter|year)", _past, "(?:in|over|for|during|within) ", "(?! of)"),
    _row(rf"{cal.WHICH}(?P<unit>weekend|week|month|quarter|year)", _period, after="(?! of)"),
    _row("weekend", lambda _, now: cal.period(now, "weekend", -(now.weekday() < 5)), "(?:over|on|at|during) the "),
    _row(rf"{cal.PART}{cal.MONTH},? {cal.YEAR}", _month),
    _row(rf"{cal.PART}{cal.SURE}", _month),
    _row(rf"{cal.PART}{cal.VERB}", _month, after=cal.ENDS),
    _row(rf"{cal.MONTH}(?: of)?,? {cal.YEAR}", _month, rf"(?:{cal.OPENS}|in )?", cal.NO_COUNT),
    _row(rf"(?P<month>{cal.any_of(cal.FOREIGN_MONTHS)})(?: {cal.YEAR})?", _month),
    _row(rf"{cal.WHICH}{cal.SURE}", _month),
    _row(rf"{cal.WHICH}{cal.VERB}", _month, after=cal.ENDS),
    _row(rf"{cal.QUARTER}(?: of)? {cal.YEAR}", _quarter),
    _row(cal.QUARTER, _quarter, cal.IN, "(?! of)"),
    _row(rf"{cal.SEASON}(?: of)?,? {cal.YEAR}", _season, rf"(?:{cal.IN})?", cal.NO_COUNT),
    _row(rf"{cal.WHICH}{cal.SEASON}", _season, after=cal.NO_VERB),
    _row(cal.SEASON, _season, cal.IN, "(?! of)"),
    _row(rf"{cal.HOLIDAY}(?: of|,)? {cal.YEAR}", _holiday, rf"(?:{cal.AT})?"),
    _row(rf"{cal.WHICH}{cal.HOLIDAY}", _holiday, after=cal.NO_THING),
    _row(cal.HOLIDAY, _holiday, cal.AT, cal.NO_THING),
    _row(cal.HOLIDAY_DAY, _holiday),
    _row(cal.HOLIDAY, _holiday, r"\A", r"\Z"),
    _row(cal.SURE, _month, "(?:in|during|throughout|around) ", r"(?! \d)"),
    _row(cal.PLAIN, _month, rf"(?:{cal.OPENS}|from )", r"(?! \d)"),
    _row(cal.PERSON, _month, cal.OPENS, cal.SAYS_ON),
    _row(cal.MONTH, _month, rf"(?:{cal.OPENS}|(?:in|during|around) )", cal.ENDS),
    _row(rf"{cal.PART}{cal.YEAR}", _year),
    _row(rf"{cal.YEAR}[-–](?P<until>(?:19|20)\d\d)", _year, "(?:in|during|between|from) "),
    _row(cal.YEAR, _year, rf"(?:{cal.OPENS}|(?:in|from|during|throughout|around) )", cal.NO_COUNT),
    _row("recently|lately", _recent),
]
