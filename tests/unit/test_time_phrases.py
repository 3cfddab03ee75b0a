"""Phrases that questions use for a time: which span each names, at one fixed time."""

from __future__ import annotations

import pytest

from muisti.text.time_expressions.question import parse_when
from tests.unit.test_time_expressions import ALWAYS, NOW, TILL_NOW, span

# NOW is Wednesday, 17 May 2023, 10:00.
PHRASES = [
    # a week, weekend, day or half of a month, quarter or year
    ("What did I do in the first week of 2024?", "2024-01-01", "2024-01-08"),
    ("the first week of January", "2023-01-01", "2023-01-08"),
    ("in the second week of November", "2022-11-08", "2022-11-15"),
    ("the 3rd week of March 2022", "2022-03-15", "2022-03-22"),
    ("the last week of April", "2023-04-24", "2023-05-01"),
    ("the final week of 2022", "2022-12-25", "2023-01-01"),
    ("the first week of this month", "2023-05-01", "2023-05-08"),
    ("the first week of the year", "2023-01-01", "2023-01-08"),
    ("the last week of last month", "2023-04-24", "2023-05-01"),
    ("the first weekend of May", "2023-05-06", "2023-05-08"),
    ("the last weekend in April", "2023-04-29", "2023-05-01"),
    ("the second weekend of last month", "2023-04-08", "2023-04-10"),
    ("the 3rd Monday of May", "2023-05-15", "2023-05-16"),
    ("the first Friday in March 2022", "2022-03-04", "2022-03-05"),
    ("last Friday of March", "2023-03-31", "2023-04-01"),
    ("the first day of March", "2023-03-01", "2023-03-02"),
    ("the last day of 2022", "2022-12-31", "2023-01-01"),
    ("on the last day of last month", "2023-04-30", "2023-05-01"),
    ("in the first two weeks of March", "2023-03-01", "2023-03-15"),
    ("the last three days of April", "2023-04-28", "2023-05-01"),
    ("the first three months of 2022", "2022-01-01", "2022-04-01"),
    ("the first half of September 2022", "2022-09-01", "2022-09-16"),
    ("in the second half of 2021", "2021-07-01", "2022-01-01"),
    ("the first half of last year", "2022-01-01", "2022-07-01"),
    ("the second half of April", "2023-04-16", "2023-05-01"),
    ("the first month of 2022", "2022-01-01", "2022-02-01"),
    ("since the second week of March", "2023-03-08", TILL_NOW),
    ("before the first week of March", ALWAYS, "2023-03-01"),
    # early and late in a period
    ("at the end of last year", "2022-09-01", "2023-01-01"),
    ("end of last month", "2023-04-21", "2023-05-01"),
    ("early last month", "2023-04-01", "2023-04-11"),
    ("late last year", "2022-09-01", "2023-01-01"),
    ("since the start of the year", "2023-01-01", TILL_NOW),
    ("at the beginning of the month", "2023-05-01", "2023-05-11"),
    ("the start of this week", "2023-05-15", "2023-05-17"),
    ("the end of last week", "2023-05-12", "2023-05-15"),
    ("the end of March", "2023-03-21", "2023-04-01"),
    ("end of March", "2023-03-21", "2023-04-01"),
    ("early March", "2023-03-01", "2023-03-11"),
    ("mid March", "2023-03-11", "2023-03-21"),
    ("late March", "2023-03-21", "2023-04-01"),
    ("start of 2023", "2023-01-01", "2023-05-01"),
    ("the end of last summer", "2022-08-01", "2022-09-01"),
    ("late in the first quarter of 2022", "2022-03-01", "2022-04-01"),
    # ago
    ("two weekends ago", "2023-05-06", "2023-05-08"),
    ("a weekend ago", "2023-05-13", "2023-05-15"),
    ("the weekend before last", "2023-05-06", "2023-05-08"),
    ("the quarter before last", "2022-10-01", "2023-01-01"),
    ("a couple of weekends ago", "2023-05-06", "2023-05-08"),
    ("two Fridays ago", "2023-05-05", "2023-05-06"),
    ("three Mondays ago", "2023-05-01", "2023-05-02"),
    ("the Friday before last", "2023-05-05", "2023-05-06"),
    ("on the Wednesday two months ago", "2023-03-15", "2023-03-16"),
    ("a week ago on Tuesday", "2023-05-09", "2023-05-10"),
    ("last week on Tuesday", "2023-05-09", "2023-05-10"),
    ("a couple of weeks ago", "2023-04-30", "2023-05-07"),
    ("a fortnight ago", "2023-04-30", "2023-05-07"),
    ("two quarters ago", "2022-10-01", "2023-01-01"),
    ("a decade ago", "2012-11-15", "2013-11-17"),
    ("a year and a half ago", "2021-11-02", "2021-12-03"),
    ("this time last year", "2022-05-02", "2022-06-02"),
    ("two hours ago", "2023-05-17T07", "2023-05-17T09"),
    ("an hour ago", "2023-05-17T08", "2023-05-17T10"),
    ("the day before yesterday", "2023-05-15", "2023-05-16"),
    ("the night before last", "2023-05-15T18", "2023-05-16T06"),
    ("the past month", "2023-04-17", "2023-05-18"),
    ("the past two weekends", "2023-05-06", "2023-05-18"),
    ("in the last 24 hours", "2023-05-16T10", "2023-05-17T10"),
    ("last quarter", "2023-01-01", "2023-04-01"),
    ("the other day", "2023-05-07", "2023-05-18"),
    # ahead
    ("in the next two weeks", "2023-05-17", "2023-06-01"),
    ("over the next few days", "2023-05-17", "2023-05-21"),
    ("two weeks from now", "2023-05-28", "2023-06-04"),
    ("tomorrow morning", "2023-05-18T04", "2023-05-18T12"),
    # of which year
    ("in March last year", "2022-03-01", "2022-04-01"),
    ("in March of last year", "2022-03-01", "2022-04-01"),
    ("May last year", "2022-05-01", "2022-06-01"),
    ("last year in October", "2022-10-01", "2022-11-01"),
    ("March 5 last year", "2022-03-05", "2022-03-06"),
    ("Christmas last year", "2022-12-22", "2022-12-29"),
    ("in the summer of last year", "2022-06-01", "2022-09-01"),
    ("Q2 2023", "2023-04-01", "2023-07-01"),
    ("2022 Q2", "2022-04-01", "2022-07-01"),
    ("in Q4 of last year", "2022-10-01", "2023-01-01"),
    ("H1 2022", "2022-01-01", "2022-07-01"),
    ("the summer before last", "2021-06-01", "2021-09-01"),
    ("week 12 of 2023", "2023-03-20", "2023-03-27"),
    ("in 2023-04", "2023-04-01", "2023-05-01"),
    ("December 1,2022", "2022-12-01", "2022-12-02"),
    ("on 4/22", "2023-04-22", "2023-04-23"),
    # next to another time
    ("the week before August 3, 2022", "2022-07-27", "2022-08-03"),
    ("the week after March 5", "2023-03-06", "2023-03-13"),
    ("two weeks before August 11, 2022", "2022-07-25", "2022-08-01"),
    ("three days before Christmas Eve", "2022-12-21", "2022-12-22"),
    ("the day after Christmas Day", "2022-12-26", "2022-12-27"),
    ("on the Sunday before October 25, 2022", "2022-10-23", "2022-10-24"),
    ("the first Monday after New Year's Day", "2023-01-02", "2023-01-03"),
    ("the weekend after Easter", "2023-04-15", "2023-04-17"),
    ("last weekend before April 10, 2023", "2023-04-08", "2023-04-10"),
    ("the week of March 8", "2023-03-06", "2023-03-13"),
    ("the weekend of April 1st", "2023-04-01", "2023-04-03"),
    ("the month before June 2022", "2022-05-01", "2022-06-01"),
    # ranges
    ("between March and May", "2023-03-01", "2023-06-01"),
    ("from early March to mid-April", "2023-03-01", "2023-04-21"),
    ("from June through August", "2022-06-01", "2022-09-01"),
    ("since Christmas", "2022-12-22", TILL_NOW),
    ("since New Year", "2022-12-31", TILL_NOW),
    # holidays
    ("on Boxing Day", "2022-12-26", "2022-12-27"),
    ("on St. Patrick's Day", "2023-03-17", "2023-03-18"),
    ("Labor Day weekend", "2022-09-03", "2022-09-06"),
    ("last Memorial Day", "2022-05-30", "2022-05-31"),
    ("Black Friday 2021", "2021-11-26", "2021-11-27"),
    ("on Good Friday", "2023-04-07", "2023-04-08"),
    ("on Mother's Day", "2023-05-14", "2023-05-15"),
    ("at midsummer", "2022-06-24", "2022-06-26"),
    ("on Independence Day", "2022-07-04", "2022-07-05"),
    # other languages
    ("viime viikonloppuna", "2023-05-13", "2023-05-15"),
    ("tässä kuussa", "2023-05-01", "2023-06-01"),
    ("kaksi viikkoa sitten", "2023-04-30", "2023-05-07"),
    ("für zwei, aber vor zwei Wochen", "2023-04-30", "2023-05-07"),
    ("för tre dagar sedan", "2023-05-14", "2023-05-15"),
    ("letztes Wochenende", "2023-05-13", "2023-05-15"),
    # of several, the exact one; of equally long ones, the one with a year
    ("the cake I made recently in May 2022", "2022-05-01", "2022-06-01"),
    ("what did I finish last Friday on 23 January, 2022", "2022-01-23", "2022-01-24"),
]


@pytest.mark.parametrize(("text", "start", "end"), PHRASES)
def test_the_span_that_a_phrase_names(text: str, start: str, end: str) -> None:
    assert span(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    """
    the second week of training|my first week of school|the first day of class|the last day of work
    the first week of my new job|the last weekend of the festival|the first half of the game|the second half
    the end of the day|the end of the movie|the beginning of the book|early bird|late fees|mid level
    the weekend of the wedding|a week of rest|the week of my exam|the first Monday of the sprint
    did prices fall last|will it spring|what may last|march on|may the first be|it may end of course
    the day before the exam|two weeks after the surgery|the week before my birthday|three days after I moved
    the next two chapters|the next hours|an hour a day|two hours of sleep|the last 24 pages
    week 12 of pregnancy|in week 3|4/22|a 4/22 chance|on 24/7 duty|2022-13|in 2023-13|H1 heading
    Boxing|Labor costs|mother's recipe|St. Patrick|midsummer night's dream
    kaksi viikkoa|vor zwei Leuten|sitten|the other daytime|any other day of mine
    a couple of friends|two Fridays|the weekend before|the Friday before|the quarter before
    """.strip()
    .replace("\n    ", "|")
    .split("|"),
)
def test_ordinary_words_name_no_time(text: str) -> None:
    assert parse_when(text, NOW) is None


def test_a_vague_phrase_is_not_exact() -> None:
    for text in ("the other day", "a few weekends ago", "in recent weeks"):
        when = parse_when(text, NOW)
        assert when is not None
        assert not when.exact
