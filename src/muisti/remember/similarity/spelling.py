"""Whether two spellings are one word: a slip of the finger or a plural, but never another word, tense, name or number."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

SHORTEST = 5
"""Letters; in a shorter word one letter makes another word too often."""
LONG = 8
_ENDINGS = frozenset("sdrngy")


def is_same_word(mine: str, theirs: str, *, name: bool, english: bool) -> bool:
    """Whether both are the same word, typed twice.

    A name may only have two neighbouring letters exchanged. Outside English, where one letter is often a case, a person or a
    length of vowel, the difference must lie inside a long word.
    """
    if not (mine.isalpha() and theirs.isalpha()) or mine[0] != theirs[0]:
        return False
    if english and not name and _plural(mine, theirs):
        return True
    if max(len(mine), len(theirs)) < SHORTEST or min(len(mine), len(theirs)) < SHORTEST - 1:
        return False
    kind, at = _slip(mine, theirs)
    if kind == "" or (mine in load_real_words() and theirs in load_real_words()):
        return False
    if kind == "exchanged":
        return english or (at >= 1 and at + 4 <= len(mine))
    if name:
        return False
    if not english:
        return (
            kind == "replaced"
            and min(len(mine), len(theirs)) >= LONG
            and 2 <= at < len(mine) - 3
            and _cased_script(mine)
        )
    return not _inflected(mine, theirs)


def is_same_present(mine: str, theirs: str) -> bool:
    """Whether they are an English verb's two forms of now: plays, playing. Never the past."""
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


def _plural(mine: str, theirs: str) -> bool:
    short, long = sorted((mine, theirs), key=len)
    if len(short) < 3 or not long.endswith("s") or short.endswith("s") or long in _NO_PLURALS:
        return False
    return (
        long == short + "s"
        or (long == short + "es" and short.endswith(("x", "ch", "sh", "z", "o")))
        or long == short[:-1] + "ies"
    )


def _slip(mine: str, theirs: str) -> tuple[str, int]:
    """What one slip tells them apart (exchanged, replaced, dropped; or nothing does), and at which letter."""
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


def _inflected(mine: str, theirs: str) -> bool:
    """Whether the last letter may be an English ending: agree, agreed; plan(ned), plan(ner); health, healthy."""
    if len(mine) == len(theirs):
        return mine[:-1] == theirs[:-1] and mine[-1] in _ENDINGS and theirs[-1] in _ENDINGS
    short, long = sorted((mine, theirs), key=len)
    return long[:-1] == short and (long[-1] == "y" or (long[-1] in "drnst" and short[-1] in "eyt"))


def _cased_script(word: str) -> bool:
    return word != word.upper()


@lru_cache(maxsize=1)
def load_real_words() -> frozenset[str]:
    """English words and names that are one slip away from another; taken from the vocabulary of BERT (Apache 2.0)."""
    return frozenset(
        resources.files(__package__).joinpath("real_words.txt").read_text("ascii").split()
    )
