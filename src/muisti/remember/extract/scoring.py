"""Score a sentence: find its cues, weigh them by mode, and choose a kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muisti.remember.classify import classify_kind
from muisti.remember.extract import cues
from muisti.remember.extract.pronouns import mentions_speaker

# Not split_words: "don't" is one word here, and the weights were tuned with this count.
_WORD = re.compile(r"[^\W_]+(?:'\w+)?")
_QUOTED = re.compile(r'"[^"]{0,300}\b(?:I|my|you)\b[^"]{0,300}"')
"""A quotation of another person; a title is none."""
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
    "told": 0.05,
    "convention": 0.15,
    "personal": 0.05,
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
"""The importance of what the user asked to remember, and of a correction."""
ASSISTANT = 0.7
"""The factor for what an assistant says."""
HALF, MOST = 0.5, 0.85
"""Above HALF each cue adds less; cues alone never add up to more than MOST."""


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence's importance and kind. Small talk has the importance 0."""

    importance: float
    kind: str


def score_sentence(
    sentence: str, *, mode: str, marks: frozenset[str] = frozenset()
) -> ScoredSentence:
    """Return the importance and kind of a statement. Marks: cues that its words do not show."""
    found = find_cues(sentence) | marks
    if "personal" in found:
        found.discard("short")
    if "own" in found:
        found.discard("pasted")  # in a pasted text, this is the part that the user wrote
    weights = {**_WEIGHTS, **_MODES[mode]}
    total = sum(weights[cue] for cue in found)
    if total > HALF:
        total = HALF + (total - HALF) * 0.6
    return ScoredSentence(round(min(MOST, max(0.0, total)), 2), classify_cues(sentence, found))


def find_cues(sentence: str) -> set[str]:
    """Return the names of the cues in a sentence, as in the weights."""
    words = len(_WORD.findall(sentence))
    if '"' in sentence:
        sentence = _QUOTED.sub('"…"', sentence)
    found = {name for name, pattern in _SEARCHED.items() if pattern.search(sentence)}
    found.add("said")
    says_you = _YOU.search(sentence) is not None
    if mentions_speaker(sentence):
        found.add("own")
        if _SUBJECT.search(sentence):
            found.add("subject")
        if says_you:
            found.add("to you")
    elif says_you:
        found.add("you")
    if cues.CHAT.match(sentence):
        found.add("chat")
    if cues.PROPOSAL.match(sentence):
        found.add("proposal")
    if words >= 9:
        found.add("long")
    elif words <= 2 or (words <= 4 and _SPECIFIC.isdisjoint(found)):
        found.add("short")
    if "decision" in found and cues.PASSING.match(sentence):
        found -= {"chat", "proposal", "short"}
    return found


_SPECIFIC = frozenset(("figure", "time", "name", "preference", "decision", "insight", "technical"))
"""With one of these cues, three or four words are enough: "I'm 34 years old"."""
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
    """Return the kind: decision, preference, insight, a kind of technical note, or fact."""
    for kind in ("decision", "preference", "insight"):
        if kind in found:
            return kind
    kind = classify_kind(sentence) if "technical" in found else "fact"
    return "fact" if kind in ("note", "preference", "summary", "observation") else kind
