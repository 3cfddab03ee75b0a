"""Whether two texts are the same memory (contract C3). In doubt, they are not.

A duplicate is dropped, so being similar is not enough. Whatever carries a fact must be equal and in
the same place: numbers, dates, names, paths, code, negations, and every word that is not light.
Only typing may differ: white space, case, punctuation, short forms, articles, a plural, a typo, and
a clause that was moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from muisti.remember.similarity.abbreviations import NEGATIONS
from muisti.remember.similarity.normal_form import MARKS, NormalForm, normalize, straighten
from muisti.remember.similarity.reorder import is_reordered
from muisti.remember.similarity.spelling import is_same_present, is_same_word

NEAR = 0.8
"""Above this similarity, two texts are near by their letters."""
LONGEST = 20_000
"""Characters; in longer texts, only white space, quotes and dashes may differ."""
EMBEDDED = 0.95
"""From this cosine on (default model), two texts are near by meaning.

That allows no other word. Of the judged pairs with one word exchanged, 28 at .97 are duplicates and
none is not; but 27 % of changed numbers, 54 % of dates and 11 % of negations are as near.
"""
WORDS_PER_TYPO = 6
MOST_DIFFERENCES = 12
"""Words on both sides together; texts with more are not compared further."""
Difference = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing two texts."""

    same: bool
    """Whether they may be merged."""
    similarity: float
    """0 to 1, by the letters of their words; 0 for texts that were not compared further."""
    by: str
    """The measure that was met: "levenshtein", "simhash" (another order), "embedding" or ""."""
    differences: tuple[Difference, ...]
    """Why similar texts may not be merged: (mine, theirs) pairs; "" for nothing on that side."""


UNRELATED = Comparison(same=False, similarity=0.0, by="", differences=())
EQUAL = Comparison(same=True, similarity=1.0, by="levenshtein", differences=())


def compare(mine: str, theirs: str, *, cosine: float | None = None) -> Comparison:
    """Return whether two texts are one memory. Symmetric, pure, raises nothing.

    Cosine: of their embeddings. If it is high, two present forms are equal: `plays`, `is playing`.
    """
    if mine == theirs:
        return EQUAL
    if max(len(mine), len(theirs)) > LONGEST:
        return EQUAL if straighten(mine) == straighten(theirs) else UNRELATED
    from rapidfuzz.distance import Indel  # takes 25 ms, which only saving needs

    # If less than half of the letters are the same, no typo or short form explains that.
    letters, their_letters = _sort_words(mine), _sort_words(theirs)
    is_long = max(len(letters), len(their_letters)) >= 40
    if is_long and not Indel.normalized_similarity(letters, their_letters, score_cutoff=0.5):
        return UNRELATED
    ours, others = normalize(mine), normalize(theirs)
    if ours.content == others.content:
        if not ours.content and _find_light_words(ours) != _find_light_words(others):
            return UNRELATED
        differences = _find_case_differences(ours, others)
        return Comparison(not differences, 1.0, "levenshtein", differences)
    allowed = MOST_DIFFERENCES + min(len(ours.content), len(others.content)) // 3
    if (
        abs(len(ours.content) - len(others.content)) > allowed
        or len(set(ours.content) ^ set(others.content)) > allowed
    ):
        return UNRELATED
    if sorted(ours.content) == sorted(others.content):  # then their simhash is the same
        similarity = _measure_similarity(ours.content, others.content)
        if is_reordered(ours.tokens, others.tokens, english=ours.english and others.english):
            differences = _find_case_differences(ours, others)
        else:
            differences = tuple(_align(ours.content, others.content))
        if similarity > NEAR:
            return Comparison(not differences, similarity, "levenshtein", differences)
        return Comparison(not differences, 1.0, "simhash", differences)
    return _compare_words(ours, others, near=cosine is not None and cosine >= EMBEDDED)


@lru_cache(maxsize=256)  # a new memory is compared with many
def _sort_words(text: str) -> str:
    return " ".join(sorted(text.casefold().split()))


def _find_light_words(text: NormalForm) -> Sequence[str]:
    """Return what must be equal in a text of light words only, or of punctuation only."""
    return [token for token in text.tokens if token not in MARKS] or [straighten(text.text)]


def _compare_words(mine: NormalForm, theirs: NormalForm, *, near: bool) -> Comparison:
    """Compare texts with different words: any difference but plurals and typos is one too many."""
    english = mine.english and theirs.english
    typos, presents = 0, 0
    differences: list[Difference] = []
    for a, b in _align(mine.content, theirs.content):
        if _is_split_word(a, b):
            continue
        if _is_typo(a, b, mine, theirs):
            typos += 1
        elif near and is_same_present(a, b) and english:
            presents += 1
        else:
            differences.append((a, b))
    differences += _find_case_differences(mine, theirs)
    similarity = _measure_similarity(mine.content, theirs.content)
    if presents or (near and similarity <= NEAR):
        by = "embedding"
    else:
        by = "levenshtein" if similarity > NEAR else ""
    words = min(len(mine.content), len(theirs.content))
    allowed = 0 if words < 3 else max(1, words // WORDS_PER_TYPO)
    same = bool(by) and not differences and typos <= allowed
    return Comparison(same, similarity, by, tuple(differences))


def _measure_similarity(mine: Sequence[str], theirs: Sequence[str]) -> float:
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(" ".join(mine), " ".join(theirs))


def _find_case_differences(mine: NormalForm, theirs: NormalForm) -> tuple[Difference, ...]:
    """Return identifiers that differ in case, unless one whole text is in another case."""
    ours = [word for word in mine.exact if word not in theirs.text]
    others = [word for word in theirs.exact if word not in mine.text]
    if not (ours or others):
        return ()
    if not (mine.cased and theirs.cased):  # one is all in lower case, UPPER CASE or Title Case
        names, other_names = _find_plain_names(mine), _find_plain_names(theirs)
        if names != other_names or mine.text.isupper() != theirs.text.isupper():
            return ()
    return (
        *((word, word.casefold()) for word in ours),
        *((word.casefold(), word) for word in others),
    )


def _find_plain_names(text: NormalForm) -> frozenset[str]:
    return text.names.difference(word.casefold() for word in text.exact)


def _is_typo(a: str, b: str, mine: NormalForm, theirs: NormalForm) -> bool:
    if a in NEGATIONS or b in NEGATIONS:
        return False
    pairs = ((a, mine), (b, theirs))
    cased = [(word, text) for word, text in pairs if text.cased]  # only these can show a name
    name = any(word in text.names for word, text in cased or pairs)
    return is_same_word(a, b, name=name, english=mine.english and theirs.english)


def _is_split_word(a: str, b: str) -> bool:
    """Whether they are like `data base` and `database`, but not `in active` or `no where`."""
    parts = a.split(" ") if " " in a else b.split(" ")
    if len(parts) != 2 or len(parts[0]) < 3 or parts[0] in NEGATIONS or parts[0] == "non":
        return False
    return a.replace(" ", "") == b.replace(" ", "") and a.replace(" ", "").isalpha()


def _align(mine: Sequence[str], theirs: Sequence[str]) -> list[Difference]:
    """Return the differences as (mine, theirs): word by word where both have as many words."""
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
    """Return where two lists of words differ, each run as long as it can be."""
    from rapidfuzz.distance import Levenshtein

    found: list[tuple[Sequence[str], Sequence[str]]] = []
    at = (0, 0)
    for a, b, size in Levenshtein.opcodes(mine, theirs).as_matching_blocks():
        if (a, b) != at:
            found.append((mine[at[0] : a], theirs[at[1] : b]))
        at = (a + size, b + size)
    return found
