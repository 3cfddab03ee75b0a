"""Normalize numbers and dates, so that equal values have equal forms."""

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
"""Characters; a longer number is compared but not multiplied."""


def parse_number(raw: str) -> Sequence[str]:
    """Return the tokens of a run that begins with digits: `1,000`, `15th`, `5m`, `10gb`, `3d`."""
    match = _GLUED.fullmatch(raw)
    if match is None:
        return (clean_number(raw),)
    number, letters = clean_number(match[1]), match[2]
    if letters in GLUED_SCALES:
        return (scale_number(number, GLUED_SCALES[letters]),)
    if letters in _ORDINAL:
        return (f"{number}th",)
    is_decade = letters == "s" and number.isdecimal() and len(number) in (2, 4)  # `1990s`
    if letters in _UNITS and not is_decade:
        return (number, *CANONICAL.get(letters, (letters,)))
    return (number + letters,)


def clean_number(number: str) -> str:
    """Remove thousands separators. The rest stays as typed: `1.10` may be a version."""
    if number.startswith((".", "-.")):
        number = number.replace(".", "0.", 1)
    return number.replace(",", "") if "," in number and _THOUSANDS.fullmatch(number) else number


def scale_number(number: str, places: int) -> str:
    """Multiply by a power of ten: 2.5 and 6 places give 2500000."""
    try:
        value = Decimal(number).scaleb(places) if len(number) <= LONGEST else None
    except InvalidOperation:
        value = None
    return f"{number}e{places}" if value is None else f"{value.normalize():f}"


def join_numbers(tokens: list[str]) -> list[str]:
    """Join compound numbers (`twenty five`, `5 million`) and dates; put currencies after numbers.

    A date becomes one token such as `@2024-03-15`.
    """
    if not any(_is_number(token) for token in tokens):
        return tokens
    found: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token[0].isalpha() and token not in MONTHS:
            found.append(token)
            at += 1
        elif token in _CURRENCIES and at + 1 < len(tokens) and _is_number(tokens[at + 1]):
            number, used = _read_number(tokens, at + 1)
            found += (number, token)
            at += 1 + used
        elif (date := _read_date(tokens, at)) is not None:
            found.append(date[0])
            at += date[1]
        elif _is_number(token):
            number, used = _read_number(tokens, at)
            found.append(number)
            at += used
        else:
            found.append(token)
            at += 1
    return found


def _is_number(token: str) -> bool:
    return token[0].isdigit() or (token[0] == "-" and token[1:2].isdigit())


def _read_number(tokens: Sequence[str], at: int) -> tuple[str, int]:
    """Return the number that begins here, and how many tokens it has."""
    number, used = tokens[at], 1
    unit = _get(tokens, at + 1)
    is_tens = number.isdecimal() and len(number) == 2 and number[0] > "1" and number[1] == "0"
    if is_tens and len(unit) == 1 and unit in "123456789":
        number, used = number[0] + unit, used + 1
    while (places := SCALES.get(_get(tokens, at + used))) is not None:
        number, used = scale_number(number, places), used + 1
    return number, used


def _read_date(tokens: Sequence[str], at: int) -> tuple[str, int] | None:
    """Return the date that begins here, and how many tokens it has; None if there is none.

    `March 15`, `15 March`, `15th of March`, each with or without a year, and `2024-03-15`.
    """
    token = tokens[at]
    if token in MONTHS:
        day = _read_day(tokens, at + 1)
        return _add_year(tokens, at + 2, MONTHS[token], day, 2) if day else None
    if len(token) == 4 and token.isdecimal():
        month, day_of_month = _get(tokens, at + 1), _get(tokens, at + 2)
        if _is_two_digits(month, 12) and _is_two_digits(day_of_month, 31):
            return f"@{token}-{month}-{day_of_month}", 3
        return None
    day = _read_day(tokens, at)
    if not day:
        return None
    step = 2 if _get(tokens, at + 1) == "of" else 1
    month_name = _get(tokens, at + step)
    if month_name not in MONTHS:
        return None
    return _add_year(tokens, at + step + 1, MONTHS[month_name], day, step + 1)


def _read_day(tokens: Sequence[str], at: int) -> int:
    token = _get(tokens, at).removesuffix("th")
    return int(token) if token.isdecimal() and len(token) <= 2 and 1 <= int(token) <= 31 else 0


def _is_two_digits(token: str, most: int) -> bool:
    return len(token) == 2 and token.isdecimal() and 1 <= int(token) <= most


def _add_year(tokens: Sequence[str], at: int, month: int, day: int, used: int) -> tuple[str, int]:
    comma = _get(tokens, at) == ","
    year = _get(tokens, at + comma)
    if len(year) == 4 and year.isdecimal() and "1000" <= year < "2200":
        return f"@{year}-{month:02}-{day:02}", used + comma + 1
    return f"@{month:02}-{day:02}", used


def _get(tokens: Sequence[str], at: int) -> str:
    """Return a token, or "" after the last one."""
    return tokens[at] if at < len(tokens) else ""
