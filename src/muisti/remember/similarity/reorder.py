"""Whether a text is another one with a part moved, and still means the same.

Sentences may be swapped, and so may clauses around a comma or an `and`. A phrase that begins with a
preposition may be first instead of last. Anything else that is moved changes the meaning: `Alice
told Bob`, `from A to B`, `5 of 10`.
"""

from __future__ import annotations

from collections.abc import Sequence

from muisti.remember.similarity.abbreviations import (
    BINDING,
    JOINS,
    LIGHT,
    MOVABLE,
    NEGATIONS,
    WEEKDAYS,
)

Part = tuple[str, ...]
SHORTEST_CLAUSE = 3
"""Words; shorter ones are items of a list, whose order may matter."""
_ENDS = frozenset((".", "?"))


def is_reordered(mine: Sequence[str], theirs: Sequence[str], *, english: bool) -> bool:
    """Whether the tokens are the same but for one part that was moved without changing the meaning.

    The tokens include marks and light words.
    """
    if _has_swapped_sentences(mine, theirs):
        return True
    ours, others = _split(mine, _ENDS), _split(theirs, _ENDS)
    if len(ours) != len(others):
        return False
    bare_ours = [_drop_light(part) for part in ours]
    bare_others = [_drop_light(part) for part in others]
    if bare_ours == bare_others:
        return True
    if len(ours) > 1 and _has_moved_block(bare_ours, bare_others, shortest=1):
        return True
    # Only one sentence may differ inside.
    changed = [at for at, bare in enumerate(bare_ours) if bare != bare_others[at]]
    if len(changed) != 1:
        return False
    mine, theirs = ours[changed[0]], others[changed[0]]
    if _has_moved_block(_split_clauses(mine), _split_clauses(theirs), shortest=SHORTEST_CLAUSE):
        return True
    if not english:
        return False
    # P and Q; Q and P: whole clauses only.
    words, their_words = _drop_light(mine), _drop_light(theirs)
    for at in range(SHORTEST_CLAUSE, len(words) - SHORTEST_CLAUSE):
        if words[at] in JOINS and their_words == (*words[at + 1 :], words[at], *words[:at]):
            return True
    return _has_phrase_first(mine, theirs) or _has_phrase_first(theirs, mine)


def _has_swapped_sentences(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether they are P. Q. and Q. P.; the end of P may be hidden in one of them: `at 5 p.m.`"""
    (ours, ends), (others, their_ends) = _find_sentence_ends(mine), _find_sentence_ends(theirs)
    size = len(ours)
    if size != len(others) or size < 2 * SHORTEST_CLAUSE:
        return False
    for cut in range(SHORTEST_CLAUSE, size - SHORTEST_CLAUSE + 1):
        is_border = cut in ends or size - cut in their_ends
        if is_border and others[0] == ours[cut] and others == ours[cut:] + ours[:cut]:
            return True
    return False


def _find_sentence_ends(tokens: Sequence[str]) -> tuple[list[str], set[int]]:
    """Return the words that are not light, and the positions where a sentence begins."""
    words: list[str] = []
    ends: set[int] = set()
    for token in tokens:
        if token == "?" or not (token in _ENDS or token == "," or token in LIGHT):
            words.append(token)
        if token in _ENDS:
            ends.add(len(words))
    return words, ends


def _split(tokens: Sequence[str], marks: frozenset[str]) -> list[Part]:
    parts: list[Part] = []
    start = 0
    for at, token in enumerate(tokens):
        if token in marks:
            end = at + (token == "?")  # the mark belongs to the question
            parts.append(tuple(tokens[start:end]))
            start = at + 1
    parts.append(tuple(tokens[start:]))
    return [part for part in parts if part]


def _split_clauses(sentence: Part) -> list[Part]:
    return [_drop_light(part) for part in _split(sentence, frozenset(","))]


def _drop_light(part: Part) -> Part:
    return tuple(token for token in part if token != "," and token not in LIGHT)


def _has_moved_block(mine: list[Part], theirs: list[Part], *, shortest: int) -> bool:
    """Whether theirs is mine with two neighbouring blocks of parts swapped."""
    if len(mine) != len(theirs) or sorted(mine) != sorted(theirs):
        return False
    differ = [at for at, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
    if not differ:
        return True
    first, last = differ[0], differ[-1] + 1
    ours, others = mine[first:last], theirs[first:last]
    if any(len(part) < shortest for part in ours):
        return False
    return any(ours[cut:] + ours[:cut] == others for cut in range(1, len(ours)))


def _has_phrase_first(last: Part, first: Part) -> bool:
    """Whether `first` is `last` with a phrase moved to its front: A B C → B A C.

    B begins with a preposition.
    """
    body, moved = _mark_commas(last), _mark_commas(first)
    words = [word for word, _ in body]
    others = [word for word, _ in moved]
    if len(words) != len(others) or others[0] not in MOVABLE:
        return False
    for start in range(1, len(words)):
        before = words[start - 1]
        if words[start] != others[0] or before in BINDING or before in NEGATIONS:
            continue
        for length in range(len(words) - start, 1, -1):
            end = start + length
            if words[start:end] + words[:start] + words[end:] == others:
                # A phrase must end here: `scored 3 in 10 games` is not `in 10 scored 3 games`.
                last_word, comma = body[end - 1]
                is_border = end == len(body) or comma or body[end][0] in BINDING
                is_date = last_word in WEEKDAYS or last_word[0] == "@"
                if (is_border or is_date) and _has_same_commas(body, moved, start, length):
                    return True
                break
    return False


def _has_same_commas(
    body: list[tuple[str, bool]], moved: list[tuple[str, bool]], start: int, length: int
) -> bool:
    """Whether the commas outside the phrase are the same: they separate the clauses."""
    rest = body[:start] + body[start + length :]
    edges = (start - 1, start, len(rest) - 1)
    mine = [comma for at, (_, comma) in enumerate(rest) if at not in edges]
    theirs = [comma for at, (_, comma) in enumerate(moved[length:]) if at not in edges]
    return mine == theirs


def _mark_commas(part: Part) -> list[tuple[str, bool]]:
    """Return each word that is not light, and whether a comma follows it."""
    found: list[tuple[str, bool]] = []
    for token in part:
        if token == ",":
            if found:
                found[-1] = (found[-1][0], True)
        elif token not in LIGHT:
            found.append((token, False))
    return found
