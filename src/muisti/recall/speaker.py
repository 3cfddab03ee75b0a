"""Find the speaker of a text and the person that a query is about. Pure.

A memory of a conversation begins with its speaker: `Anna: …`, `user: …`. For a query about Anna,
what she said ranks above what was said to her. For a query such as "what did I …", what the user
said ranks higher.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from muisti.text.tokens import split_words, tokenize

SELF = 3.0
"""Gain of the user's own messages. High, because assistants write long texts about everything."""
MOST_PARTS = 4
"""This many words, or parts between hyphens, of a name are looked for."""
NAMED = 1.25
"""Gain of messages of the person that the query names."""
_NAME = r"[^\W\d_][\w.'’-]{0,30}"
_BOLD = r"(?:\*\*|__)?"
_RUN = re.compile(r"\w+")
_PREFIX = rf"\s*{_BOLD}({_NAME}(?: {_NAME}){{0,2}}){_BOLD}:{_BOLD}\s"
_ASKING = frozenset("i my me mine myself we our us ours".split())
_ANSWERING = frozenset("you your yours".split())
_PERSON = frozenset(("user", "human", "me"))
_ASSISTANT = frozenset(("assistant", "ai", "agent", "bot"))


def find_speaker(opening: str) -> str:
    """Return the speaker's name in lower case, or "" if the text has none."""
    match = re.match(_PREFIX, opening) if ":" in opening else None
    return match[1].casefold() if match else ""


def find_names(speakers: Iterable[str]) -> set[str]:
    """Return the index words of the names of speakers; not of roles such as `user`."""
    names = set(speakers) - _PERSON - _ASSISTANT
    return {word for name in names for word in tokenize(name)}


def score_speakers(query: str, speakers: Iterable[str]) -> dict[str, float]:
    """Return the gain of each speaker's messages for a query.

    Empty for a query about the assistant ("what did you …").
    """
    present = set(speakers) - {""}
    words = [word.casefold() for word in split_words(query[:2000], identifiers=False)]
    if present & _ASSISTANT and _ANSWERING.intersection(words):
        return {}
    if present & _PERSON and _ASKING.intersection(words):
        return dict.fromkeys(present & _PERSON, SELF)
    text = f" {' '.join(words)} "
    named = [
        speaker
        for speaker in present - _PERSON - _ASSISTANT
        if f" {speaker} " in text or f" {speaker}s " in text
    ]
    return {named[0]: NAMED} if len(named) == 1 else {}


def find_named(query: str, names: Container[str]) -> set[str]:
    """Return those of these names, which are in lower case, that a query has as whole words."""
    plain = query.casefold()
    ends = [(word.start(), word.end()) for word in _RUN.finditer(plain)]
    found = set()
    for place, (start, _) in enumerate(ends):
        for _, end in ends[place : place + MOST_PARTS]:
            name = plain[start:end]
            if name in names:
                found.add(name)
    return found


def remove_names(query: str, speakers: Iterable[str]) -> str:
    """Return a query without the names of speakers, unless less than two words would be left."""
    plain = query.casefold()
    names = [
        re.escape(name)
        for name in speakers
        if name and name in plain and name not in _PERSON | _ASSISTANT
    ]
    if not names:
        return query
    pattern = rf"\b(?:{'|'.join(names)})\b(?:['’]s)?"
    shortened = " ".join(re.sub(pattern, " ", query, flags=re.IGNORECASE).split())
    return shortened if len(split_words(shortened, identifiers=False)) >= 2 else query
