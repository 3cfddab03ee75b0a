"""What a sentence is worth keeping for: its signs, the kind they make it, and how much they weigh in each mode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muisti.remember.classify import classify_kind
from muisti.remember.extract import cues
from muisti.remember.extract.pronouns import mentions_speaker

# Not split_words: "don't" is one word here, and the weights were found by counting in this way.
_WORD = re.compile(r"[^\W_]+(?:'\w+)?")
_QUOTED = re.compile(r'"[^"]{0,300}\b(?:I|my|you)\b[^"]{0,300}"')
"""What another said; a title stays."""
_YOU = re.compile(r"\b(?:you|your|yours|you're|you've|you'll|you'd)\b", re.I)
_SUBJECT = re.compile(r"\b(?:I|I'm|I've|I'll|I'd|We|we|we're|we've|we'll|[Mm]y|[Oo]ur)\b")

_WEIGHTS: Mapping[str, float] = {
    "said": 0.15,
    "own": 0.15,
    "subject": 0.03,
    "event": 0.12,
    "dropped subject": -0.03,
    "decision": 0.25,
    "preference": 0.15,
    "insight": 0.15,
    "life": 0.12,
    "figure": 0.08,
    "time": 0.13,
    "name": 0.12,
    "technical": 0.1,
    "source": 0.05,
    "states": 0.05,
    "long": 0.12,
    "short": -0.3,
    "chat": -0.22,
    "you": -0.1,
    "to you": -0.1,
    "hedge": -0.1,
    "pasted": -0.25,
    "task": -0.4,
    "proposal": -0.2,
}
_MODES: Mapping[str, Mapping[str, float]] = {
    "default": {},
    "coding": {
        "technical": 0.3,
        "decision": 0.35,
        "insight": 0.25,
        "life": 0.0,
        "preference": 0.15,
        "own": 0.1,
        "chat": -0.35,
    },
    "research": {
        "figure": 0.2,
        "name": 0.15,
        "source": 0.25,
        "said": 0.2,
        "life": 0.05,
        "chat": -0.3,
        "pasted": -0.1,
    },
}
MODES = tuple(_MODES)
INSTRUCTED, CORRECTED = 0.9, 0.75
"""An order to remember is the best evidence there is; a correction says that something else is wrong."""
ASSISTANT = 0.7
"""What an assistant's sentence counts for, against a person's own."""
HALF, MOST = 0.5, 0.85
"""From HALF on each further sign adds less; signs alone never reach what an order to remember does."""


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence's worth. Chat of no worth has the importance 0."""

    importance: float
    kind: str


def score_sentence(
    sentence: str, *, mode: str, marks: frozenset[str] = frozenset()
) -> ScoredSentence:
    """How much speaks for keeping a plain statement. `marks` are signs that its words alone do not show."""
    found = find_cues(sentence) | marks
    if "own" in found:
        found.discard("pasted")  # in a pasted text, that is the part which its sender wrote
    weights = {**_WEIGHTS, **_MODES[mode]}
    total = sum(weights[sign] for sign in found)
    if total > HALF:
        total = HALF + (total - HALF) * 0.6
    return ScoredSentence(round(min(MOST, max(0.0, total)), 2), classify_cues(sentence, found))


def find_cues(sentence: str) -> set[str]:
    """The names of the signs that a sentence shows, as the weights know them."""
    words = len(_WORD.findall(sentence))
    if '"' in sentence:
        sentence = _QUOTED.sub('"…"', sentence)
    own = mentions_speaker(sentence)
    present = {
        "said": True,
        "own": own,
        "subject": own and _SUBJECT.search(sentence) is not None,
        "to you": own and _YOU.search(sentence) is not None,
        "you": not own and _YOU.search(sentence) is not None,
        "long": words >= 9,
        "short": words <= 4,
        "chat": cues.CHAT.match(sentence) is not None,
        "proposal": cues.PROPOSAL.match(sentence) is not None,
    }
    searched = {name: pattern.search(sentence) is not None for name, pattern in _SEARCHED.items()}
    found = {name for name, is_there in {**present, **searched}.items() if is_there}
    return found - {"short"} if words > 2 and not _SPECIFIC.isdisjoint(found) else found


_SPECIFIC = frozenset(("figure", "time", "name", "preference", "decision", "insight", "technical"))
"""With one of these four words can be enough: "I'm 34 years old"."""
_SEARCHED: Mapping[str, re.Pattern[str]] = {
    "decision": cues.DECISION,
    "preference": cues.PREFERENCE,
    "insight": cues.INSIGHT,
    "event": cues.EVENT,
    "life": cues.LIFE,
    "figure": cues.FIGURE,
    "time": cues.TIME,
    "name": cues.NAME,
    "technical": cues.TECHNICAL,
    "source": cues.SOURCE,
    "states": cues.STATES,
    "hedge": cues.HEDGE,
}


def classify_cues(sentence: str, found: set[str]) -> str:
    """Decision before preference before insight; what is technical as the words say; a fact otherwise."""
    for kind in ("decision", "preference", "insight"):
        if kind in found:
            return kind
    if "technical" in found:
        guessed = classify_kind(sentence)
        return (
            guessed if guessed not in ("note", "preference", "summary", "observation") else "fact"
        )
    return "fact"
