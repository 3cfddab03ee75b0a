"""Texts that are expensive to parse, derived from the patterns of the parser itself.

A pattern is slow on what nearly matches it, again and again: its beginnings, its matches without
the end, long runs of the characters that it repeats, and parts of two patterns in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import _constants as codes  # type: ignore[attr-defined]  # no public parser
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

SEPARATORS = ("", " ", "\n", "=")
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_NOT_WORD: "-",
}
_LONGEST = 200


def derive_pieces(pattern: str, flags: int = 0) -> list[str]:
    """Return beginnings of matches, matches without their end, and repeated characters."""
    parts = [part for part in _walk(parser.parse(pattern, flags & ~re.DEBUG)) if part]
    whole = "".join(parts)[:_LONGEST]
    runs = [part[0] for part in parts if len(part) > 2 and len(set(part)) == 1]
    beginnings = ["".join(parts[:count])[:_LONGEST] for count in range(1, len(parts))]
    middle = beginnings[len(beginnings) // 2 : len(beginnings) // 2 + 1]
    found = [*beginnings[:1], *middle, *beginnings[-1:], whole, whole[:-1], *runs[:2]]
    return list(dict.fromkeys(piece for piece in found if piece))


def list_patterns(modules: Iterable[ModuleType]) -> list[re.Pattern[str]]:
    """Return the compiled patterns of the modules, also those in tuples and lists."""
    found: dict[str, re.Pattern[str]] = {}
    for module in modules:
        for value in vars(module).values():
            for one in value if isinstance(value, tuple | list) else (value,):
                if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                    found[one.pattern] = one
    return list(found.values())


def _walk(tree: Any) -> Iterator[str]:
    """Yield a sample of each part of a pattern, in order."""
    literal = ""
    for code, argument in tree:
        if code is codes.LITERAL:
            literal += chr(argument)
            continue
        if literal:
            yield literal
            literal = ""
        yield from _sample(code, argument)
    if literal:
        yield literal


def _sample(code: Any, argument: Any) -> Iterator[str]:
    if code in _REPEATS:
        least, _, body = argument
        yield "".join(_walk(body)) * max(1, min(int(least), 40))
    elif code is codes.BRANCH:
        yield from _walk(argument[1][0])
    elif code is codes.SUBPATTERN:
        yield from _walk(argument[-1])
    elif code is codes.ATOMIC_GROUP:
        yield from _walk(argument)
    elif code is codes.IN:
        yield _choose(argument)
    elif code is codes.NOT_LITERAL:
        yield "b" if chr(argument) == "a" else "a"
    elif code is codes.ANY:
        yield "a"


def _choose(items: list[tuple[Any, Any]]) -> str:
    if items[0][0] is not codes.NEGATE:
        return _first(*items[0])
    for character in "a1 .-_<\n":
        if not any(_has(character, *item) for item in items[1:]):
            return character
    return "ä"


def _first(code: Any, argument: Any) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.RANGE:
        return chr(argument[0])
    return _CATEGORIES[argument]


def _has(character: str, code: Any, argument: Any) -> bool:
    if code is codes.LITERAL:
        return ord(character) == int(argument)
    if code is codes.RANGE:
        return bool(argument[0] <= ord(character) <= argument[1])
    return character in {
        codes.CATEGORY_SPACE: " \n",
        codes.CATEGORY_DIGIT: "1",
        codes.CATEGORY_WORD: "a1_",
        codes.CATEGORY_NOT_SPACE: "a1.-_<",
        codes.CATEGORY_NOT_WORD: " .-<\n",
        codes.CATEGORY_NOT_DIGIT: "a .-_<\n",
    }.get(argument, "")
