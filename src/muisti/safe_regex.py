"""Checks whether a regular expression from the settings is safe to run.

Patterns run on every memory that is saved, so one that could backtrack for very long is refused
when the settings are read. `muisti.settings` uses this module, so it is not part of `muisti.text`.
"""

from __future__ import annotations

import re
import warnings
from re import _constants as codes  # type: ignore[attr-defined]  # no public parser
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_LENGTH = 500
READ = 4000
"""Characters of a text that patterns search: its beginning says what it is about."""
_MAX_WAYS = 30_000
"""Most ways to match at one position: enough for `\\w+`, or three words of thirty letters."""
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def find_fault(pattern: str) -> str | None:
    """Return what is wrong with a pattern and how to fix it; None if it is safe."""
    if not pattern.strip():
        return "is empty; write a word or remove it"
    if len(pattern) > MAX_LENGTH:
        return f"has {len(pattern)} characters, more than {MAX_LENGTH}; split it"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # syntax whose meaning will change
            tree = parser.parse(pattern)
            re.compile(pattern)
    except (re.error, OverflowError, Warning) as error:
        return f"is not a valid regular expression: {error}; escape literal characters with \\"
    if tree.state.flags & ~re.UNICODE:
        return "sets global flags; use (?s:…) instead, and omit (?i): case is always ignored"
    if tree.getwidth()[0] == 0:
        return "can match the empty string; require at least one character"
    if _count_ways(tree) > _MAX_WAYS:
        return r"could take very long on some texts; limit repetitions, such as \w{1,30} for \w+"
    return None


def _count_ways(tree: Any) -> int:
    """Return an upper bound of the ways to match at one position of a text of READ characters."""
    ways = 1
    for code, argument in tree:
        ways = min(_MAX_WAYS + 1, ways * _count_node(code, argument))
    return ways


def _count_node(code: Any, argument: Any) -> int:
    if code in _REPEATS:
        return _count_repeat(*argument)
    if code is codes.BRANCH:
        return sum(map(_count_ways, argument[1]))
    if code is codes.SUBPATTERN:
        return _count_ways(argument[-1])
    if code is codes.ATOMIC_GROUP:
        return _count_ways(argument)
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return _count_ways(argument[1])
    if code is codes.GROUPREF_EXISTS:
        return sum(_count_ways(branch) for branch in argument[1:] if branch)
    return 1


def _count_repeat(least: int, most: int, body: Any) -> int:
    """Each round multiplies the ways of the body: that is what makes (a+)+ explode."""
    once = _count_ways(body)
    if once == 1:
        return min(int(most), READ) - min(int(least), READ) + 1
    if most > _MAX_WAYS.bit_length():
        return _MAX_WAYS + 1
    return min(_MAX_WAYS + 1, sum(int(once**times) for times in range(least, most + 1)))
