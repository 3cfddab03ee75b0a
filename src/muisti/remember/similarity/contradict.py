"""Whether two memories give the same thing another value (contract H3): a link to propose, never a reason to merge.

Only states can contradict each other. Two events can both have happened, and one may like tea and coffee: so a sentence needs
a word that leaves room for one value only (`is`, `uses`, `lives`), in front of the part that was exchanged or negated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muisti.remember.similarity.abbreviations import BINDING, LIGHT, MONTHS, NEGATIONS
from muisti.remember.similarity.near_duplicate import find_differences
from muisti.remember.similarity.normal_form import MARKS, NormalForm, normalize
from muisti.remember.similarity.spelling import is_same_word

MOST_WORDS = 60
MOST_CHARACTERS = 600
LONGEST_VALUE = 4
"""Words; what is longer is another sentence rather than another value."""
SURE, NEGATED, NAMED, WORDED = 0.9, 0.85, 0.8, 0.6
"""How much to trust a changed figure, a negation, a name or identifier, any other word."""

_UPDATE = re.compile(
    r"\b(?:now|nowadays|no longer|any ?more|(?:switch|mov|migrat|chang|upgrad)ed (?:\w+ )?to|instead|as of|from now on"
    r"|since (?:yesterday|today|last|this|\w+day)|nyky[äi]\w+|nyt|enää|jatkossa|siirryimme|vaihdettu"
    r"|теперь|сейчас|отныне|больше (?:не|нет)|переш\w+ на)\b|现在|現在|改为|改為|改用|不再|目前",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"(?:user|assistant|system|human|ai)\s*:|[A-Z]\w+: (?=.*(?:[!?]|\b(?:I|you|your|my|me|we|thanks|hey|hi)\b))",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:now|nowadays|instead|nykyään|nyt|теперь|сейчас|отныне)\b|现在|現在|目前", re.IGNORECASE
)
_BECAME = re.compile("改[为為成]")
_NAMING = re.compile(r"\w[\w ]{0,40}(?::| [-–—]) \S")
"""A title and its value: `Deadline: May 5`, `Дедлайн — 5 мая`."""
_HELPERS = frozenset("do does longer anymore any enää больше 再".split())
_CHANGED = frozenset("switched moved migrated changed upgraded".split())
_ALONE = frozenset(
    "live lives work works prefer prefers asuu asun живет живу предпочитает предпочитаю".split()
)
"""Of these there is one answer for each person, whatever else the sentence says."""
_STATES = _ALONE | frozenset(
    """
    is are = : use uses run runs cost costs start starts end ends begin begins close closes open
    opens listen listens expire expires require requires need needs stay stays stand stands belong
    belongs report reports default defaults equal equals contain contains weigh weighs take takes
    last lasts mean means point points host hosts must should may can will on ovat käyttää käytämme
    käytän alkaa päättyy maksaa pitää suosii toimii sijaitsee это использует используем используется
    работает находится начинается стоит является есть 是 在 用 为 為 住 叫
    """.split()
)
_PRONOUNS = frozenset(
    """
    i you he she it we they me him her us them my your his its our their this these those there here
    who what which one someone everyone everything something minä sinä hän me te he se я ты он она
    мы вы они 我 你 他 她 们
    """.split()
)
_PAST = frozenset(
    """
    was were did had went said got made came saw took told gave found thought felt left bought met
    became began
    """.split()
)
_POINTING = frozenset("it this these those there here what who which that one se это 这 那".split())
"""They stand for another thing each time."""
_WEIGHTLESS = BINDING | LIGHT | NEGATIONS | _STATES | _CHANGED
_EMPTY = (
    BINDING
    | _PRONOUNS
    | _STATES
    | NEGATIONS
    | LIGHT
    | frozenset("be been have am do does did not also very so too".split())
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two memories that cannot both hold."""

    confidence: float
    """0 to below 1."""
    update: bool
    """The newer text says by its words that something has changed."""
    mine: str
    theirs: str
    """The values that differ, as written; a negation is given with what it negates, or alone."""


def find_contradiction(newer: str, older: str) -> Contradiction | None:
    """The contradiction between two short statements about one subject, or None."""
    if _unfit(newer) or _unfit(older):
        return None
    mine, theirs = _plainly(newer), _plainly(older)
    if "?" in mine.tokens or "?" in theirs.tokens or mine.content == theirs.content:
        return None
    update = _UPDATE.search(newer) is not None
    ours, others = _stated(mine), _stated(theirs)
    if not _one_subject(ours, others):
        return None
    found = find_differences(ours, others)
    if len(found) != 1:
        return None
    named = _NAMING.match(newer) is not None and _NAMING.match(older) is not None
    confidence = _confidence(
        mine, theirs, ours, _beginning(ours, others), found[0], update=update, named=named
    )
    if not confidence:
        return None
    a, b = _without_change(*found[0], update=update)
    return Contradiction(confidence, update, _written(a, newer), _written(b, older))


def _unfit(text: str) -> bool:
    """Too long to be one statement, or a turn of a talk."""
    if len(text) > MOST_CHARACTERS or len(text.split()) > MOST_WORDS:
        return True
    return "\n" in text.strip() or "!" in text or _TURN.match(text) is not None


def _plainly(text: str) -> NormalForm:
    """Read without the words that only say that something is new."""
    return normalize(_BECAME.sub("是", _FILLER.sub(" ", text)))


def _stated(text: NormalForm) -> list[str]:
    """The tokens without articles and marks; what states something stays."""
    kept = (
        token
        for token in text.tokens
        if token in _STATES or not (token in LIGHT or token in MARKS or token in _HELPERS)
    )
    return ["is" if token in _COPULAS else token for token in kept]


_COPULAS = frozenset("is are это есть является 是 为 為".split())


def _one_subject(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """They begin alike, with more than a pointing word, and share half of their words or more."""
    if not mine or not theirs or mine[0] != theirs[0] or mine[0] in _POINTING:
        return False
    ours, others = (
        {token for token in side if token not in _WEIGHTLESS} for side in (mine, theirs)
    )
    return 2 * len(ours & others) >= max(len(ours), len(others))


def _confidence(
    mine: NormalForm,
    theirs: NormalForm,
    ours: Sequence[str],
    before: Sequence[str],
    stretch: tuple[Sequence[str], Sequence[str]],
    *,
    update: bool,
    named: bool,
) -> float:
    if (
        (_happened(mine) and not update)
        or _happened(theirs)
        or not before
        or not _about_something(ours, stretch[0], before)
    ):
        return 0.0
    if _negates(*stretch, english=mine.english):
        return NEGATED
    a, b = _without_change(*stretch, update=update)
    figures = all(any(_figure(token) for token in side) for side in (a, b))
    states = named or (update and figures) or not _STATES.isdisjoint(before) or (a, b) != stretch
    if not states or not all(0 < len(side) <= LONGEST_VALUE for side in (a, b)):
        return 0.0
    return SURE if figures else _trust(a, b, mine, theirs)


def _beginning(mine: Sequence[str], theirs: Sequence[str]) -> Sequence[str]:
    """The words that both begin with."""
    same = next(
        (at for at, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b),
        min(len(mine), len(theirs)),
    )
    return mine[:same]


def _about_something(ours: Sequence[str], value: Sequence[str], before: Sequence[str]) -> bool:
    """A noun or a name in front of the value; or one after it; or a verb that needs none (`I live in Rome`)."""
    rest = ours[len(before) + len(value) :]
    return any(token not in _EMPTY for token in (*before, *rest)) or not _ALONE.isdisjoint(before)


def _happened(text: NormalForm) -> bool:
    """Whether it tells of an event: a past form that no `is` turns into a state."""
    tokens = text.tokens
    for at, token in enumerate(tokens):
        past = token in _PAST or (token.endswith("ed") and len(token) > 4 and text.english)
        if past and not (
            at and tokens[at - 1] in ("is", "are", "be", "not", "in", "on", "the", "a", "to")
        ):
            return True
    return False


def _negates(a: Sequence[str], b: Sequence[str], *, english: bool) -> bool:
    """Whether one side is the other with a negation: `not`; `does not like`, `likes`; `ei pidä`, `pitää`."""
    if NEGATIONS.isdisjoint(a) == NEGATIONS.isdisjoint(b):
        return False
    ours, others = (
        [token for token in side if token not in NEGATIONS and token != "any"] for side in (a, b)
    )
    if len(ours) != len(others) or len(ours) > LONGEST_VALUE:
        return False
    return all(_alike(x, y, english=english) for x, y in zip(ours, others, strict=True))


def _alike(a: str, b: str, *, english: bool) -> bool:
    return (
        a == b
        or is_same_word(a, b, name=False, english=english)
        or (not english and len(a) > 2 and a[:2] == b[:2])
    )


def _without_change(
    a: Sequence[str], b: Sequence[str], *, update: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """`switched to MySQL`, `use PostgreSQL`: without the verb on either side."""
    if update and len(a) > 2 and a[0] in _CHANGED and a[1] == "to" and b and b[0] in _STATES:
        cut = 2 if len(b) > 2 and b[1] in BINDING else 1
        return a[2:], b[cut:]
    return a, b


def _trust(a: Sequence[str], b: Sequence[str], mine: NormalForm, theirs: NormalForm) -> float:
    if len(a) == len(b) and all(
        _alike_spelt(x, y, mine, theirs) for x, y in zip(a, b, strict=True)
    ):
        return 0.0
    if any(token in mine.names for token in a) and any(token in theirs.names for token in b):
        return NAMED
    return NAMED if mine.exact != theirs.exact else WORDED


def _figure(token: str) -> bool:
    return token[0].isdigit() or token[0] in "@-" or token in MONTHS or token.endswith("day")


def _alike_spelt(a: str, b: str, mine: NormalForm, theirs: NormalForm) -> bool:
    return is_same_word(
        a, b, name=a in mine.names or b in theirs.names, english=mine.english and theirs.english
    )


def _written(tokens: Sequence[str], text: str) -> str:
    """The value as it stands in the text, as far as it can be found there."""
    value = (
        " ".join(map(_shown, tokens))
        if not all(len(token) == 1 and not token.isascii() for token in tokens)
        else "".join(tokens)
    )
    at = text.casefold().find(value.casefold())
    return text[at : at + len(value)] if at >= 0 and len(text) == len(text.casefold()) else value


def _shown(token: str) -> str:
    if token[0] != "@":
        return token
    *year, month, day = token[1:].split("-")
    name = next(name for name, number in MONTHS.items() if number == int(month)).capitalize()
    return f"{name} {int(day)}" + (f", {year[0]}" if year else "")
