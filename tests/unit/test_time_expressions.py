"""The time that a question mentions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muisti.text.time_expressions import calendar
from muisti.text.time_expressions.question import READ, When, parse_when
from tests.unit.timing import grows_linearly

NOW = datetime(2023, 5, 17, 10, 0, tzinfo=UTC)  # a Wednesday
ALWAYS, TILL_NOW = "0001-01-01", "2023-05-18T10"
HELSINKI, NEW_YORK = ZoneInfo("Europe/Helsinki"), ZoneInfo("America/New_York")


def span(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    """The beginning and the end, as short as they can be written."""
    when = parse_when(text, now)
    if when is None:
        return None
    assert calendar.may_mention_time(text)  # else nobody would have looked
    assert when.start.tzinfo is UTC
    assert when.end.tzinfo is UTC
    return _short(when.start), _short(when.end)


def _short(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H").removesuffix("T00").zfill(10)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        # days and parts of days
        ("What did I eat today?", "2023-05-17", "2023-05-18"),
        ("what did we say yesterday", "2023-05-16", "2023-05-17"),
        ("the day before yesterday", "2023-05-15", "2023-05-16"),
        ("tomorrow's plan", "2023-05-18", "2023-05-19"),
        ("the day after tomorrow", "2023-05-19", "2023-05-20"),
        ("what did I read this morning", "2023-05-17T04", "2023-05-17T12"),
        ("this afternoon", "2023-05-17T12", "2023-05-17T18"),
        ("this evening", "2023-05-17T18", "2023-05-18"),
        ("tonight", "2023-05-17T18", "2023-05-18T06"),
        ("what did I dream last night", "2023-05-16T18", "2023-05-17T06"),
        ("yesterday morning", "2023-05-16T04", "2023-05-16T12"),
        # weekdays
        ("on Tuesday", "2023-05-16", "2023-05-17"),
        ("on wednesday", "2023-05-17", "2023-05-18"),
        ("on Thursday", "2023-05-11", "2023-05-12"),
        ("last Saturday", "2023-05-13", "2023-05-14"),
        ("last Wednesday", "2023-05-10", "2023-05-11"),
        ("this past Monday", "2023-05-15", "2023-05-16"),
        ("this Tuesday", "2023-05-16", "2023-05-17"),
        ("this Friday", "2023-05-19", "2023-05-20"),
        ("next Tuesday", "2023-05-23", "2023-05-24"),
        ("on Tuesday last week", "2023-05-09", "2023-05-10"),
        ("Friday of last week", "2023-05-12", "2023-05-13"),
        ("on Monday's call", "2023-05-15", "2023-05-16"),
        # weeks, weekends, months, quarters, years of the calendar
        ("last week", "2023-05-08", "2023-05-15"),
        ("this week's plan", "2023-05-15", "2023-05-22"),
        ("next week", "2023-05-22", "2023-05-29"),
        ("the week before last", "2023-05-01", "2023-05-08"),
        ("last weekend", "2023-05-13", "2023-05-15"),
        ("this weekend", "2023-05-20", "2023-05-22"),
        ("over the weekend", "2023-05-13", "2023-05-15"),
        ("last month", "2023-04-01", "2023-05-01"),
        ("this month", "2023-05-01", "2023-06-01"),
        ("last quarter", "2023-01-01", "2023-04-01"),
        ("this quarter", "2023-04-01", "2023-07-01"),
        ("in Q3", "2022-07-01", "2022-10-01"),
        ("Q4 2021", "2021-10-01", "2022-01-01"),
        ("the second quarter of 2020", "2020-04-01", "2020-07-01"),
        ("in the first quarter", "2023-01-01", "2023-04-01"),
        ("last year", "2022-01-01", "2023-01-01"),
        ("next year", "2024-01-01", "2025-01-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("what was new in 2021 this time", "2021-01-01", "2022-01-01"),
        ("early 2022", "2022-01-01", "2022-05-01"),
        ("late 2022", "2022-09-01", "2023-01-01"),
        # back from today
        ("in the last week", "2023-05-10", "2023-05-18"),
        ("for the past week", "2023-05-10", "2023-05-18"),
        ("in the past month", "2023-04-17", "2023-05-18"),
        ("over the last year", "2022-05-17", "2023-05-18"),
        ("in the last 10 days", "2023-05-07", "2023-05-18"),
        ("past two weeks", "2023-05-03", "2023-05-18"),
        ("over the past few weeks", "2023-04-26", "2023-05-18"),
        ("over the past few months", "2023-02-17", "2023-05-18"),
        ("in the last couple of days", "2023-05-15", "2023-05-18"),
        ("in the last several years", "2018-05-17", "2023-05-18"),
        ("the past eighteen months", "2021-11-17", "2023-05-18"),
        # ago
        ("three days ago", "2023-05-14", "2023-05-15"),
        ("7 days ago", "2023-05-10", "2023-05-11"),
        ("8 days ago", "2023-05-08", "2023-05-11"),
        ("twenty days ago", "2023-04-26", "2023-04-29"),
        ("a week ago", "2023-05-07", "2023-05-14"),
        ("a couple of weeks ago", "2023-04-30", "2023-05-07"),
        ("a few weeks ago", "2023-04-16", "2023-05-07"),
        ("a month ago", "2023-04-02", "2023-05-03"),
        ("half a year ago", "2022-11-02", "2022-12-03"),
        ("twelve months ago", "2022-05-02", "2022-06-02"),
        ("2 years ago", "2020-11-15", "2021-11-17"),
        ("a year ago today", "2022-05-17", "2022-05-18"),
        # months
        ("in April", "2023-04-01", "2023-05-01"),
        ("in June", "2022-06-01", "2022-07-01"),
        ("in May", "2023-05-01", "2023-06-01"),
        ("what did I buy in may?", "2023-05-01", "2023-06-01"),
        ("in march", "2023-03-01", "2023-04-01"),
        ("last March", "2023-03-01", "2023-04-01"),
        ("last May", "2022-05-01", "2022-06-01"),
        ("this June", "2023-06-01", "2023-07-01"),
        ("next March", "2024-03-01", "2024-04-01"),
        ("in March 2021", "2021-03-01", "2021-04-01"),
        ("Sept, 2021", "2021-09-01", "2021-10-01"),
        ("may 2021", "2021-05-01", "2021-06-01"),
        ("early March", "2023-03-01", "2023-03-11"),
        ("mid-February", "2023-02-11", "2023-02-21"),
        ("late April 2022", "2022-04-21", "2022-05-01"),
        ("at the end of February", "2023-02-21", "2023-03-01"),
        # dates
        ("on 2021-03-05", "2021-03-05", "2021-03-06"),
        ("25/12/2021", "2021-12-25", "2021-12-26"),
        ("12/25/2021", "2021-12-25", "2021-12-26"),
        ("am 25.12.2021.", "2021-12-25", "2021-12-26"),
        ("March 5th, 2021", "2021-03-05", "2021-03-06"),
        ("march 5, 2021", "2021-03-05", "2021-03-06"),
        ("5 March 2021", "2021-03-05", "2021-03-06"),
        ("the 5th of March", "2023-03-05", "2023-03-06"),
        ("5th of June", "2022-06-05", "2022-06-06"),
        ("March 5th", "2023-03-05", "2023-03-06"),
        ("on March 5 we met", "2023-03-05", "2023-03-06"),
        ("17 May", "2023-05-17", "2023-05-18"),
        ("may 18th", "2022-05-18", "2022-05-19"),
        ("February 29", "2020-02-29", "2020-03-01"),
        # from and to
        ("between March 3 and March 10", "2023-03-03", "2023-03-11"),
        ("between March 3 and 10", "2023-03-03", "2023-03-11"),
        ("between 3 and 10 March 2021", "2021-03-03", "2021-03-11"),
        ("March 3-10", "2023-03-03", "2023-03-11"),
        ("from May to July", "2022-05-01", "2022-08-01"),
        ("from may to july", "2022-05-01", "2022-08-01"),
        ("from November to February", "2022-11-01", "2023-03-01"),
        ("from May to July 2020", "2020-05-01", "2020-08-01"),
        ("between 2021 and 2023", "2021-01-01", "2024-01-01"),
        ("from Monday to Friday", "2023-05-08", "2023-05-13"),
        ("from last week until yesterday", "2023-05-08", "2023-05-17"),
        ("between Christmas and New Year's Day", "2022-12-22", "2023-01-02"),
        ("the mail from last week", "2023-05-08", "2023-05-15"),
        ("between the 3rd and the 10th of March", "2023-03-03", "2023-03-11"),
        ("from 2019-2021", "2019-01-01", "2022-01-01"),
        ("from 2021 to now", "2021-01-01", "2023-05-18"),
        ("the notes from Monday", "2023-05-15", "2023-05-16"),
        ("photos from 2021", "2021-01-01", "2022-01-01"),
        # open on one side
        ("since yesterday", "2023-05-16", TILL_NOW),
        ("since Tuesday", "2023-05-16", TILL_NOW),
        ("since June", "2022-06-01", TILL_NOW),
        ("since May I have run", "2023-05-01", TILL_NOW),
        ("since 2020", "2020-01-01", TILL_NOW),
        ("since last summer", "2022-06-01", TILL_NOW),
        ("after 5 June 2022", "2022-06-06", TILL_NOW),
        ("after March", "2023-04-01", TILL_NOW),
        ("before 2022", ALWAYS, "2022-01-01"),
        ("before March 2021", ALWAYS, "2021-03-01"),
        ("before Tuesday", ALWAYS, "2023-05-16"),
        ("by March 2021", ALWAYS, "2021-04-01"),
        ("until April", ALWAYS, "2023-05-01"),
        ("prior to the 5th of March", ALWAYS, "2023-03-05"),
        # seasons
        ("last summer", "2022-06-01", "2022-09-01"),
        ("last spring", "2022-03-01", "2022-06-01"),
        ("in spring", "2023-03-01", "2023-06-01"),
        ("this summer", "2023-06-01", "2023-09-01"),
        ("next winter", "2023-12-01", "2024-03-01"),
        ("in winter", "2022-12-01", "2023-03-01"),
        ("during the fall", "2022-09-01", "2022-12-01"),
        ("in the summer of 2021", "2021-06-01", "2021-09-01"),
        ("fall 2021", "2021-09-01", "2021-12-01"),
        # holidays
        ("what did I get for Christmas?", "2022-12-22", "2022-12-29"),
        ("Christmas", "2022-12-22", "2022-12-29"),
        ("Christmas 2020", "2020-12-22", "2020-12-29"),
        ("this Christmas", "2023-12-22", "2023-12-29"),
        ("on Christmas Eve", "2022-12-24", "2022-12-25"),
        ("New Year's Eve", "2022-12-31", "2023-01-01"),
        ("on new years day", "2023-01-01", "2023-01-02"),
        ("Valentine’s Day", "2023-02-14", "2023-02-15"),
        ("last Halloween", "2022-10-31", "2022-11-01"),
        ("at Thanksgiving", "2022-11-24", "2022-11-25"),
        ("last Easter", "2023-04-07", "2023-04-11"),
        # other languages
        ("mitä tein eilen", "2023-05-16", "2023-05-17"),
        ("tänään", "2023-05-17", "2023-05-18"),
        ("toissapäivänä", "2023-05-15", "2023-05-16"),
        ("viime viikolla", "2023-05-08", "2023-05-15"),
        ("viime kuussa", "2023-04-01", "2023-05-01"),
        ("viime vuonna", "2022-01-01", "2023-01-01"),
        ("maaliskuussa", "2023-03-01", "2023-04-01"),
        ("joulukuussa 2020", "2020-12-01", "2021-01-01"),
        ("vad sa jag igår", "2023-05-16", "2023-05-17"),
        ("idag", "2023-05-17", "2023-05-18"),
        ("förra veckan", "2023-05-08", "2023-05-15"),
        ("förra månaden", "2023-04-01", "2023-05-01"),
        ("förra året", "2022-01-01", "2023-01-01"),
        ("i mars", "2023-03-01", "2023-04-01"),
        ("gestern", "2023-05-16", "2023-05-17"),
        ("heute", "2023-05-17", "2023-05-18"),
        ("vorgestern", "2023-05-15", "2023-05-16"),
        ("letzte Woche", "2023-05-08", "2023-05-15"),
        ("letzten Monat", "2023-04-01", "2023-05-01"),
        ("letztes Jahr", "2022-01-01", "2023-01-01"),
        ("im März", "2023-03-01", "2023-04-01"),
        # several
        ("what I did in 2021 and on Tuesday", "2023-05-16", "2023-05-17"),
        ("yesterday or today", "2023-05-16", "2023-05-17"),
        ("how many days did I run in March?", "2023-03-01", "2023-04-01"),
        ("When I was in Rome last year, what did I eat?", "2022-01-01", "2023-01-01"),
        ("what did I eat every day last week", "2023-05-08", "2023-05-15"),
        ("what did I write on page 3 yesterday", "2023-05-16", "2023-05-17"),
        ("LAST \n WEEK", "2023-05-08", "2023-05-15"),
    ],
)
def test_what_is_meant(text: str, start: str, end: str) -> None:
    assert span(text) == (start, end)


@pytest.mark.parametrize(
    ("text", "now", "start", "end"),
    [
        ("last Tuesday", datetime(2026, 3, 10, 12, tzinfo=UTC), "2026-03-03", "2026-03-04"),
        ("on Tuesday", datetime(2026, 3, 10, 12, tzinfo=UTC), "2026-03-10", "2026-03-11"),
        ("last March", datetime(2026, 3, 10, 12, tzinfo=UTC), "2025-03-01", "2025-04-01"),
        ("last weekend", datetime(2023, 5, 21, 12, tzinfo=UTC), "2023-05-13", "2023-05-15"),
        ("over the weekend", datetime(2023, 5, 21, 12, tzinfo=UTC), "2023-05-20", "2023-05-22"),
        ("in winter", datetime(2023, 1, 21, tzinfo=UTC), "2022-12-01", "2023-03-01"),
        ("this winter", datetime(2023, 1, 21, tzinfo=UTC), "2022-12-01", "2023-03-01"),
        ("last winter", datetime(2023, 1, 21, tzinfo=UTC), "2021-12-01", "2022-03-01"),
        ("February 29", datetime(1904, 2, 1, tzinfo=UTC), "1896-02-29", "1896-03-01"),
        ("a month ago", datetime(2023, 3, 31, 9, tzinfo=UTC), "2023-02-13", "2023-03-16"),
        ("a year ago", datetime(2024, 2, 29, 9, tzinfo=UTC), "2022-08-29", "2023-08-31"),
        ("last month", datetime(2023, 1, 31, tzinfo=UTC), "2022-12-01", "2023-01-01"),
        ("yesterday", datetime(2023, 5, 17, 10), "2023-05-16", "2023-05-17"),
        ("today", datetime(2023, 5, 17, 1, tzinfo=HELSINKI), "2023-05-16T21", "2023-05-17T21"),
        ("today", datetime(2023, 5, 16, 22, tzinfo=NEW_YORK), "2023-05-16T04", "2023-05-17T04"),
        ("yesterday", datetime(2023, 3, 27, 9, tzinfo=HELSINKI), "2023-03-25T22", "2023-03-26T21"),
        (
            "since Monday",
            datetime(2023, 5, 17, 10, tzinfo=HELSINKI),
            "2023-05-14T21",
            "2023-05-18T07",
        ),
        ("before 2022", datetime(2023, 5, 17, 10, tzinfo=HELSINKI), ALWAYS, "2021-12-31T22"),
        ("this year", datetime(9999, 5, 1, tzinfo=UTC), "9999-01-01", "9999-12-31T23"),
        ("last week", datetime(1, 1, 3, tzinfo=UTC), None, None),
        ("this week", datetime(9999, 12, 31, tzinfo=UTC), "9999-12-27", "9999-12-31T23"),
        ("tonight", datetime(9999, 12, 31, tzinfo=timezone(timedelta(hours=-9))), None, None),
        ("yesterday", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9))), None, None),
    ],
)
def test_where_and_when_it_is_asked(
    text: str, now: datetime, start: str | None, end: str | None
) -> None:
    assert span(text, now) == ((start, end) if start else None)


@pytest.mark.parametrize(
    "text",
    "|what may I eat|may we|It may be late|the room I sleep in may be cold|THE BED I LAY IN MAY BREAK|May 5 people come?|this may be|"
    "since may I ask|will they march|we march on|march 5 miles|What did April say?|June told me|since June told me|the last may be|"
    "Sunday school|on Sunday school|my Sunday dress|24/7|version 2.0.1|page 2023|over 2022 people|in 2022 words|two weeks vacation|"
    "last name|last time|last day|past events|every week|every last week|on Mondays|each March|every Christmas Eve|how many days did I|"
    "how long|how long did it last|does it last a week|When did I go to Paris last week?|what date was it yesterday|"
    "Which year was I in Rome, in 2021?|second|a second|a minute|this is|next steps|last but not least|did I fall|will this fall apart|"
    "spring into action|Did it spring up|in the fall of Rome|24 hours a day|5/3/2023|on the 5th|February 31|31 February 2023|30/30/2023|"
    "item 10 may be broken|between yesterday|between us|the second of 2022|in the last 2 weeks of school|it may 3-4 times|from Monday to the end|from yesterday to 2021|from 2021-2019|every other Tuesday|three days before my exam|the week after the trip|what now|since next week|9999 years ago|the Christmas tree|do I like Easter eggs|"
    "in the last week of school|in ſeptember|on ſunday|2023|March|Monday|summer".split("|"),
)
def test_what_is_no_time(text: str) -> None:
    assert parse_when(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "phrase", "exact"),
    [
        ("What have I read recently?", "recently", False),
        ("Who called a few days ago?", "a few days ago", False),
        ("Who called two days ago?", "two days ago", True),
        ("What did we eat in March?", "in March", True),
        ("What changed since  Tuesday?", "since  Tuesday", True),
        ("Between March and May it rained", "Between March and May", True),
    ],
)
def test_the_words_that_said_so(text: str, phrase: str, exact: bool) -> None:
    when = parse_when(text, NOW)
    assert when is not None
    assert (when.phrase, when.exact) == (phrase, exact)


@pytest.mark.parametrize(("name", "month"), [*calendar.FOREIGN_MONTHS.items()])
def test_every_month_elsewhere(name: str, month: int) -> None:
    when = parse_when(f"Wie war es {name.title()}?", NOW)
    assert when is not None
    assert (when.start.month, when.start.day) == (month, 1)
    assert timedelta(0) <= NOW - when.start < timedelta(366)


@pytest.mark.parametrize(
    ("year", "day"),
    [
        (1961, "04-02"),
        (2000, "04-23"),
        (2008, "03-23"),
        (2019, "04-21"),
        (2024, "03-31"),
        (2038, "04-25"),
    ],
)
def test_easter(year: int, day: str) -> None:
    assert calendar.get_easter_sunday(year).strftime("%m-%d") == day


def test_only_the_beginning_is_read() -> None:
    assert parse_when("x " * (READ // 2) + "yesterday", NOW) is None
    assert parse_when("x " * (READ // 2 - 5) + "yesterday", NOW) is not None


_WORDS = """
yesterday last this next past in on since before by between and from to until the of may March 5 5th 29 31 February 2022 9999 0 week
month year quarter weekend Tuesday summer winter Christmas Easter tonight early late a few two days years ago half ſunday İn 5/3/2023
""".split()
_NOWS = st.datetimes(timezones=st.none() | st.timezones()) | st.builds(
    lambda edge, zone: edge.replace(tzinfo=zone),
    st.sampled_from([datetime.min, datetime.max, datetime(1, 1, 2), datetime(9999, 12, 30)]),
    st.none()
    | st.timezones()
    | st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23))),
)


@given(st.text() | st.lists(st.sampled_from(_WORDS), max_size=8).map(" ".join), _NOWS)
def test_any_text_at_any_time(text: str, now: datetime) -> None:
    when = parse_when(text, now)
    assert when is None or (
        when.start < when.end
        and when.phrase in text
        and when.start.tzinfo is when.end.tzinfo is UTC
    )


@given(
    st.sampled_from(
        [
            "yesterday",
            "last week",
            "in March",
            "on Friday",
            "last summer",
            "in 2020",
            "two years ago",
        ]
    ),
    _NOWS,
)
def test_what_has_been_is_not_to_come(text: str, now: datetime) -> None:
    when = parse_when(text, now)
    if (
        when is not None
        and datetime(3, 1, 1) < now.replace(tzinfo=None) < datetime(9990, 1, 1)
        and text != "in 2020"
    ):
        assert when.start <= _utc(now)


def _utc(now: datetime) -> datetime:
    return now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)


class _Nowhere(tzinfo):
    def utcoffset(self, _: datetime | None) -> None:
        return None

    tzname = dst = utcoffset


def test_a_zone_that_does_not_say_is_utc() -> None:
    now = NOW.replace(tzinfo=_Nowhere())
    assert parse_when("today", now) == When(
        datetime(2023, 5, 17, tzinfo=UTC), datetime(2023, 5, 18, tzinfo=UTC), "today"
    )


@pytest.mark.parametrize(
    "bit",
    [
        "last ",
        "between ",
        "from May to ",
        "March 3 ",
        "the 5th of ",
        "in 2022 ssss",
        "a couple of ",
        " ",
        "1.",
        "since the ",
        "s",
        "yesterday ",
    ],
)
def test_time_grows_with_the_text(bit: str) -> None:
    assert grows_linearly(
        lambda text: parse_when(text, NOW), lambda size: (bit * size)[:size], READ // 2
    )
