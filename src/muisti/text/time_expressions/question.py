"""The time that a question speaks of. A new phrase is a new row in `_RULES`, a new word one in `calendar`.

Where rows overlap, the one further up wins; of several times, the shortest, then the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from muisti.text.time_expressions import calendar as cal
from muisti.text.time_expressions.calendar import Span
from muisti.text.time_expressions.readers import (
    Match,
    Reader,
    get_word,
    read_ago,
    read_date,
    read_day,
    read_holiday,
    read_hours,
    read_month,
    read_named_period,
    read_numeric_date,
    read_past,
    read_period,
    read_quarter,
    read_recent,
    read_season,
    read_weekday,
    read_year,
    refuse,
)

READ = 2000
"""Characters of a question that are looked at."""


@dataclass(frozen=True, slots=True)
class When:
    """`[start, end)` in UTC, the words that said so, and whether they name a day or a span."""

    start: datetime
    end: datetime
    phrase: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class _Rule:
    said: re.Pattern[str]
    core: str
    """A pattern without what must stand around it: how it is said as the end of a range. Few questions have one."""
    read: Reader


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
    found = [
        when
        for mention in _mentions(asked, now.replace(tzinfo=None))
        if (when := _when(mention, asked, now))
    ]
    return min(found, key=lambda when: when.end - when.start, default=None)


def _when(mention: _Mention, asked: str, now: datetime) -> When | None:
    if not mention.span:
        return None
    zone = cal.get_zone(now)
    start, end = (cal.to_utc(moment, zone) for moment in mention.span)
    opens = cal.OPENERS.get(mention.opens)
    if opens in ("since", "after"):
        today = cal.to_utc(now.replace(tzinfo=None), zone)
        start, end = start if opens == "since" else end, today + min(timedelta(1), cal.LAST - today)
    elif opens:
        start, end = cal.FIRST, start if opens == "before" else end
    return (
        When(start, end, asked[mention.start : mention.end], mention.exact) if start < end else None
    )


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
            exact = rule.read is not read_recent and get_word(said, "count") not in cal.VAGUE
            yield _Mention(
                *said.span(),
                None if again else _span(rule, said, now),
                get_word(said, "opens"),
                exact,
            )


def _range(head: Match, now: datetime) -> Iterator[_Mention]:
    """From one time to another. A beginning without a year is the latest before the end."""
    first = _core_at(head.string, head.end())
    if not first or get_word(first[1], "to"):  # "March 3 to 10" has a row
        return
    join = _JOIN.match(head.string, first[1].end())
    last = _core_at(head.string, join.end()) if join else None
    if not last:
        if head[1].lower() == "between" or (join and join[1]):  # half of it would be wrong
            yield _Mention(head.start(), first[1].end(), None)
        return
    end = _span(*last, now)
    floats = first[0].read in _FLOATING and not (
        get_word(first[1], "year") or get_word(first[1], "which")
    )
    start = _span(*first, end[0] if end and floats else now)
    yield _Mention(head.start(), last[1].end(), (start[0], end[1]) if start and end else None)


def _core_at(asked: str, at: int) -> tuple[_Rule, Match] | None:
    return next(
        ((rule, said) for rule in _RULES if (said := _core(rule.core).match(asked, at))), None
    )


@cache
def _core(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _span(rule: _Rule, said: Match, now: datetime) -> Span | None:
    try:
        return rule.read(said, now)
    except (
        ValueError,
        LookupError,
        StopIteration,
    ):  # 31 February; ſ, which matches an s but is none; nothing so early
        return None


def _row(core: str, read: Reader, before: str = rf"(?:{cal.OPENS})?", after: str = "") -> _Rule:
    """A phrase, and what must stand before and after it. A space is any little white space."""
    tail = rf"(?:{core})(?![\w/-]|\.\d)"
    said, alone = (
        text.replace(" ", r"(?:\s{1,4})")
        for text in (rf"(?<![\w./-])(?:{before}){tail}{after}", tail)
    )
    return _Rule(re.compile(said, re.IGNORECASE), alone, read)


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
    _row(rf"{cal.MONTH}\.? {cal.DAY},? {cal.YEAR}", read_date),
    _row(rf"{cal.DAY}(?: of)? {cal.MONTH},? {cal.YEAR}", read_date),
    _row(rf"{cal.NOUN}\.? {cal.DAY}", read_date),
    _row(rf"{cal.VERB} {cal.DAY}", read_date, rf"(?:{cal.OPENS}|(?:on|from|for|around) )"),
    _row(rf"{cal.CAPITAL} {cal.DAY}", read_date, after=cal.ENDS),
    _row(rf"{cal.VERB} (?P<day>[0-3]?\d)(?:st|nd|rd|th)", read_date),
    _row(rf"{cal.DAY} of {cal.MONTH}", read_date),
    _row(rf"{cal.DAY} {cal.SURE}", read_date),
    _row(
        rf"(?P<half>half a year|a half year) ago|{cal.COUNT} {cal.UNIT}s? ago(?P<today> today)?",
        read_ago,
    ),
    _row(rf"(?P<hours>{cal.match_any(cal.HOURS)})", read_hours),
    _row(rf"(?P<day>{cal.match_any(cal.DAYS)})", read_day),
    _row("now", lambda _, now: cal.get_days(now, 0), "(?!)"),  # only as the end of a range
    _row(rf"(?P<period>{cal.match_any(cal.PERIODS)})", read_named_period),
    _row(
        rf"{cal.WEEKDAY}(?: of)? {cal.WHICH}(?P<week>week)", read_weekday, rf"(?:{cal.OPENS}|on )?"
    ),
    _row(rf"{cal.WHICH}{cal.WEEKDAY}", read_weekday, after=cal.NO_SCHOOL),
    _row(cal.WEEKDAY, read_weekday, rf"(?:{cal.OPENS}|(?:on|from) )", cal.NO_SCHOOL),
    _row(rf"(?:last|past|previous) {cal.NUMBER} {cal.UNIT}s?", read_past, after="(?! of)"),
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
    _row(rf"{cal.PART}{cal.MONTH},? {cal.YEAR}", read_month),
    _row(rf"{cal.PART}{cal.SURE}", read_month),
    _row(rf"{cal.PART}{cal.VERB}", read_month, after=cal.ENDS),
    _row(rf"{cal.MONTH}(?: of)?,? {cal.YEAR}", read_month, rf"(?:{cal.OPENS}|in )?", cal.NO_COUNT),
    _row(rf"(?P<month>{cal.match_any(cal.FOREIGN_MONTHS)})(?: {cal.YEAR})?", read_month),
    _row(rf"{cal.WHICH}{cal.SURE}", read_month),
    _row(rf"{cal.WHICH}{cal.VERB}", read_month, after=cal.ENDS),
    _row(rf"{cal.QUARTER}(?: of)? {cal.YEAR}", read_quarter),
    _row(cal.QUARTER, read_quarter, cal.IN, "(?! of)"),
    _row(rf"{cal.SEASON}(?: of)?,? {cal.YEAR}", read_season, rf"(?:{cal.IN})?", cal.NO_COUNT),
    _row(rf"{cal.WHICH}{cal.SEASON}", read_season, after=cal.NO_VERB),
    _row(cal.SEASON, read_season, cal.IN, "(?! of)"),
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
    _row(rf"{cal.YEAR}[-–](?P<until>(?:19|20)\d\d)", read_year, "(?:in|during|between|from) "),
    _row(
        cal.YEAR, read_year, rf"(?:{cal.OPENS}|(?:in|from|during|throughout|around) )", cal.NO_COUNT
    ),
    _row("recently|lately", read_recent),
]
