"""Whether a text is another with a part of it moved, and still says the same.

Sentences may change places, so may the clauses around a comma or an `and`, and a phrase that begins with a preposition may
stand first instead of last. Everything else that is moved is another fact: `Alice told Bob`, `from A to B`, `5 of 10`.
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
"""Words; shorter ones are the items of a list, and those may stand in an order that matters."""
_ENDS = frozenset((".", "?"))


def is_reordered(mine: Sequence[str], theirs: Sequence[str], *, english: bool) -> bool:
    """Whether the tokens (with marks and light words) are the same but for one part that was moved without a change of sense."""
    if _sentences_swapped(mine, theirs):
        return True
    ours, others = _split(mine, _ENDS), _split(theirs, _ENDS)
    if len(ours) != len(others):
        return False
    if [_bare(part) for part in ours] == [_bare(part) for part in others]:
        return True
    if len(ours) > 1 and _one_block_moved(
        [_bare(part) for part in ours], [_bare(part) for part in others], shortest=1
    ):
        return True
    # The other sentences must stand as they are, and only one may differ inside.
    changed = [(a, b) for a, b in zip(ours, others, strict=True) if _bare(a) != _bare(b)]
    return len(changed) == 1 and _clause_moved(*changed[0], english=english)


def _sentences_swapped(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """P. Q. and Q. P., where one of the two texts need not show the end of P: `at 5 p.m. The`."""
    (ours, ends), (others, their_ends) = _with_ends(mine), _with_ends(theirs)
    size = len(ours)
    if size != len(others) or size < 2 * SHORTEST_CLAUSE:
        return False
    for cut in range(SHORTEST_CLAUSE, size - SHORTEST_CLAUSE + 1):
        if (
            others[0] == ours[cut]
            and (cut in ends or size - cut in their_ends)
            and others == ours[cut:] + ours[:cut]
        ):
            return True
    return False


def _with_ends(tokens: Sequence[str]) -> tuple[list[str], set[int]]:
    """The words that weigh something, and before which of them a sentence begins."""
    words: list[str] = []
    ends: set[int] = set()
    for token in tokens:
        if token == "?" or not (token in _ENDS or token == "," or token in LIGHT):
            words.append(token)
        if token in _ENDS:
            ends.add(len(words))
    return words, ends


def _clause_moved(mine: Part, theirs: Part, *, english: bool) -> bool:
    if _one_block_moved(_clauses(mine), _clauses(theirs), shortest=SHORTEST_CLAUSE):
        return True
    if not english:
        return False
    return (
        _joined_other_way(mine, theirs)
        or _phrase_first(mine, theirs)
        or _phrase_first(theirs, mine)
    )


def _split(tokens: Sequence[str], marks: frozenset[str]) -> list[Part]:
    parts: list[Part] = []
    start = 0
    for at, token in enumerate(tokens):
        if token in marks:
            end = at + (token == "?")  # a question stays one
            parts.append(tuple(tokens[start:end]))
            start = at + 1
    parts.append(tuple(tokens[start:]))
    return [part for part in parts if part]


def _clauses(sentence: Part) -> list[Part]:
    return [_bare(part) for part in _split(sentence, frozenset(","))]


def _bare(part: Part) -> Part:
    return tuple(token for token in part if token != "," and token not in LIGHT)


def _one_block_moved(mine: list[Part], theirs: list[Part], *, shortest: int) -> bool:
    """Whether theirs is mine with two neighbouring blocks of parts exchanged."""
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


def _joined_other_way(mine: Part, theirs: Part) -> bool:
    """P and Q; Q and P: whole clauses only."""
    ours, others = _bare(mine), _bare(theirs)
    places = range(SHORTEST_CLAUSE, len(ours) - SHORTEST_CLAUSE)
    return any(
        ours[at] in JOINS and others == (*ours[at + 1 :], ours[at], *ours[:at]) for at in places
    )


def _phrase_first(last: Part, first: Part) -> bool:
    """Whether `first` is `last` with a phrase taken to its front: A B C → B A C, where B begins with a preposition."""
    body, moved = _uncommaed(last), _uncommaed(first)
    words = [word for word, _ in body]
    others = [word for word, _ in moved]
    if len(words) != len(others) or others[0] not in MOVABLE:
        return False
    for start in range(1, len(words)):
        if (
            words[start] != others[0]
            or words[start - 1] in BINDING
            or words[start - 1] in NEGATIONS
        ):
            continue
        length = _length_of_phrase(words, others, start)
        if length and _ends_well(body, start + length) and _commas_kept(body, moved, start, length):
            return True
    return False


def _length_of_phrase(words: list[str], others: list[str], start: int) -> int:
    """How many words from `start` on were moved to the front, if that and nothing else was done; else 0."""
    for length in range(len(words) - start, 1, -1):
        if words[start : start + length] + words[:start] + words[start + length :] == others:
            return length
    return 0


def _ends_well(body: list[tuple[str, bool]], end: int) -> bool:
    """A phrase that is cut short gives its last words away: `scored 3 in 10 games` is not `in 10 scored 3 games`."""
    last, comma = body[end - 1]
    return (
        end == len(body) or comma or body[end][0] in BINDING or last in WEEKDAYS or last[0] == "@"
    )


def _commas_kept(
    body: list[tuple[str, bool]], moved: list[tuple[str, bool]], start: int, length: int
) -> bool:
    """The commas inside what was not moved must stay: they tell which phrase belongs to which clause."""
    rest = body[:start] + body[start + length :]
    edges = (start - 1, start, len(rest) - 1)
    mine = [comma for at, (_, comma) in enumerate(rest) if at not in edges]
    theirs = [comma for at, (_, comma) in enumerate(moved[length:]) if at not in edges]
    return mine == theirs


def _uncommaed(part: Part) -> list[tuple[str, bool]]:
    """Each word that weighs something, and whether a comma follows it."""
    found: list[tuple[str, bool]] = []
    for token in part:
        if token == ",":
            if found:
                found[-1] = (found[-1][0], True)
        elif token not in LIGHT:
            found.append((token, False))
    return found
