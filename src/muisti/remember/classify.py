"""Guess a memory's kind and sector from its words, where the caller did not say.

Each pattern that occurs counts once; the highest count wins, and a tie goes to the entry that stands first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from muisti.model import Sector

_KINDS: Mapping[str, tuple[str, ...]] = {
    "bugfix": (r"fix(?:ed|es|ing)?", r"bugs?", r"regression|crash(?:ed|es)?|broken|hotfix", r"resolved|root cause"),
    "feature": (r"add(?:ed|s|ing)?|implement(?:ed|s)?|introduc(?:ed|es)", r"new", r"features?", r"support(?:s|ed)? for"),
    "refactor": (r"refactor(?:ed|s|ing)?", r"renam(?:ed|es)|extract(?:ed|s) .{1,40} into", r"clean(?:ed|s)? up|simplif\w+"),
    "decision": (
        r"decid(?:ed|es)|decision|chose|chosen|agreed (?:on|to)|picked",
        r"(?:we|i)(?:'ll| will) (?:use|go with)|going with|settled on",
        r"instead of|rather than|over \w+ because",
        r"päätös|päätettiin|решили|решение|\w{0,40}决定\w*",  # Chinese has no spaces around its words
    ),
    "preference": (
        r"prefer(?:s|red|ence)?|favou?rite",
        r"(?:likes?|loves?|hates?|dislikes?|wants?) (?:to|it|the|when)?",
        r"always (?:use|write|answer)|never (?:use|write)|please (?:use|don't|do not)",
    ),
    "insight": (r"insights?|learned|realized|realised|lesson|takeaway", r"correlat\w+|pattern|turns out", r"because of|leads to"),
    "discovery": (r"discover(?:ed|s)|found (?:that|out)|noticed|figured out", r"undocumented|surpris\w+"),
    "change": (r"chang(?:ed|es)|updat(?:ed|es)|upgrad(?:ed|es)|migrat(?:ed|es)|bump(?:ed|s)|moved|replaced", r"from .{1,40} to"),
    "summary": (r"summary|recap|tl;?dr|yhteenveto", r"(?:this|last) session|in this (?:session|conversation)"),
    "fact": (r"is|are|was|were|has|have", r"located (?:at|in)|defined in|deadline|costs?|version|endpoint|address|born"),
}

_SECTORS: Mapping[Sector, tuple[str, ...]] = {
    # Tie order: the more specific first, so that "Frustrated by the slow test suite" is a feeling, not a procedure.
    Sector.EMOTIONAL: (
        r"frustrated|annoyed|happy|satisfied|confused|angry|excited|worried|proud",
        r"loves?|hates?|prefers?|dislikes?",
        r"pain points?|struggl\w+|enjoy(?:s|ed)?",
    ),
    Sector.REFLECTIVE: (
        r"learned|realized|realised|noticed|insights?|patterns?",
        r"better to|should have|next time",
        r"observations?|conclusions?|takeaways?",
        r"this codebase|this project|in general",
    ),
    Sector.EPISODIC: (
        r"asked|said|mentioned|discussed|talked about",
        r"session|conversation|earlier|just now|yesterday|today|last (?:week|month|night)",
        r"user (?:wanted|requested|asked for)",
    ),
    Sector.PROCEDURAL: (
        r"how to|steps to|process|workflow|procedure",
        r"first|then|next|finally|step \d+",
        r"run|execute|build|deploy|test",
        r"command|script|recipe",
    ),
    Sector.SEMANTIC: (
        r"is|are|was|were|has|have|contains",
        r"located (?:at|in)|defined in|implemented in",
        r"file|function|class|module|component|endpoint",
        r"fact|information|knowledge",
    ),
}


def _compiled(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE) for pattern in patterns)


_KIND_PATTERNS = {kind: _compiled(patterns) for kind, patterns in _KINDS.items()}
_SECTOR_PATTERNS = {sector: _compiled(patterns) for sector, patterns in _SECTORS.items()}
_READ = 4000
"""A memory says what it is at its beginning; patterns over a megabyte would only find accidents."""


def classify_kind(content: str) -> str:
    """The kind that the words suggest; `note` when none does."""
    scores = {kind: sum(bool(p.search(content, 0, _READ)) for p in patterns) for kind, patterns in _KIND_PATTERNS.items()}
    best = max(scores, key=lambda kind: scores[kind])
    return best if scores[best] else "note"


def classify_sector(content: str) -> Sector:
    """The sector that the words suggest; `semantic` when none does."""
    scores = {s: sum(bool(p.search(content, 0, _READ)) for p in patterns) for s, patterns in _SECTOR_PATTERNS.items()}
    best = max(scores, key=lambda sector: scores[sector])
    return best if scores[best] else Sector.SEMANTIC
