"""Read corrections ("no, it's 9090") and put the right value into the statement they correct.

A correction that only makes sense after the statement it corrects becomes that statement with the
right value: "The server runs on port 9090." A whole sentence stays as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from muisti.text.tokens import split_words

_SIGN = r"[,.!:;–—-]+ *"
_LEAD = re.compile(
    rf"(?:(?:wait|oh|oops|sorry|ah|hmm|well|um|my bad|hold on|ok|okay|yes|but)(?:{_SIGN}| ))*"
    rf"(?:(?:no|nope|nah|not quite|correction|scratch that|my mistake|typo|wrong|"
    r"that's (?:wrong|not right|incorrect|not (?:quite )?correct|a mistake)|i misspoke|"
    rf"(?:let me|to) correct (?:that|myself))(?:{_SIGN}| (?=(?:it|that|i|he|she|they)\b))"
    r"|i (?:actually |really )?(?:meant|mean)(?: to say)?[,:]? |actually[,:]? |"
    r"i said (?=[^,]{1,30},? not ))"
    rf"(?:(?:i meant|i mean|actually|sorry)(?:{_SIGN}| ))?",
    re.I,
)
_MEANT = re.compile(
    r"\b(?:meant|mean|correction|misspoke|correct|wrong|scratch|typo|mistake|said)\b", re.I
)
_VALUE = r"(?P<value>[^,;?!]{1,60}?)"
_WRONG = r"(?P<wrong>[^,;?!]{1,40}?)"
_NOT_WRONG = rf"(?:,? (?:and )?(?:not|instead of|rather than) {_WRONG})?"
_POINTER = (
    r"(?:(?:it|that|this|they|he|she)(?:'s|'re| is| are| was| were| should be| must be)|"
    r"(?:make|use|try)(?: it| that)?|(?:its|his|her|their) (?P<noun>\w+)(?:'s| is| was))"
)
_BARE = re.compile(rf"(?:{_POINTER} )?(?:actually |really |now )?{_VALUE}{_NOT_WRONG}[.!]*$", re.I)
_NOT_BUT = re.compile(
    rf"(?:it's |that's )?not {_WRONG}[,;:–—-]+ *(?:but |it's )?{_VALUE}[.!]*$", re.I
)
_PAIR = re.compile(rf"{_VALUE},? not {_WRONG}[.!]*$", re.I)
_NAMED = re.compile(r",? (?:and )?not (?P<wrong>[^,;?!]{1,40}?)[.!]*$", re.I)
_COUNTED = re.compile(
    r"(?:(?P<before>[a-z]+) )?(?P<figure>\d[\d.,:]*)(?(before)| (?P<after>[a-z]+))", re.I
)
"""A figure and what it counts or numbers: "port 3000", "5 retries"."""
_POINTS = re.compile(rf"{_POINTER}(?!\w)", re.I)
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|do|does|did|will|would|can|could|should|need|want|like|"
    r"use|uses|run|runs|live|lives|work|works|meet|leave|keep|try|go|make|stop|thanks|worries|"
    r"problem|idea|way|clue)\b|'(?:m|s|re|ve|ll|d)\b|n't\b",
    re.I,
)
_NO_VALUES = frozenset(
    """
    all fine ok okay right correct good great enough it that this not wrong done everything nothing
    true perfect me you again later better
    """.split()
) | {"not it", "all good", "all for now", "it for now"}
_PREPOSITION = re.compile(r"(?:in|at|on|to|from|by|for|with) ", re.I)
_MOST_WORDS = 6
_CLASSES = (
    re.compile(r"(?<![\w.])\d{1,2}[:.]\d\d(?: ?[ap]m)?(?!\w)|(?<!\w)\d{1,2} ?[ap]m\b", re.I),
    re.compile(
        r"\b(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?(?:January|February|March|April|May|June|July|"
        r"August|September|October|November|December)(?: \d{1,2}(?:st|nd|rd|th)?)?\b"
    ),
    re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b", re.I),
    re.compile(r"[^\s\w]?[\w-]+(?:[./@:\\][\w-]+)+|\b[a-z]+-[a-z]+-\d+\b|\b[a-z]+_\w+\b", re.I),
    re.compile(r"(?<![\w.])[€$£]?\d+(?:[.,]\d+)*(?:k|m|%)?(?![\w.]\w|\w)", re.I),
    _NAMES := re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*"),
)
"""Times, dates, weekdays, identifiers, figures, names: a value replaces one of its own class."""
_COMPLEMENT = re.compile(r"\b(?:is|are) ((?:\w+ ?){1,2})(?=\.?$)")


@dataclass(frozen=True, slots=True)
class Correction:
    """What a message corrects."""

    value: str
    """The right value; "" if the sentence is whole and says it."""
    wrong: str = ""
    """The wrong value, if it is named."""
    is_plain: bool = False
    """It says that something was wrong, and does not answer a question: "correction: 9090"."""
    points: bool = False
    """It begins with "it is" or the like."""
    noun: str = ""
    """What has the value, if it says "her name is"; the corrected statement has it too."""


def read_correction(sentence: str) -> Correction | None:
    """Return what a sentence corrects; None if it corrects nothing."""
    lead = _LEAD.match(sentence)
    rest = sentence[lead.end() :] if lead else sentence
    is_plain = lead is not None and _MEANT.search(lead[0]) is not None
    not_but = _NOT_BUT.match(rest)
    if not_but and not _VERB.search(not_but["value"]):
        return Correction(_strip(not_but["value"]), _strip(not_but["wrong"]), is_plain=True)
    if lead is None:
        pair = _PAIR.match(sentence)
        if pair and not _VERB.search(pair["value"]) and len(sentence.split()) <= _MOST_WORDS:
            return Correction(_strip(pair["value"]), _strip(pair["wrong"]), is_plain=True)
        return None
    bare = _BARE.match(rest)
    if bare and bare["value"].lower() in _NO_VALUES:
        return None
    if bare and not _VERB.search(bare["value"]) and len(bare["value"].split()) <= _MOST_WORDS:
        value, wrong = _strip(bare["value"]), _strip(bare["wrong"] or "")
        points = _POINTS.match(rest) is not None
        noun = bare["noun"] or ""
        counted = _COUNTED.fullmatch(value)
        if counted:
            value, noun = counted["figure"], counted["before"] or counted["after"]
        return Correction(value, wrong, is_plain or bool(wrong), points, noun)
    named = _NAMED.search(rest)
    return Correction("", _strip(named["wrong"]) if named else "", is_plain=is_plain)


def drop_lead(sentence: str) -> str:
    """Return a correction without "wait, no:"."""
    lead = _LEAD.match(sentence)
    return sentence[lead.end() :] if lead else sentence


def find_corrected(
    correction: Correction, sentence: str, statements: Sequence[str]
) -> tuple[int, str] | None:
    """Return which of the statements, the latest last, is corrected, and its corrected text.

    Sentence: the correction as a memory, for one that is a whole sentence. Returns None if no
    statement has a value that could be meant.
    """
    last = len(statements) - 1
    for place in range(last, -1, -1):
        statement = statements[place]
        if place != last:
            correction = replace(correction, points=False)
        if correction.value:
            corrected = _put_value(statement, correction)
            if corrected:
                return place, corrected
        elif _is_about(sentence, statement, correction.wrong):
            return place, sentence
    return None


def _put_value(statement: str, correction: Correction) -> str | None:
    """Return the statement with the right value; None if it is not clear which one to replace."""
    value, wrong = correction.value, correction.wrong
    if correction.noun and not _find_whole(correction.noun, statement):
        return None
    spans = _find_slots(statement, value)
    if wrong:
        named = [span for span in spans if _find_whole(wrong, statement[slice(*span)])]
        spans = named or [found.span() for found in _find_whole(wrong, statement)]
    elif not spans and correction.points and not _find_class(value):
        spans = [found.span(1) for found in _COMPLEMENT.finditer(statement)]
    if len(spans) != 1 or statement[slice(*spans[0])].lower() == value.lower():
        return None
    start, end = spans[0]
    return f"{statement[:start]}{value}{statement[end:]}"


def _find_slots(statement: str, value: str) -> list[tuple[int, int]]:
    """Return where the statement has values of the same class."""
    pattern = _find_class(value)
    if pattern is None:
        return []
    spans = [found.span() for found in pattern.finditer(statement)]
    if pattern is _NAMES:  # the first word has a capital anyway; a weekday is not a name
        spans = [
            (start, end)
            for start, end in spans
            if start and _find_class(statement[start:end]) is _NAMES
        ]
    return spans


def _find_class(value: str) -> re.Pattern[str] | None:
    return next((pattern for pattern in _CLASSES if pattern.fullmatch(value)), None)


def _is_about(sentence: str, statement: str, wrong: str) -> bool:
    """Whether a whole sentence corrects a statement: it names the wrong value, or contradicts."""
    from muisti.remember.similarity.contradict import find_contradiction

    if wrong and _find_whole(wrong, statement):
        return not set(_words(sentence)).isdisjoint(_words(statement.replace(wrong, " ")))
    return find_contradiction(sentence, statement) is not None


def _words(text: str) -> list[str]:
    return [word for word in split_words(text.lower()) if word not in ("the", "a", "is", "not")]


def _find_whole(phrase: str, text: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.I))


def _strip(value: str) -> str:
    """Return a value without a preposition and a full stop."""
    return _PREPOSITION.sub("", value.strip(" .!\"'"), count=1)
