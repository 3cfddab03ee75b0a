"""Whether two memories give one subject different values (contract H3). Only proposes a link.

Only states can contradict each other: two events can both have happened, and a person may like tea
and coffee. So a sentence needs a word that allows one value only (`is`, `uses`, `lives`) before
the part that was exchanged or negated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from muisti.remember.similarity import changes
from muisti.remember.similarity.abbreviations import BINDING, LIGHT, MONTHS, NEGATIONS
from muisti.remember.similarity.near_duplicate import find_differences
from muisti.remember.similarity.normal_form import MARKS, NormalForm, normalize
from muisti.remember.similarity.spelling import is_same_word

_CACHED = 128
"""Texts that are kept prepared: a new memory is compared with up to thirty others."""
MOST_WORDS = 60
MOST_CHARACTERS = 600
LONGEST_VALUE = 4
"""Words; anything longer is another sentence, not another value."""
SURE, NEGATED, NAMED, WORDED = 0.9, 0.85, 0.8, 0.6
"""Confidence in a changed figure, a negation, a changed name or identifier, any other word."""

_UPDATE = re.compile(
    r"\b(?:now|nowadays|these days|no longer|any ?more|"
    r"(?:switch|mov|migrat|chang|upgrad)ed (?:\w+ )?to|instead|as of|"
    r"from now on|since (?:yesterday|today|last|this|\w+day)"
    r"|nyky[äi]\w+|nyt|enää|jatkossa|siirryimme|vaihdettu"
    r"|теперь|сейчас|отныне|больше (?:не|нет)|переш\w+ на)\b|现在|現在|改为|改為|改用|不再|目前",
    re.IGNORECASE,
)
_MESSAGE = re.compile(
    r"(?:user|assistant|system|human|ai)\s*:"
    r"|[A-Z]\w+: (?=.*(?:[!?]|\b(?:I|you|your|my|me|we|thanks|hey|hi)\b))",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:now|nowadays|instead|nykyään|nyt|теперь|сейчас|отныне)\b|现在|現在|目前", re.IGNORECASE
)
_ADDS = re.compile(r"\b(?:also|too|as well|additionally|in addition|besides)\b", re.IGNORECASE)
_NEW = re.compile(
    r"(?<=\bour )new (?=[\w -]{1,40} (?:is|are)\b)|(?<=\bmy )new (?=[\w -]{1,40} (?:is|are)\b)|"
    r"(?<='s )new (?=[\w -]{1,40} (?:is|are)\b)|(?<=^The )new (?=[\w -]{1,40} (?:is|are)\b)",
    re.IGNORECASE,
)
"""`new` before what something has one of: `our new product owner is …`."""
_DECIDED = re.compile(r"\bdecided (?:to|on) ", re.IGNORECASE)
"""What was decided is a state, not an event."""
_ONLY = re.compile(r"\b(?:only|just) ", re.IGNORECASE)
_LONGEST_SUBJECT = 5
_BECAME = re.compile("改[为為成]")
_NAMING = re.compile(r"\w[\w ]{0,40}(?::| [-–—]) \S")
"""A title and its value: `Deadline: May 5`, `Дедлайн — 5 мая`."""
_HELPERS = frozenset("do does longer anymore any enää больше 再".split())
_CHANGED = frozenset("switched moved migrated changed upgraded".split())
_ALONE = frozenset(
    "live lives work works prefer prefers asuu asun живет живу предпочитает предпочитаю".split()
)
"""A person has one value for each of these, whatever else the sentence says."""
_STATES = _ALONE | frozenset(
    """
    is are = : use uses drive drives run runs cost costs start starts end ends begin begins close
    closes open opens listen listens expire expires require requires need needs stay stays stand
    stands belong belongs report reports default defaults equal equals contain contains weigh
    weighs take takes last lasts mean means point points host hosts must should may can will on ovat
    käyttää käytämme
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
"""Words that refer to another thing each time."""
_IGNORED = BINDING | LIGHT | NEGATIONS | _STATES | _CHANGED
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
    """Two memories that cannot both be true."""

    confidence: float
    """0 to below 1."""
    update: bool
    """Whether the newer text says that something has changed."""
    newer_value: str
    older_value: str
    """The values that differ, as written; a negation is given with what it negates, or alone."""


def find_contradiction(newer: str, older: str) -> Contradiction | None:
    """Return the contradiction between two short statements about one subject, or None."""
    if not is_statement(newer) or not is_statement(older):
        return None
    found = _compare_statements(newer, older) or _compare_predicate(newer, older)
    change = None if found else changes.find_change(newer, older)
    if change is None:
        return found
    confidence = SURE if change.is_figure else NAMED
    update = change.is_told or _UPDATE.search(newer) is not None
    return Contradiction(confidence, update, change.newer_value, change.older_value)


def _compare_predicate(newer: str, older: str) -> Contradiction | None:
    """Compare a statement that begins with its verb with the predicate of another: `Now runs …`."""
    bare = " ".join(_FILLER.sub(" ", newer).split())
    verb = bare.split(" ", 1)[0].lower().rstrip(".")
    if _UPDATE.search(newer) is None or verb not in _STATES or verb in _COPULAS:
        return None
    words = older.split()
    places = [at for at, word in enumerate(words[:_LONGEST_SUBJECT]) if word.lower() == verb]
    if not places or places[0] == 0:
        return None
    subject = " ".join(words[: places[0]])
    found = _compare_statements(f"{subject} {bare[:1].lower()}{bare[1:]}", older)
    return replace(found, update=True) if found else None


def _compare_statements(newer: str, older: str) -> Contradiction | None:
    """Compare word by word: all but one value must be the same."""
    if _ADDS.search(newer) and not _ADDS.search(older):
        return None
    mine, theirs = _read(newer), _read(older)
    if "?" in mine.tokens or "?" in theirs.tokens or mine.content == theirs.content:
        return None
    update = _UPDATE.search(newer) is not None or _NEW.search(newer) is not None
    ours, others = _select_words(mine), _select_words(theirs)
    if not _has_same_subject(ours, others):
        return None
    differences = find_differences(ours, others)
    if len(differences) != 1:
        return None
    same = next(
        (at for at, (a, b) in enumerate(zip(ours, others, strict=False)) if a != b),
        min(len(ours), len(others)),
    )
    a, b = differences[0]
    before, after = ours[:same], ours[same + len(a) :]
    # A subject: a noun or name before or after the value, or a verb like in `I live in Rome`.
    has_subject = any(token not in _EMPTY for token in (*before, *after))
    has_subject = has_subject or not _ALONE.isdisjoint(before)
    is_event = _is_event(theirs) or (_is_event(mine) and not update)
    if not before or not has_subject or is_event:
        return None
    values = _drop_change_verb(a, b, update=update)
    shares = any(token not in _IGNORED for token in (*before[1:], *after))
    if values != (a, b) and not shares:
        return None  # `switched to tea` says nothing about `uses vim`
    if _is_negation(a, b, english=mine.english):
        confidence = NEGATED
    else:
        figures = all(any(_is_figure(token) for token in side) for side in values)
        is_named = _NAMING.match(newer) is not None and _NAMING.match(older) is not None
        is_state = not _STATES.isdisjoint(before) or values != (a, b)
        if not (is_named or (update and figures) or is_state):
            return None
        if not all(0 < len(side) <= LONGEST_VALUE for side in values):
            return None
        are_lists = is_named and "," in newer and "," in older
        is_other = (values[0][0] in BINDING) != (values[1][0] in BINDING)
        if are_lists or is_other:  # `is from Turku` says nothing about `is CEO`
            return None
        confidence = SURE if figures else _rate_words(*values, mine, theirs)
    if confidence == WORDED and not shares and not _USES.isdisjoint(before):
        return None  # one may use JSON and caching
    written = _find_written(values[0], newer), _find_written(values[1], older)
    return Contradiction(confidence, update, *written) if confidence else None


def suggest_words(newer: str) -> list[str]:
    """Return words, in lower case, that a memory updated by this text may have; mostly none."""
    return changes.suggest_words(newer) if is_statement(newer) else []


@lru_cache(maxsize=_CACHED)
def is_statement(text: str) -> bool:
    """Whether a text is short enough for one statement, and not a message of a conversation."""
    if len(text) > MOST_CHARACTERS or len(text.split()) > MOST_WORDS:
        return False
    return "\n" not in text.strip() and "!" not in text and _MESSAGE.match(text) is None


@lru_cache(maxsize=_CACHED)
def _read(text: str) -> NormalForm:
    """Normalize a text without the words that only say that something is new."""
    text = _DECIDED.sub("", _NEW.sub("", text))
    if _UPDATE.search(text):
        text = _ONLY.sub("", text)
    return normalize(_BECAME.sub("是", _FILLER.sub(" ", text)))


def _select_words(text: NormalForm) -> list[str]:
    """Return the tokens without articles, marks and helper verbs; with one form of `is`."""
    kept = (
        token
        for token in text.tokens
        if token in _STATES or not (token in LIGHT or token in MARKS or token in _HELPERS)
    )
    return ["is" if token in _COPULAS else token for token in kept]


_USES = frozenset(("use", "uses"))
_COPULAS = frozenset("is are это есть является 是 为 為".split())


def _has_same_subject(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether they begin with the same word, not a pronoun, and share half of their words."""
    if not mine or not theirs or mine[0] != theirs[0] or mine[0] in _POINTING:
        return False
    ours, others = ({token for token in side if token not in _IGNORED} for side in (mine, theirs))
    return 2 * len(ours & others) >= max(len(ours), len(others))


def _is_event(text: NormalForm) -> bool:
    """Whether it has a past form that no `is` turns into a state."""
    tokens = text.tokens
    for at, token in enumerate(tokens):
        is_past = token in _PAST or (token.endswith("ed") and len(token) > 4 and text.english)
        if is_past and not (at and tokens[at - 1] in _BEFORE_PARTICIPLES):
            return True
    return False


_BEFORE_PARTICIPLES = ("is", "are", "be", "not", "in", "on", "the", "a", "to")


def _is_negation(a: Sequence[str], b: Sequence[str], *, english: bool) -> bool:
    """Whether one side negates the other: `does not like`, `likes`; `ei pidä`, `pitää`."""
    if NEGATIONS.isdisjoint(a) == NEGATIONS.isdisjoint(b):
        return False
    ours, others = (
        [token for token in side if token not in NEGATIONS and token != "any"] for side in (a, b)
    )
    if len(ours) != len(others) or len(ours) > LONGEST_VALUE:
        return False
    for x, y in zip(ours, others, strict=True):
        is_other_form = not english and len(x) > 2 and x[:2] == y[:2]
        if x != y and not is_same_word(x, y, name=False, english=english) and not is_other_form:
            return False
    return True


def _drop_change_verb(
    a: Sequence[str], b: Sequence[str], *, update: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """Return `MySQL` and `PostgreSQL` for `switched to MySQL` and `use PostgreSQL`."""
    if update and len(a) > 2 and a[0] in _CHANGED and a[1] == "to" and b and b[0] in _STATES:
        cut = 2 if len(b) > 2 and b[1] in BINDING else 1
        return a[2:], b[cut:]
    return a, b


def _is_figure(token: str) -> bool:
    return token[0].isdigit() or token[0] in "@-" or token in MONTHS or token.endswith("day")


def _rate_words(a: Sequence[str], b: Sequence[str], mine: NormalForm, theirs: NormalForm) -> float:
    """Return the confidence that two values without figures differ; 0 for typos."""
    english = mine.english and theirs.english
    if len(a) == len(b) and all(
        is_same_word(x, y, name=x in mine.names or y in theirs.names, english=english)
        for x, y in zip(a, b, strict=True)
    ):
        return 0.0
    if any(token in mine.names for token in a) and any(token in theirs.names for token in b):
        return NAMED
    return NAMED if mine.exact != theirs.exact else WORDED


def _find_written(tokens: Sequence[str], text: str) -> str:
    """Return the value as it is written in the text, as far as it can be found."""
    is_spaceless = all(len(token) == 1 and not token.isascii() for token in tokens)
    value = "".join(tokens) if is_spaceless else " ".join(map(_format_token, tokens))
    at = text.casefold().find(value.casefold())
    return text[at : at + len(value)] if at >= 0 and len(text) == len(text.casefold()) else value


def _format_token(token: str) -> str:
    """Return a word as it is, and a date as `March 15, 2024`."""
    if token[0] != "@":
        return token
    *year, month, day = token[1:].split("-")
    name = next(name for name, number in MONTHS.items() if number == int(month)).capitalize()
    return f"{name} {int(day)}" + (f", {year[0]}" if year else "")
