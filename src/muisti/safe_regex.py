"""The regular expressions that people write in their settings: whether one is safe to run.

A pattern runs over every memory that is saved, whoever wrote the memory. So one that could take very long on an
unlucky text is refused when the settings are read, not met later. The settings check it, so this lies below them and is
not part of `muisti.text`; how a pattern is searched for is (`text.tokens.compile_whole_words`).
"""

from __future__ import annotations

import re
import warnings
from re import _constants as codes  # type: ignore[attr-defined]  # the only way to see what a pattern consists of
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LONGEST = 500
READ = 4000
"""How much of a text patterns read: it says what it is at its beginning; further on they would only find accidents."""
_WAYS = 30_000
"""In how many ways a pattern may be tried at one place: a `\\w+`, or three words of up to thirty letters."""
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def find_fault(pattern: str) -> str | None:
    """Return what is wrong with a pattern, and the cure; None if nothing is."""
    if not pattern.strip():
        return "is empty; write a word, or leave it out"
    if len(pattern) > LONGEST:
        return f"has {len(pattern)} characters; {LONGEST} are allowed: make several of it"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error"
            )  # what Python will read otherwise one day is a mistake today
            tree = parser.parse(pattern)
            re.compile(pattern)
    except (re.error, OverflowError, Warning) as error:
        return f"is no regular expression: {error}; mend it, or put a backslash before a character that stands for itself"
    if tree.state.flags & ~re.UNICODE:
        return "sets flags for all that follows; write (?s:…) around what they are for, and leave (?i) out: case never counts"
    if tree.getwidth()[0] == 0:
        return "may match nothing at all, so it would be found in every text; let it ask for at least one character"
    if _ways(tree) > _WAYS:
        return r"could take very long on some texts; say how often things repeat at most, such as \w{1,30} for \w+"
    return None


def _ways(tree: Any) -> int:
    """An upper bound of the ways to match at one place, where an endless repetition counts as long as the text is."""
    ways = 1
    for code, argument in tree:
        ways = min(_WAYS + 1, ways * _ways_of(code, argument))
    return ways


def _ways_of(code: Any, argument: Any) -> int:
    if code in _REPEATS:
        return _ways_repeated(*argument)
    if code is codes.BRANCH:
        return sum(map(_ways, argument[1]))
    if code is codes.SUBPATTERN:
        return _ways(argument[-1])
    if code is codes.ATOMIC_GROUP:
        return _ways(argument)
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return _ways(argument[1])
    if code is codes.GROUPREF_EXISTS:
        return sum(_ways(branch) for branch in argument[1:] if branch)
    return 1


def _ways_repeated(least: int, most: int, body: Any) -> int:
    """Each round multiplies the ways of what is repeated: that is what makes (a+)+ endless."""
    once = _ways(body)
    if once == 1:
        return min(int(most), READ) - min(int(least), READ) + 1
    if most > _WAYS.bit_length():
        return _WAYS + 1
    return min(_WAYS + 1, sum(int(once**times) for times in range(least, most + 1)))
