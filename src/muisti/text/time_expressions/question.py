"""Finds the time that a question mentions.

To support a new phrase, add a row to `_RULES`; for a new word, an entry to `calendar`. If rows
overlap, the first one wins. Of several times, an exact one wins, then the shortest span, then one
with its year, then the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions import nested
from muisti.text.time_expressions.calendar import Span
from muisti.text.time_expressions.readers import (
    MONTHS_AGO,
    Match,
    Reader,
    get_word,
    read_ago,
    read_ahead,
    read_current,
    read_date,
    read_day,
    read_foreign_ago,
    read_from_now,
    read_half,
    read_holiday,
    read_hours,
    read_long_weekend,
    read_month,
    read_month_number,
    read_named_period,
    read_numeric_date,
    read_past,
    read_period,
    read_quarter,
    read_recent,
    read_season,
    read_season_before_last,
    read_week_number,
    read_weekday,
    read_weekday_ago,
    read_year,
    refuse,
)

READ = 2000
"""Characters of a question that are searched."""


@dataclass(frozen=True, slots=True)
class When:
    """The span `[start, end)` in UTC, the words that name it, and whether they are exact."""

    start: datetime
    end: datetime
    phrase: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: str
    """Compiled on first use: a question needs few of the rules."""
    core: str
    """The pattern without its context, for the ends of a range and what a phrase refers to."""
    read: Reader
    needs: tuple[str, ...]
    """The question must contain one of these, in lower case; empty if there are too many."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The words before a time that name another by it."""

    pattern: str
    hosts: tuple[Reader, ...]
    """The readers of the times that it may refer to."""
    read: Callable[[Match, Span], Span]


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    span: Span | None
    """None for a time that does not exist or is not supported."""
    opens: str = ""
    exact: bool = True
    has_year: bool = False


def parse_when(text: str, now: datetime) -> When | None:
    """Return the time that a question mentions.

    None if it mentions none, asks for a time, or the time is out of range. Days are those of
    `now`'s time zone, or UTC.
    """
    question = text[:READ]
    if _ASKS.match(question):
        return None
    taken = bytearray(len(question))
    found = []
    for mention in _find_mentions(question, now.replace(tzinfo=None)):
        words = slice(mention.start, mention.end)
        if any(taken[words]):
            continue
        # An invalid date ("February 31") takes its words, too: no part of it is read differently.
        taken[words] = b"\1" * len(taken[words])
        span = _to_utc_span(mention, now)
        if span is not None:
            when = When(*span, question[words], mention.exact)
            order = (not when.exact, when.end - when.start, not mention.has_year, mention.start)
            found.append((order, when))
    return min(found, key=lambda each: each[0])[1] if found else None


def _to_utc_span(mention: _Mention, now: datetime) -> Span | None:
    """Return the span in UTC, extended to now or to the beginning if a word opens it."""
    if not mention.span:
        return None
    zone = cal.get_zone(now)
    start, end = (cal.to_utc(moment, zone) for moment in mention.span)
    opens = cal.OPENERS.get(mention.opens)
    if opens in ("since", "after"):
        today = cal.to_utc(now.replace(tzinfo=None), zone)
        start = start if opens == "since" else end
        end = today + min(timedelta(1), cal.LAST - today)
    elif opens:
        start, end = cal.FIRST, start if opens == "before" else end
    return (start, end) if start < end else None


def _find_mentions(question: str, now: datetime) -> Iterator[_Mention]:
    """Yield mentions, which may overlap, the preferred ones first."""
    plain = question.casefold()
    present = {word for word in _NEEDED if word in plain}
    for match in _RANGE.finditer(question):
        yield from _read_range(match, now)
    for head in _HEADS:
        for match in _compile(head.pattern, re.IGNORECASE).finditer(question):
            yield from _read_nested(head, match, now)
    for rule in _RULES:
        if rule.needs and present.isdisjoint(rule.needs):
            continue
        for match in _compile(rule.pattern, re.IGNORECASE).finditer(question):
            span = None if _is_repeated(match) else _read_span(rule, match, now)
            exact = rule.read is not read_recent and get_word(match, "count") not in cal.VAGUE
            has_year = bool(get_word(match, "year"))
            yield _Mention(*match.span(), span, get_word(match, "opens"), exact, has_year)


def _is_repeated(match: Match) -> bool:
    """Return whether the time recurs: "every Monday"."""
    before = match.string[max(0, match.start() - 20) : match.start()]
    return _EVERY.search(before) is not None


def _read_nested(head: _Head, match: Match, now: datetime) -> Iterator[_Mention]:
    """Read a phrase and the time that it refers to: "the first week of March"."""
    inner = _match_core(match.string, match.end(), head.hosts)
    if not inner:
        return
    host = _read_span(*inner, now)
    if host and inner[0].read is read_holiday and head.read is nested.read_beside:
        middle = (host[1] - host[0]).days // 2  # of Easter, the Sunday
        host = cal.get_days(host[0], middle)
    try:
        span = None if host is None or _is_repeated(match) else head.read(match, host)
    except (ValueError, LookupError):  # a month has no sixth week
        span = None
    has_year = bool(get_word(inner[1], "year"))
    opens = get_word(match, "opens")
    yield _Mention(match.start(), inner[1].end(), span, opens, has_year=has_year)


def _read_range(head: Match, now: datetime) -> Iterator[_Mention]:
    """Read "from … to …". A start without a year is the latest one before the end."""
    first = _match_core(head.string, head.end())
    if not first or get_word(first[1], "to"):  # "March 3 to 10" has its own row
        return
    join = _JOIN.match(head.string, first[1].end())
    last = _match_core(head.string, join.end()) if join else None
    if not last:
        if head[1].lower() == "between" or (join and join[1]):  # reading half of it is wrong
            yield _Mention(head.start(), first[1].end(), None)
        return
    end = _read_span(*last, now)
    has_year = get_word(first[1], "year") or get_word(first[1], "which")
    floats = first[0].read in _FLOATING and not has_year
    start = _read_span(*first, end[0] if end and floats else now)
    yield _Mention(head.start(), last[1].end(), (start[0], end[1]) if start and end else None)


def _match_core(
    question: str, at: int, readers: tuple[Reader, ...] = ()
) -> tuple[_Rule, Match] | None:
    """Return the first rule whose core matches at a position, and the match.

    Readers: only rules with these; empty for all.
    """
    for rule in _RULES:
        if readers and rule.read not in readers:
            continue
        if match := _compile(rule.core, re.IGNORECASE).match(question, at):
            return rule, match
    return None


_compile = cache(re.compile)


def _read_span(rule: _Rule, match: Match, now: datetime) -> Span | None:
    try:
        return rule.read(match, now)
    except (ValueError, LookupError, StopIteration):  # 31 February, a name with ſ, before year 1
        return None


def _row(core: str, read: Reader, before: str = rf"(?:{cal.OPENS})?", after: str = "") -> _Rule:
    """Make a rule for a phrase and its context. A space matches up to four white spaces."""
    tail = rf"(?:{core})(?![\w/-]|\.\d)".replace(" ", _SPACE)
    begin = rf"(?<![\w./-])(?:{before})".replace(" ", _SPACE)
    pattern = begin + tail + after.replace(" ", _SPACE)
    needs = next((words for group, words in _NEEDS.items() if group in core), ())
    return _Rule(pattern, tail, read, needs)


def _head(words: str, hosts: tuple[Reader, ...], read: Callable[[Match, Span], Span]) -> _Head:
    pattern = rf"(?<![\w./-])(?:{cal.OPENS})?(?:the )?{words}(?:the )?".replace(" ", _SPACE)
    return _Head(pattern, hosts, read)


def _last_words(names: Iterable[str]) -> tuple[str, ...]:
    return tuple({name.split()[-1] for name in names})


_NEEDS = {
    "(?P<which_year>": ("year",),
    "(?P<holiday>": tuple({re.split(r"\W", name)[0] for name in cal.HOLIDAYS}),
    "(?P<season>": tuple(cal.SEASONS),
    "(?P<weekday>": tuple(name for name in cal.WEEKDAYS if name.endswith("day")),
    "january": tuple({name[:3] for name in cal.MONTHS}),
    "march|may": ("mar", "may"),
    "(?P<quarter>": ("q",),
    " ago": ("ago", "last"),
    "(?P<unit>": (*cal.FOREIGN_UNITS, "hour", "day", "week", "month", "quarter", "year"),
    "(?P<hours>": _last_words(cal.HOURS),
    "(?P<period>": _last_words(cal.PERIODS),
    "yesterday": _last_words(cal.DAYS),
    "(?P<recent>": ("recent", "lately", "other"),
    "weekend": ("weekend",),
    "maaliskuussa": _last_words(cal.FOREIGN_MONTHS),
    "(?-i:": ("jan", "mar", "apr", "may", "jun", "aug"),
    cal.YEAR: ("19", "20"),
    "(?P<one>": ("/",),
}
"""Words without which a rule with such a group cannot match. The first group of a rule counts."""
_SPACE = r"(?:\s{1,4})"
_ASKS = re.compile(
    r"\s*(?:when(?! (?:i|we|my|he|she|they|it)\b)|(?:what|which) (?:date|day|time|year|month))\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\b(between|from)\s{1,4}(?:the\s{1,4})?", re.IGNORECASE)
_JOIN = re.compile(
    r"\s{0,4}(?:[-–]|\band\b|\b(to|until|till|through)\b)\s{0,4}(?:the\s{1,4})?", re.IGNORECASE
)
_EVERY = re.compile(r"\b(?:every|each|per|page|version)\s(?:(?:other|single)\s)?\Z", re.IGNORECASE)
_FLOATING: tuple[Reader, ...] = (
    read_date,
    read_month,
    read_season,
    read_quarter,
    read_holiday,
    read_weekday,
)
_PERIODS: tuple[Reader, ...] = (
    read_current,
    read_month,
    read_named_period,
    read_period,
    read_quarter,
    read_season,
    read_year,
)
_DAYS: tuple[Reader, ...] = (
    read_date,
    read_day,
    read_holiday,
    read_numeric_date,
    read_weekday,
)
_HEADS = [
    _head(nested.NTH, _PERIODS, nested.read_nth),
    _head(nested.PART, (read_current, read_period, read_quarter, read_season), nested.read_part),
    _head(nested.BESIDE, (*_DAYS, *_PERIODS), nested.read_beside),
    _head(nested.AROUND, _DAYS, nested.read_around),
]
_AGO = rf"{cal.COUNT} {cal.ANY_UNIT}s? ago"
_RULES = [
    _row(rf"{cal.UNIT}s? (?:before|after)(?! (?:yesterday|tomorrow|last)\b)", refuse, ""),
    _row(rf"{cal.YEAR}[-/](?P<month>[01]?\d)[-/](?P<day>[0-3]?\d)", read_date),
    _row(
        rf"(?P<one>\d{{1,2}})(?P<dot>[/.])(?P<two>\d{{1,2}})(?P=dot){cal.YEAR}", read_numeric_date
    ),
    _row(rf"{cal.SURE} {cal.DAY}{cal.TO}(?:,? {cal.YEAR})?", read_date),
    _row(rf"{cal.MONTH} {cal.DAY}{cal.AND}(?:,? {cal.YEAR})?", read_date, "(?:between|from) "),
    _row(rf"{cal.DAY}{cal.TO}(?: of)? {cal.SURE}(?:,? {cal.YEAR})?", read_date),
    _row(
        rf"{cal.DAY}{cal.AND}(?: of)? {cal.MONTH}(?:,? {cal.YEAR})?",
        read_date,
        "(?:between|from) (?:the )?",
    ),
    _row(rf"{cal.MONTH}\.? {cal.DAY}(?:,? |,){cal.YEAR}", read_date),
    _row(rf"{cal.DAY}(?: of)? {cal.MONTH},? {cal.YEAR}", read_date),
    _row(rf"{cal.SURE}\.? {cal.DAY},? {cal.OTHER_YEAR}", read_date),
    _row(rf"{cal.NOUN}\.? {cal.DAY}", read_date),
    _row(rf"{cal.VERB} {cal.DAY}", read_date, rf"(?:{cal.OPENS}|(?:on|from|for|around) )"),
    _row(rf"{cal.CAPITAL} {cal.DAY}", read_date, after=cal.ENDS),
    _row(rf"{cal.VERB} (?P<day>[0-3]?\d)(?:st|nd|rd|th)", read_date),
    _row(rf"{cal.DAY} of {cal.MONTH}", read_date),
    _row(rf"{cal.DAY} {cal.SURE}", read_date),
    _row(r"(?P<one>\d{1,2})/(?P<two>1[3-9]|2\d|3[01])", read_numeric_date, rf"(?:{cal.OPENS}|on )"),
    _row(rf"{cal.WEEKDAY} {cal.COUNT} {cal.UNIT}s? ago", read_weekday_ago),
    _row(rf"{cal.COUNT} {cal.UNIT}s? ago(?: on)? {cal.WEEKDAY}", read_weekday_ago),
    _row(rf"{cal.NUMBER} {cal.WEEKDAY}s ago", read_weekday_ago),
    _row(rf"the {cal.WEEKDAY} before last", read_weekday_ago),
    _row(rf"(?P<named>{cal.match_any(MONTHS_AGO)})|{_AGO}(?P<today> today)?", read_ago),
    _row(rf"{cal.COUNT} {cal.UNIT}s? from (?:now|today)", read_from_now),
    _row(rf"{cal.FOREIGN_COUNT} {cal.FOREIGN_UNIT} (?:sitten|sedan)", read_foreign_ago),
    _row(rf"{cal.FOREIGN_COUNT} {cal.FOREIGN_UNIT}", read_foreign_ago, "vor "),
    _row(rf"{cal.SURE}(?: of)? {cal.OTHER_YEAR}", read_month, rf"(?:{cal.OPENS}|in )?"),
    _row(rf"{cal.OTHER_YEAR} in {cal.SURE}", read_month),
    _row(rf"(?P<season>summer|winter|autumn)(?: of)? {cal.OTHER_YEAR}", read_season),
    _row(rf"{cal.SEASON}(?: of)? {cal.OTHER_YEAR}", read_season, cal.IN),
    _row(rf"the {cal.SEASON} before last", read_season_before_last),
    _row(rf"{cal.QUARTER}(?: of)? {cal.OTHER_YEAR}", read_quarter),
    _row(rf"{cal.HOLIDAY}(?: of)? {cal.OTHER_YEAR}", read_holiday, rf"(?:{cal.AT})?"),
    _row(rf"(?P<hours>{cal.match_any(cal.HOURS)})", read_hours),
    _row(rf"(?P<day>{cal.match_any(cal.DAYS)})", read_day),
    _row("now", lambda _, now: cal.get_days(now, 0), "(?!)"),  # only as the end of a range
    _row(rf"(?P<period>{cal.match_any(cal.PERIODS)})", read_named_period),
    _row(
        rf"{cal.WEEKDAY}(?: of)? {cal.WHICH}(?P<week>week)", read_weekday, rf"(?:{cal.OPENS}|on )?"
    ),
    _row(rf"{cal.WHICH}(?P<week>week) on {cal.WEEKDAY}", read_weekday),
    _row(rf"{cal.WHICH}{cal.WEEKDAY}", read_weekday, after=cal.NO_SCHOOL),
    _row(cal.WEEKDAY, read_weekday, rf"(?:{cal.OPENS}|(?:on|from) )", cal.NO_SCHOOL),
    _row(
        rf"(?:last|past|previous) {cal.NUMBER} (?P<unit>hour|day|weekend|week|month|year)s?",
        read_past,
        after="(?! of)",
    ),
    _row(rf"next {cal.NUMBER} {cal.UNIT}s?", read_ahead, after="(?! of)"),
    _row(
        r"past (?P<unit>day|week|month|quarter|year)",
        read_past,
        rf"(?:{cal.IN}|for (?:the )?)?",
        "(?! of)",
    ),
    _row(
        r"the last (?P<unit>day|week|month|quarter|year)",
        read_past,
        "(?:in|over|for|during|within) ",
        "(?! of)",
    ),
    _row(rf"{cal.WHICH}(?P<unit>weekend|week|month|quarter|year)", read_period, after="(?! of)"),
    _row(
        "weekend",
        lambda _, now: cal.get_period(now, "weekend", -(now.weekday() < 5)),
        "(?:over|on|at|during) the ",
    ),
    _row(r"the (?P<unit>week|month|quarter|year)(?! (?:\d|of))", read_current, "(?!)"),  # in a head
    _row(r"(?P<unit>week|month|quarter|year)(?! (?:\d|of))", read_current, "(?!)"),
    _row(rf"week (?P<week>[0-5]?\d)(?: of|,)? {cal.YEAR}", read_week_number),
    _row(rf"{cal.PART}{cal.MONTH},? {cal.YEAR}", read_month),
    _row(rf"{cal.PART}{cal.SURE}", read_month),
    _row(rf"{cal.PART}{cal.VERB}", read_month, after=cal.ENDS),
    _row(rf"{cal.MONTH}(?: of)?,? {cal.YEAR}", read_month, rf"(?:{cal.OPENS}|in )?", cal.NO_COUNT),
    _row(rf"(?P<month>{cal.match_any(cal.FOREIGN_MONTHS)})(?: {cal.YEAR})?", read_month),
    _row(rf"{cal.WHICH}{cal.SURE}", read_month),
    _row(rf"{cal.WHICH}{cal.VERB}", read_month, after=cal.ENDS),
    _row(rf"{cal.QUARTER}(?: of)? {cal.YEAR}", read_quarter),
    _row(rf"{cal.YEAR} (?P<quarter>q[1-4])", read_quarter),
    _row(rf"h(?P<half>[12]) {cal.YEAR}", read_half),
    _row(cal.QUARTER, read_quarter, cal.IN, "(?! of)"),
    _row(rf"{cal.SEASON}(?: of)?,? {cal.YEAR}", read_season, rf"(?:{cal.IN})?", cal.NO_COUNT),
    _row(rf"{cal.WHICH}{cal.SEASON}", read_season, after=cal.NO_VERB),
    _row(cal.SEASON, read_season, cal.IN, "(?! of)"),
    _row(rf"{cal.HOLIDAY_DAY} weekend", read_long_weekend),
    _row(rf"{cal.HOLIDAY}(?: of|,)? {cal.YEAR}", read_holiday, rf"(?:{cal.AT})?"),
    _row(rf"{cal.WHICH}{cal.HOLIDAY}", read_holiday, after=cal.NO_THING),
    _row(cal.HOLIDAY, read_holiday, cal.AT, cal.NO_THING),
    _row(cal.HOLIDAY_DAY, read_holiday),
    _row(cal.HOLIDAY, read_holiday, r"\A", r"\Z"),
    _row(cal.SURE, read_month, "(?:in|during|throughout|around) ", r"(?! \d)"),
    _row(cal.PLAIN, read_month, rf"(?:{cal.OPENS}|from )", r"(?! \d)"),
    _row(cal.PERSON, read_month, cal.OPENS, cal.SAYS_ON),
    _row(cal.MONTH, read_month, rf"(?:{cal.OPENS}|(?:in|during|around) )", cal.ENDS),
    _row(rf"{cal.PART}{cal.YEAR}", read_year),
    _row(rf"{cal.YEAR}-(?P<month>0[1-9]|1[0-2])", read_month_number, cal.IN),
    _row(rf"{cal.YEAR}[-–](?P<until>(?:19|20)\d\d)", read_year, "(?:in|during|between|from) "),
    _row(
        cal.YEAR, read_year, rf"(?:{cal.OPENS}|(?:in|from|during|throughout|around) )", cal.NO_COUNT
    ),
    _row("(?P<recent>recently|lately|the other day|recent (?:days|weeks|months))", read_recent),
]
_NEEDED = frozenset(word for rule in _RULES for word in rule.needs)
