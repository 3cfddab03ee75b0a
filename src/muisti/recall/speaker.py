"""Who is speaking, and whom a question is about. Pure.

A memory of a conversation begins with its speaker: `Anna: …`, `user: …`. A question about Anna is better answered by what
Anna said than by what was said to her; a question of the person who asks ("what did I …") by what that person said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from muisti.text.tokens import split_words

SELF = 3.0
"""For what was said by the one who asks. It counts for much: assistants talk at length, and about everything."""
NAMED = 1.25
"""For what was said by the one who is named."""
_PREFIX = re.compile(
    r"\s*(?:\*\*|__)?([^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})(?:\*\*|__)?:(?:\*\*|__)?\s"
)
_ASKING = frozenset("i my me mine myself we our us ours".split())
_ANSWERING = frozenset("you your yours".split())
_PERSON = frozenset(("user", "human", "me"))
_ASSISTANT = frozenset(("assistant", "ai", "agent", "bot"))


def find_speaker(opening: str) -> str:
    """The speaker's name in lower case; empty if the text names none."""
    match = _PREFIX.match(opening)
    return match[1].casefold() if match else ""


def score_speakers(question: str, speakers: Iterable[str]) -> dict[str, float]:
    """What a memory gains by being said by one of these speakers. A question to the assistant favours nobody."""
    present = set(speakers) - {""}
    said = [word.casefold() for word in split_words(question[:2000], identifiers=False)]
    if present & _ASSISTANT and _ANSWERING.intersection(said):
        return {}
    if present & _PERSON and _ASKING.intersection(said):
        return dict.fromkeys(present & _PERSON, SELF)
    text = f" {' '.join(said)} "
    named = [
        speaker
        for speaker in present - _PERSON - _ASSISTANT
        if f" {speaker} " in text or f" {speaker}s " in text
    ]
    return {named[0]: NAMED} if len(named) == 1 else {}


def remove_names(question: str, speakers: Iterable[str]) -> str:
    """The question without the names of speakers; the question itself, if little else is left."""
    names = [re.escape(name) for name in speakers if name and name not in _PERSON | _ASSISTANT]
    if not names:
        return question
    shortened = " ".join(
        re.sub(rf"\b(?:{'|'.join(names)})\b(?:['’]s)?", " ", question, flags=re.IGNORECASE).split()
    )
    return shortened if len(split_words(shortened, identifiers=False)) >= 2 else question
