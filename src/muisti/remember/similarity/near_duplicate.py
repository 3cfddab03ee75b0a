"""Whether two texts are the same memory (contract C3): the new one would be dropped, so in doubt they are two.

Near is not enough. Whatever carries a fact must be equal and in the same place: numbers, dates, names, paths, code, negation,
and in the end every word that is not light. What may differ is how it was typed: white space, case, punctuation, short forms,
articles, a plural, a slip of the finger, and a clause that was moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muisti.remember.similarity.abbreviations import NEGATIONS
from muisti.remember.similarity.normal_form import MARKS, NormalForm, normalize, straighten
from muisti.remember.similarity.reorder import is_reordered
from muisti.remember.similarity.spelling import is_same_present, is_same_word

NEAR = 0.8
"""Above it, two texts are near by their letters."""
LONGEST = 20_000
"""Characters; beyond, only white space, quotes and dashes may differ."""
EMBEDDED = 0.95
"""From this cosine on (default model), two texts are near by meaning. It excuses no other word: of the judged pairs with
one word exchanged, 28 at .97 are right and none is wrong; but 27 % of changed numbers, 54 % of dates
and 11 % of negations are as near."""
WORDS_PER_SLIP = 6
MOST_DIFFERENCES = 12
"""Words on both sides together; with more the texts are not looked at more closely."""
Difference = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of two texts."""

    same: bool
    """They may be merged."""
    similarity: float
    """0 to 1, of the letters of their words (sorted, where the words are the same); 0 where a glance was enough to refuse."""
    by: str
    """Which nearness was met: "levenshtein", "simhash" (the same words in another order), "embedding"; "" for none."""
    differences: tuple[Difference, ...]
    """(mine, theirs) what forbids to merge, where they are near enough to tell; "" for nothing on that side."""


UNRELATED = Comparison(same=False, similarity=0.0, by="", differences=())
EQUAL = Comparison(same=True, similarity=1.0, by="levenshtein", differences=())


def compare(mine: str, theirs: str, *, cosine: float | None = None) -> Comparison:
    """Whether two texts are one memory. Symmetric; pure; never raises.

    With the cosine of their embeddings, two forms of the present are one as well: `plays`, `is playing`.
    """
    if mine == theirs:
        return EQUAL
    if max(len(mine), len(theirs)) > LONGEST:
        return EQUAL if straighten(mine) == straighten(theirs) else UNRELATED
    if _far_apart(mine, theirs):
        return UNRELATED
    ours, others = normalize(mine), normalize(theirs)
    if ours.content == others.content:
        return _equal_words(ours, others)
    if _too_different(ours.content, others.content):
        return UNRELATED
    if sorted(ours.content) == sorted(others.content):
        return _other_order(ours, others)
    return _other_words(ours, others, near=cosine is not None and cosine >= EMBEDDED)


def _equal_words(mine: NormalForm, theirs: NormalForm) -> Comparison:
    if not mine.content and _weightless(mine) != _weightless(theirs):
        return UNRELATED
    differing = _exact_differences(mine, theirs)
    return Comparison(not differing, 1.0, "levenshtein", differing)


def _weightless(text: NormalForm) -> Sequence[str]:
    """A text of nothing but articles, or else of nothing but punctuation: then that must be equal."""
    return [token for token in text.tokens if token not in MARKS] or [straighten(text.text)]


def _other_order(mine: NormalForm, theirs: NormalForm) -> Comparison:
    similarity = _similarity(mine.content, theirs.content)
    by = (
        "levenshtein" if similarity > NEAR else "simhash"
    )  # the same words have the same simhash, whatever their order
    if is_reordered(mine.tokens, theirs.tokens, english=mine.english and theirs.english):
        differing = _exact_differences(mine, theirs)
    else:
        differing = tuple(_aligned(mine.content, theirs.content))
    return Comparison(not differing, 1.0 if by == "simhash" else similarity, by, differing)


def _other_words(mine: NormalForm, theirs: NormalForm, *, near: bool) -> Comparison:
    """What is left when plurals and slips are taken away forbids it."""
    slips, presents = 0, 0
    left: list[Difference] = []
    for a, b in _aligned(mine.content, theirs.content):
        if _spaced(a, b):
            continue
        if _one_word(a, b, mine, theirs):
            slips += 1
        elif near and is_same_present(a, b) and mine.english and theirs.english:
            presents += 1
        else:
            left.append((a, b))
    left += _exact_differences(mine, theirs)
    similarity = _similarity(mine.content, theirs.content)
    by = (
        "embedding"
        if presents or (near and similarity <= NEAR)
        else "levenshtein"
        if similarity > NEAR
        else ""
    )
    return Comparison(
        bool(by) and not left and slips <= _slips_allowed(mine, theirs), similarity, by, tuple(left)
    )


def _far_apart(mine: str, theirs: str) -> bool:
    """A glance at letters alone: no abbreviation, typo or moved clause takes half of them away from a text of some length."""
    from rapidfuzz.distance import Indel  # 25 ms, which a program that saves nothing need not spend

    ours, others = (" ".join(sorted(text.casefold().split())) for text in (mine, theirs))
    if max(len(ours), len(others)) < 40:
        return False
    return Indel.normalized_similarity(ours, others, score_cutoff=0.5) == 0.0


def _too_different(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    allowed = MOST_DIFFERENCES + min(len(mine), len(theirs)) // 3
    return abs(len(mine) - len(theirs)) > allowed or len(set(mine) ^ set(theirs)) > allowed


def _similarity(mine: Sequence[str], theirs: Sequence[str]) -> float:
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(" ".join(mine), " ".join(theirs))


def _exact_differences(mine: NormalForm, theirs: NormalForm) -> tuple[Difference, ...]:
    """Identifiers that differ in case; unless all of a text was put in another case."""
    ours = [word for word in mine.exact if word not in theirs.text]
    others = [word for word in theirs.exact if word not in mine.text]
    if not (ours or others) or _recased(mine, theirs):
        return ()
    return (
        *((word, word.casefold()) for word in ours),
        *((word.casefold(), word) for word in others),
    )


def _recased(mine: NormalForm, theirs: NormalForm) -> bool:
    """Whether one of them is the other in lower case, UPPER or Title: then its plain words differ in case as well."""
    if mine.cased and theirs.cased:
        return False
    return (
        _plain_names(mine) != _plain_names(theirs) or mine.text.isupper() != theirs.text.isupper()
    )


def _plain_names(text: NormalForm) -> frozenset[str]:
    return text.names.difference(word.casefold() for word in text.exact)


def _slips_allowed(mine: NormalForm, theirs: NormalForm) -> int:
    words = min(len(mine.content), len(theirs.content))
    return 0 if words < 3 else max(1, words // WORDS_PER_SLIP)


def _one_word(a: str, b: str, mine: NormalForm, theirs: NormalForm) -> bool:
    if a in NEGATIONS or b in NEGATIONS:
        return False
    telling = [(word, text) for word, text in ((a, mine), (b, theirs)) if text.cased] or [
        (a, mine),
        (b, theirs),
    ]
    name = any(word in text.names for word, text in telling)
    return is_same_word(a, b, name=name, english=mine.english and theirs.english)


def _spaced(a: str, b: str) -> bool:
    """`data base` and `database`. Not where a part of it could be a word that turns the sense: `in active`, `no where`."""
    parts = a.split(" ") if " " in a else b.split(" ")
    if len(parts) != 2 or len(parts[0]) < 3 or parts[0] in NEGATIONS or parts[0] == "non":
        return False
    return a.replace(" ", "") == b.replace(" ", "") and a.replace(" ", "").isalpha()


def _aligned(mine: Sequence[str], theirs: Sequence[str]) -> list[Difference]:
    """The stretches that differ, each as (mine, theirs); stretches of the same length word by word."""
    found: list[Difference] = []
    for a, b in find_differences(mine, theirs):
        if len(a) == len(b):
            found += zip(a, b, strict=True)
        else:
            found.append((" ".join(a), " ".join(b)))
    return found


def find_differences(
    mine: Sequence[str], theirs: Sequence[str]
) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Where two rows of words differ, each stretch as long as it can be."""
    from rapidfuzz.distance import Levenshtein

    found: list[tuple[Sequence[str], Sequence[str]]] = []
    at = (0, 0)
    for a, b, size in Levenshtein.opcodes(mine, theirs).as_matching_blocks():
        if (a, b) != at:
            found.append((mine[at[0] : a], theirs[at[1] : b]))
        at = (a + size, b + size)
    return found
