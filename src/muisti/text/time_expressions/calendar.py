"""Tables of words for times, and functions that return the calendar spans they name.

To support a new word, add an entry. Times here have no time zone. Outside the years 1–9999 they
are clamped to the first or last possible time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo

Span = tuple[datetime, datetime]
"""`[start, end)`."""
OfYear = Callable[[int], Span]
"""Returns the span of a yearly event in a year. Raises ValueError if the year has none."""


def _number_names(names: str) -> dict[str, int]:
    """Map names to numbers from 1: groups are separated by |, synonyms by spaces."""
    return {name: at for at, same in enumerate(names.split("|"), 1) for name in same.split()}


MONTHS = _number_names(
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|"
    "september sept sep|october oct|november nov|december dec"
)
VERBS = ("may", "march", "mar")
"""Months that are also verbs: they need context to count as months."""
PEOPLE = ("april", "june", "august", "jan")
"""Months that are also first names."""
FOREIGN_MONTHS = (
    _number_names(
        "tammikuussa|helmikuussa|maaliskuussa|huhtikuussa|toukokuussa|kesäkuussa|"
        "heinäkuussa|elokuussa|syyskuussa|lokakuussa|marraskuussa|joulukuussa"
    )
    | {
        f"i {name}": at
        for name, at in _number_names(
            "januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december"
        ).items()
    }
    | {
        f"im {name}": at
        for name, at in _number_names(
            "januar jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|"
            "dezember"
        ).items()
    }
)
WEEKDAYS = {
    name: at - 1
    for name, at in _number_names(
        "monday mon|tuesday tues tue|wednesday wed|thursday thurs thur|friday fri|saturday sat|"
        "sunday sun"
    ).items()
}
COUNTS = {
    **_number_names(
        "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
        "sixteen|seventeen|eighteen|nineteen|twenty"
    ),
    **dict.fromkeys(("a couple of", "a couple", "couple of", "couple"), 2),
    **dict.fromkeys(("a few", "few"), 3),
    "several": 5,
}
ONE = ("a", "an")
VAGUE = ("a few", "few", "several")
STEPS = {"this": 0, "next": 1, "coming": 1, "last": -1, "past": -1, "previous": -1}
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
DAYS_IN = {"day": 1, "week": 7, "month": 30, "year": 365}
SLACK = {"day": 0, "week": 3, "month": 15, "year": 183}
"""Days of tolerance around "N weeks ago", which does not mean an exact day."""
ENGLISH_DAYS = {
    **dict.fromkeys(("the day before yesterday", "day before yesterday"), -2),
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    **dict.fromkeys(("the day after tomorrow", "day after tomorrow"), 2),
}
DAYS = {
    **ENGLISH_DAYS,
    **dict.fromkeys(("toissapäivänä", "i förrgår", "förrgår", "vorgestern"), -2),
    **dict.fromkeys(("eilen", "igår", "i går", "gestern"), -1),
    **dict.fromkeys(("tänään", "idag", "i dag", "heute"), 0),
    **dict.fromkeys(("huomenna", "imorgon", "i morgon"), 1),
    **dict.fromkeys(("ylihuomenna", "i övermorgon", "übermorgen"), 2),
}
"""Days from today. Statements use only the English words: they are rewritten in English."""
HOURS = {
    "this morning": (4, 12),
    "this afternoon": (12, 18),
    "this evening": (18, 24),
    "tonight": (18, 30),
    **dict.fromkeys(("last night", "yesterday night"), (-6, 6)),
    "the night before last": (-30, -18),
    "yesterday morning": (-20, -12),
    "yesterday afternoon": (-12, -6),
    "yesterday evening": (-6, 0),
    "tomorrow morning": (28, 36),
    "tomorrow afternoon": (36, 42),
    "tomorrow evening": (42, 48),
    "tomorrow night": (42, 54),
}
"""Hours from the start of today."""
PERIODS = {
    "the week before last": ("week", -2),
    "the month before last": ("month", -2),
    "the year before last": ("year", -2),
    "the weekend before last": ("weekend", -2),
    "the quarter before last": ("quarter", -2),
    **dict.fromkeys(
        ("viime viikolla", "förra veckan", "letzte woche", "letzter woche"), ("week", -1)
    ),
    **dict.fromkeys(
        ("viime viikonloppuna", "förra helgen", "letztes wochenende", "letzten wochenende"),
        ("weekend", -1),
    ),
    **dict.fromkeys(("tässä kuussa", "den här månaden", "diesen monat"), ("month", 0)),
    **dict.fromkeys(("tänä vuonna", "i år", "dieses jahr"), ("year", 0)),
    **dict.fromkeys(("viime kuussa", "förra månaden", "letzten monat"), ("month", -1)),
    **dict.fromkeys(("viime vuonna", "förra året", "letztes jahr"), ("year", -1)),
    **dict.fromkeys(("tällä viikolla", "den här veckan", "diese woche"), ("week", 0)),
}
PARTS = {
    **dict.fromkeys(("early", "the beginning of", "the start of", "beginning of", "start of"), 0),
    **dict.fromkeys(("mid", "the middle of", "middle of"), 1),
    **dict.fromkeys(("late", "the end of", "end of"), 2),
}
"""Which third of a month or year."""
ORDINALS = {
    **_number_names("first 1st|second 2nd|third 3rd|fourth 4th|fifth 5th"),
    **dict.fromkeys(("last", "final"), -1),
}
FOREIGN_COUNTS = _number_names(
    "yksi ett en einer einem|kaksi två zwei|kolme tre drei|neljä fyra vier|viisi fem fünf|"
    "kuusi sex sechs"
)
FOREIGN_UNITS = {
    **dict.fromkeys(("päivää", "päivä", "dagar", "dag", "tagen", "tag"), "day"),
    **dict.fromkeys(("viikkoa", "viikko", "veckor", "vecka", "wochen", "woche"), "week"),
    **dict.fromkeys(("kuukautta", "kuukausi", "månader", "månad", "monaten", "monat"), "month"),
    **dict.fromkeys(("vuotta", "vuosi", "år", "jahren", "jahr"), "year"),
}
QUARTERS = _number_names("q1 first 1st|q2 second 2nd|q3 third 3rd|q4 fourth 4th")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each, in the northern hemisphere. Winter 2022 ends in February 2023."""


FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def get_zone(now: datetime) -> tzinfo:
    """Return the time zone of a time; UTC if it has none."""
    try:
        return UTC if now.tzinfo is None or now.utcoffset() is None else now.tzinfo
    except (OverflowError, ValueError):  # out of the zone's range
        return UTC


def to_utc(moment: datetime, zone: tzinfo) -> datetime:
    """Return a local time of a zone in UTC."""
    try:
        return moment.replace(tzinfo=zone).astimezone(UTC)
    except (OverflowError, ValueError):
        return FIRST if moment.year < 5000 else LAST


def parse_count(word: str) -> int:
    """Return the number that a word or digits stand for."""
    return 1 if word in ONE else COUNTS.get(word) or int(word)


def shift(moment: datetime, days: int, hours: int = 0) -> datetime:
    """Return the time shifted by days and hours."""
    try:
        return moment + timedelta(days, hours=hours)
    except OverflowError:
        return datetime.max if days + hours > 0 else datetime.min


def add_months(moment: datetime, months: int) -> datetime:
    """Return the time some months later, on the same day or the last day of the month."""
    years, month = divmod(moment.month - 1 + months, 12)
    if not 1 <= moment.year + years <= 9999:
        return datetime.max if months > 0 else datetime.min
    first = moment.replace(year=moment.year + years, month=month + 1, day=1)
    if moment.day == 1:
        return first
    return min(shift(first, moment.day - 1), shift(add_months(first, 1), -1))


def get_days(now: datetime, first: int, count: int = 1) -> Span:
    """Return a span of whole days, counted from today."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return shift(midnight, first), shift(midnight, first + count)


def get_months(year: int, month: int, count: int = 1) -> Span:
    """Return a span of whole months."""
    first = datetime(year, month, 1)
    return first, add_months(first, count)


def go_back(now: datetime, count: int, unit: str) -> datetime:
    """Return the start of the day that was a number of days, weeks, months … ago."""
    midnight = get_days(now, 0)[0]
    if unit in MONTHS_IN:
        return add_months(midnight, -count * MONTHS_IN[unit])
    return shift(midnight, -count * DAYS_IN[unit])


def get_days_ago(now: datetime, count: int, unit: str, slack: int) -> Span:
    """Return the day so long ago and `slack` days around it. Raises ValueError before year 1."""
    day = go_back(now, count, unit)
    if count and day == datetime.min:
        raise ValueError("before the calendar")
    return get_days(day, -slack, 2 * slack + 1)


def get_weekday(now: datetime, day: int, which: str, of_week: bool) -> Span:
    """Return a day of the week: by default the latest, today included.

    Last: before today. This, next, or with `of_week`: in that week, which begins on Monday.
    """
    step = STEPS.get(which, -1)
    if of_week or step >= 0:
        return get_days(now, 7 * step - now.weekday() + day)
    back = (now.weekday() - day) % 7
    return get_days(now, -(back or 7) if which else -back)


def get_period(now: datetime, unit: str, step: int) -> Span:
    """Return the calendar day, week, weekend, month, quarter or year, `step` from the current."""
    if unit == "day":
        return get_days(now, step)
    if unit == "week":
        return get_days(now, 7 * step - now.weekday(), 7)
    if unit == "weekend":
        return get_days(now, 7 * step - now.weekday() + 5, 2)
    size = MONTHS_IN[unit]
    first = datetime(now.year, (now.month - 1) // size * size + 1, 1)
    return add_months(first, step * size), add_months(first, (step + 1) * size)


def choose_occurrence(of: OfYear, now: datetime, which: str = "") -> Span:
    """Return the meant occurrence of a yearly event; by default the latest that has begun.

    Raises ValueError if there is none.
    """
    spans = []
    for year in range(max(1, now.year - 9), min(9999, now.year + 9) + 1):
        try:
            spans.append(of(year))
        except ValueError:  # 29 February
            continue
    if which in ("next", "coming"):
        return min(span for span in spans if span[0] > now)
    if which in ("last", "past", "previous"):
        return max(span for span in spans if span[1] <= now)
    begun = [span for span in spans if span[0] <= now]
    if which == "this" and not (begun and now < begun[-1][1]):
        return next(span for span in spans if span[0].year == now.year)
    return max(begun)


def get_nth_weekday(host: Span, weekday: int, nth: int, count: int = 1) -> Span:
    """Return the nth such day of the week in a span, or the last one for -1.

    Count: how many days from it on. Raises ValueError if the span has no such day.
    """
    if nth > 0:
        first = shift(host[0], (weekday - host[0].weekday()) % 7 + 7 * (nth - 1))
    else:
        last = shift(host[1], -1)
        first = shift(last, -((last.weekday() - weekday) % 7))
    if not host[0] <= first < host[1]:
        raise ValueError("the span has fewer such days")
    return get_days(first, 0, count)


def get_third(host: Span, third: int) -> Span:
    """Return the first, middle or last third of a month, quarter, season, year or week."""
    days = (host[1] - host[0]).days
    if days > 31:
        months = round(days / 30.4)
        start = add_months(host[0], third * months // 3)
        return start, add_months(host[0], (third + 1) * months // 3)
    size = 10 if days >= 28 else days // 3
    start = shift(host[0], size * third)
    return start, host[1] if third == 2 else shift(start, size)


def make_yearly_months(month: int, count: int = 1) -> OfYear:
    """Return the function for one or more months of each year."""
    return lambda year: get_months(year, month, count)


def make_yearly_days(month: int, day: int, around: int = 0, count: int = 1) -> OfYear:
    """Return the function for one or more days of each year, and `around` days on both sides."""
    return lambda year: get_days(datetime(year, month, day), -around, 2 * around + count)


def make_yearly_weekday(month: int, weekday: int, nth: int, after: int = 0) -> OfYear:
    """Return the function for the nth such day of the week in a month, -1 for the last.

    After: how many days later.
    """
    return lambda year: get_days(get_nth_weekday(get_months(year, month), weekday, nth)[0], after)


def get_easter_sunday(year: int) -> datetime:
    """Return Easter Sunday in the Gregorian calendar, by Butcher's algorithm."""
    century, rest = divmod(year, 100)
    lift = (century - (century + 8) // 25 + 1) // 3
    moon = (19 * (year % 19) + century - century // 4 - lift + 15) % 30
    week = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (year % 19 + 11 * moon + 22 * week) // 451
    month, day = divmod(moon + week - 7 * late + 114, 31)
    return datetime(year, month, day + 1)


def _make_easter(first: int, count: int = 1) -> OfYear:
    return lambda year: get_days(get_easter_sunday(year), first, count)


def _get_midsummer(year: int) -> Span:
    """Return the Friday from 19 to 25 June and the Saturday after it."""
    first = datetime(year, 6, 19)
    return get_days(first, (4 - first.weekday()) % 7, 2)


HOLIDAYS: dict[str, OfYear] = {
    "christmas eve": make_yearly_days(12, 24),
    "christmas day": make_yearly_days(12, 25),
    "boxing day": make_yearly_days(12, 26),
    "new year's eve": make_yearly_days(12, 31),
    "new year's day": make_yearly_days(1, 1),
    "new year's": make_yearly_days(12, 31, count=2),
    "new year": make_yearly_days(12, 31, count=2),
    "valentine's day": make_yearly_days(2, 14),
    "st. patrick's day": make_yearly_days(3, 17),
    "april fools' day": make_yearly_days(4, 1),
    "earth day": make_yearly_days(4, 22),
    "cinco de mayo": make_yearly_days(5, 5),
    "mother's day": make_yearly_weekday(5, 6, 2),
    "memorial day": make_yearly_weekday(5, 0, -1),
    "juneteenth": make_yearly_days(6, 19),
    "midsummer": _get_midsummer,
    "independence day": make_yearly_days(7, 4),
    "labor day": make_yearly_weekday(9, 0, 1),
    "halloween": make_yearly_days(10, 31),
    "veterans day": make_yearly_days(11, 11),
    "thanksgiving": make_yearly_weekday(11, 3, 4),
    "thanksgiving day": make_yearly_weekday(11, 3, 4),
    "black friday": make_yearly_weekday(11, 3, 4, after=1),
    "cyber monday": make_yearly_weekday(11, 3, 4, after=4),
    "good friday": _make_easter(-2),
    "easter sunday": _make_easter(0),
    "easter monday": _make_easter(1),
    "easter": _make_easter(-2, 4),
    "christmas": make_yearly_days(12, 25, around=3),
}
"""Apostrophes and full stops may be left out. Easter is Good Friday to Easter Monday."""


def get_holiday(name: str) -> OfYear:
    """Return the function of a holiday, however it is spelled. Raises KeyError."""
    return _SPELLED[_spell_plainly(name)]


def _spell_plainly(name: str) -> str:
    return name.translate({ord(mark): None for mark in "'’."})


_SPELLED = {_spell_plainly(name): of_year for name, of_year in HOLIDAYS.items()}


def match_any(names: Iterable[str]) -> str:
    """Return a pattern that matches any of the names, the longest first."""
    return "|".join(sorted(names, key=len, reverse=True))


OPENERS = {
    **dict.fromkeys(("since", "starting"), "since"),
    **dict.fromkeys(("after", "later than"), "after"),
    **dict.fromkeys(("before", "prior to", "earlier than"), "before"),
    **dict.fromkeys(("until", "till", "up to", "by"), "until"),
}
"""Words that open a span at one end. "after" and "before" exclude the named time."""
OPENS = rf"(?P<opens>{match_any(OPENERS)})(?: the)? "
WHICH = r"(?P<which>last|(?:this )?past|previous|this|next|coming) "
VERB = rf"(?P<month>{match_any(VERBS)})"
CAPITAL = rf"(?P<month>(?-i:{match_any(map(str.title, VERBS))}))"
NOUN = rf"(?P<month>{match_any(name for name in MONTHS if name not in VERBS)})"
PERSON = rf"(?P<month>{match_any(PEOPLE)}|(?-i:May|March))"
PLAIN = rf"(?P<month>{match_any(name for name in MONTHS if name not in VERBS + PEOPLE)})"
SURE = (
    rf"(?P<month>{match_any(name for name in MONTHS if name not in VERBS)}"
    rf"|(?-i:{match_any(map(str.title, VERBS))}))"
)
MONTH = rf"(?P<month>{match_any(MONTHS)})"
OTHER_YEAR = r"(?P<which_year>last|previous|this|next) year"
"""After the name of a month, season, quarter or holiday."""
DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
WEEKDAY = rf"(?P<weekday>{match_any(name for name in WEEKDAYS if name.endswith('day'))})"
ANY_WEEKDAY = rf"(?P<weekday>{match_any(WEEKDAYS)})"
"""With short forms, which need "last" or "next": "sat" and "sun" are ordinary words, too."""
HOLIDAY, HOLIDAY_DAY = (
    rf"(?P<holiday>{match_any(names)})".replace(".", r"\.?").replace("'", "['’]?")
    for names in (HOLIDAYS, [name for name in HOLIDAYS if name.endswith(("day", "eve"))])
)
QUARTER = rf"(?P<quarter>q[1-4]|(?:{match_any(QUARTERS)})(?= quarter))(?: quarter)?"
SEASON = rf"(?P<season>{match_any(SEASONS)})"
PART = rf"(?P<part>{match_any(PARTS)})(?: |-)(?:in )?"
NUMBER = rf"(?P<count>\d{{1,4}}|{match_any(COUNTS)})"
COUNT = rf"(?P<count>\d{{1,4}}|{match_any([*COUNTS, *ONE])})"
UNIT = r"(?P<unit>day|week|month|year)"
ANY_UNIT = r"(?P<unit>day|week|weekend|fortnight|month|quarter|year|decade|hour|minute)"
FOREIGN_COUNT = rf"(?P<count>\d{{1,3}}|{match_any(FOREIGN_COUNTS)})"
FOREIGN_UNIT = rf"(?P<unit>{match_any(FOREIGN_UNITS)})"
TO = r"(?:(?: )?[-–](?: )?)(?P<to>[0-3]?\d)(?:st|nd|rd|th)?"
AND = r" (?:and|to|until|till|through) (?:the )?(?P<to>[0-3]?\d)(?:st|nd|rd|th)?"
ENDS = r"""(?=(?: )?(?:\Z|[?.!,;:)\]"']))"""
SAYS_ON = r"(?= (?:i|we|did|have|has|was|what|until)\b)"
IN = rf"(?:{OPENS}|(?:in|during|throughout|over|around)(?: the)? )"
AT = rf"(?:{OPENS}|(?:on|at|for|in|during|over|around) )"
NO_COUNT = (
    r"(?! (?:(?:people|men|women|children|percent|of)\b"
    r"|(?!(?:this|was|has|is|does|as|his|its|always)\b)[a-z]{1,20}s\b))"
)
NO_VERB = (
    r"(?! (?:of|apart|down|off|over|under|through|into|short|behind|out|on|to|asleep|from|up|back"
    r"|open|loose)\b)"
)
NO_THING = (
    r"(?! (?:trees?|gifts?|presents?|cards?|eggs?|songs?|movies?|lights|carols?|costumes?|cookies?"
    r"|bunny)\b)"
)
NO_SCHOOL = r"(?! (?:school|dress|best)\b)"
_TIMES = (
    MONTHS,
    FOREIGN_MONTHS,
    [name for name in WEEKDAYS if name.endswith("day")],
    DAYS,
    HOURS,
    PERIODS,
    SEASONS,
    HOLIDAYS,
)
TIME_WORDS = frozenset(
    name.split()[-1].removesuffix("s") for names in _TIMES for name in names
) | frozenset(
    "day week month quarter year fortnight decade hour minute recent lately viik wochen "
    "tagen sitten sedan".split()
)
"""A text that mentions a time has a digit or one of these words."""


def may_mention_time(text: str) -> bool:
    """Return whether a text may mention a time. Fast; most texts do not."""
    plain = text.casefold()
    return any(map(str.isdigit, plain)) or any(word in plain for word in TIME_WORDS)
