"""Whether two spellings are one word: a typo or a plural, but no other word, tense or name."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

SHORTEST = 5
"""Letters; in a shorter word, one letter too often makes another word."""
LONG = 8
_ENDINGS = frozenset("sdrngy")


def is_same_word(mine: str, theirs: str, *, name: bool, english: bool) -> bool:
    """Whether two words are the same but for a typo or a plural.

    A name may only have two neighbouring letters exchanged. Outside English, where one letter is
    often a case, a person or a vowel length, the difference must be inside a long word.
    """
    if not (mine.isalpha() and theirs.isalpha()) or mine[0] != theirs[0]:
        return False
    if english and not name and _is_plural(mine, theirs):
        return True
    shorter = min(len(mine), len(theirs))
    if max(len(mine), len(theirs)) < SHORTEST or shorter < SHORTEST - 1:
        return False
    typo, at = _find_typo(mine, theirs)
    if typo == "" or (mine in load_real_words() and theirs in load_real_words()):
        return False
    if typo == "exchanged":
        return english or (at >= 1 and at + 4 <= len(mine))
    if name:
        return False
    if not english:
        has_case = mine != mine.upper()  # a script with upper and lower case
        return typo == "replaced" and shorter >= LONG and 2 <= at < len(mine) - 3 and has_case
    # The last letter may be an ending: agree(d), planne(d|r), health(y).
    if len(mine) == len(theirs):
        return not (mine[:-1] == theirs[:-1] and mine[-1] in _ENDINGS and theirs[-1] in _ENDINGS)
    short, long = sorted((mine, theirs), key=len)
    is_ending = long[-1] == "y" or (long[-1] in "drnst" and short[-1] in "eyt")
    return not (long[:-1] == short and is_ending)


def is_same_present(mine: str, theirs: str) -> bool:
    """Whether they are two present forms of an English verb: plays, playing. Never the past."""
    one, other = (mine, theirs) if mine.endswith("ing") else (theirs, mine)
    stem = one.removesuffix("ing")
    if len(stem) < 2 or stem == one or other.endswith(("ing", "ed")):
        return False
    bases = {stem, stem + "e"} | ({stem[:-1]} if stem[-1] == stem[-2] else set())
    forms = {base + ending for base in bases for ending in ("", "s", "es")} | {stem[:-1] + "ies"}
    return other in forms


_NO_PLURALS = frozenset(
    """
    news means goods customs arms lens maths needs thanks hers ours yours theirs series species
    always perhaps adams andrews daniels davids edwards evans james johns matthews michaels peters
    phillips richards roberts stevens williams
    """.split()
)


def _is_plural(mine: str, theirs: str) -> bool:
    """Whether one word is the English plural of the other."""
    short, long = sorted((mine, theirs), key=len)
    if len(short) < 3 or not long.endswith("s") or short.endswith("s") or long in _NO_PLURALS:
        return False
    return (
        long == short + "s"
        or (long == short + "es" and short.endswith(("x", "ch", "sh", "z", "o")))
        or long == short[:-1] + "ies"
    )


def _find_typo(mine: str, theirs: str) -> tuple[str, int]:
    """Return the one typo between two words and its position.

    The typo is "exchanged", "replaced", "dropped", or "" if there is not exactly one.
    """
    at = next(
        (place for place, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b),
        min(len(mine), len(theirs)),
    )
    rest, other = mine[at:], theirs[at:]
    if len(mine) == len(theirs):
        if rest[1:] == other[1:]:
            return ("replaced", at) if rest else ("", 0)
        swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
        return ("exchanged", at) if swapped else ("", 0)
    if rest[1:] == other or rest == other[1:]:
        return "dropped", at
    return "", 0


@lru_cache(maxsize=1)
def load_real_words() -> frozenset[str]:
    """Return English words and names that are one typo away from another.

    They are taken from the vocabulary of BERT (Apache 2.0).
    """
    path = resources.files(__package__).joinpath("real_words.txt")
    return frozenset(path.read_text("ascii").split())
