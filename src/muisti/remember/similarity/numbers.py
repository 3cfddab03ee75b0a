"""Numbers and dates in one form each, so that they are equal only where their values are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from muisti.remember.similarity.abbreviations import CANONICAL, GLUED_SCALES, MONTHS, SCALES

_GLUED = re.compile(r"(-?\.?\d+(?:[.,:]\d+)*)([^\W\d_]+)")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ORDINAL = frozenset(("st", "nd", "rd", "th"))
_UNITS = frozenset(
    "am pm gb mb kb tb ms km kg cm mm hr hrs h min mins sec secs s px usd eur".split()
)
_CURRENCIES = frozenset("$€£¥")
LONGEST = 30
"""Digits beyond which a number is only compared, never multiplied."""


def parse_number(raw: str) -> Sequence[str]:
    """A run that begins with digits: `1,000`, `15th`, `5m`, `10gb`, `3d`."""
    match = _GLUED.fullmatch(raw)
    if match is None:
        return (clean_number(raw),)
    number, letters = clean_number(match[1]), match[2]
    if letters in GLUED_SCALES:
        return (scale_number(number, GLUED_SCALES[letters]),)
    if letters in _ORDINAL:
        return (f"{number}th",)
    if letters in _UNITS and not (
        letters == "s" and number.isdecimal() and len(number) in (2, 4)
    ):  # `1990s`
        return (number, *CANONICAL.get(letters, (letters,)))
    return (number + letters,)


def clean_number(number: str) -> str:
    """Without thousands' commas; everything else as it was typed, since `1.10` may be a version."""
    if number.startswith((".", "-.")):
        number = number.replace(".", "0.", 1)
    return number.replace(",", "") if "," in number and _THOUSANDS.fullmatch(number) else number


def scale_number(number: str, places: int) -> str:
    """2.5, 6 places → 2500000."""
    try:
        value = Decimal(number).scaleb(places) if len(number) <= LONGEST else None
    except InvalidOperation:
        value = None
    return f"{number}e{places}" if value is None else f"{value.normalize():f}"


def join_numbers(tokens: list[str]) -> list[str]:
    """With compound numbers joined (`twenty five`, `5 million`), currencies behind, and dates as one token `@2024-03-15`."""
    if not any(_numeric(token) for token in tokens):
        return tokens
    found: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token[0].isalpha() and token not in MONTHS:
            found.append(token)
            at += 1
            continue
        settled_here, used = _settle(tokens, at)
        found += settled_here
        at += used
    return found


def _settle(tokens: list[str], at: int) -> tuple[Sequence[str], int]:
    """What the token here, with those behind it, comes to; and how many it takes."""
    token = tokens[at]
    if token in _CURRENCIES and at + 1 < len(tokens) and _numeric(tokens[at + 1]):
        number, used = _number(tokens, at + 1)
        return (number, token), 1 + used
    date = _date(tokens, at)
    if date is not None:
        return (date[0],), date[1]
    if _numeric(token):
        number, used = _number(tokens, at)
        return (number,), used
    return (token,), 1


def _numeric(token: str) -> bool:
    return token[0].isdigit() or (token[0] == "-" and token[1:2].isdigit())


def _number(tokens: Sequence[str], at: int) -> tuple[str, int]:
    """The number that begins here, and of how many tokens it is."""
    number, used = tokens[at], 1
    follows = tokens[at + used] if at + used < len(tokens) else ""
    if (
        number.isdecimal()
        and len(number) == 2
        and number[1] == "0"
        and number[0] > "1"
        and _unit(follows)
    ):
        number, used = number[0] + follows, used + 1
    while at + used < len(tokens) and (places := SCALES.get(tokens[at + used])) is not None:
        number, used = scale_number(number, places), used + 1
    return number, used


def _unit(token: str) -> bool:
    return len(token) == 1 and token in "123456789"


def _date(tokens: Sequence[str], at: int) -> tuple[str, int] | None:
    """`March 15`, `15 March`, `15th of March`, `2024-03-15`, with or without a year, and how many tokens it takes."""
    token = tokens[at]
    if token in MONTHS:
        day = _day(tokens, at + 1)
        return _with_year(tokens, at + 2, MONTHS[token], day, 2) if day else None
    if len(token) == 4 and token.isdecimal():
        month, day_of = tokens[at + 1 : at + 2], tokens[at + 2 : at + 3]
        if month and day_of and _two_digits(month[0], 12) and _two_digits(day_of[0], 31):
            return f"@{token}-{month[0]}-{day_of[0]}", 3
        return None
    day = _day(tokens, at)
    if not day:
        return None
    step = 2 if tokens[at + 1 : at + 2] == ["of"] else 1
    month_name = tokens[at + step] if at + step < len(tokens) else ""
    return (
        _with_year(tokens, at + step + 1, MONTHS[month_name], day, step + 1)
        if month_name in MONTHS
        else None
    )


def _day(tokens: Sequence[str], at: int) -> int:
    token = tokens[at].removesuffix("th") if at < len(tokens) else ""
    return int(token) if token.isdecimal() and len(token) <= 2 and 1 <= int(token) <= 31 else 0


def _two_digits(token: str, most: int) -> bool:
    return len(token) == 2 and token.isdecimal() and 1 <= int(token) <= most


def _with_year(tokens: Sequence[str], at: int, month: int, day: int, used: int) -> tuple[str, int]:
    comma = at < len(tokens) and tokens[at] == ","
    year = tokens[at + comma] if at + comma < len(tokens) else ""
    if len(year) == 4 and year.isdecimal() and "1000" <= year < "2200":
        return f"@{year}-{month:02}-{day:02}", used + comma + 1
    return f"@{month:02}-{day:02}", used
