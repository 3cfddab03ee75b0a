"""How a session ended, in a few lines, made by rules: what was asked, what was decided, what was answered last. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.model import Memory, Message
from muisti.recall.query import split_query
from muisti.surfaces.hooks.relevance import is_routine
from muisti.text.sentences import split_sentences

LONGEST = 160
"""Characters of a line."""
FIRST, LAST = 2, 4
"""How many of the things that were asked are told: the first and the last ones."""
DECIDED = 6
_TELLING = ("decision", "preference", "insight", "bugfix", "discovery")
_CODE = re.compile(r"(?s)```.*?(?:```|\Z)")


def summarize_session(said: Sequence[Message], learnt: Sequence[Memory]) -> str:
    """May be "": a session in which nothing was asked needs none."""
    asked = list(
        dict.fromkeys(
            _line(one.content)
            for one in said
            if one.role == "user" and _asks_something(one.content)
        )
    )
    if not asked:
        return ""
    told = asked if len(asked) <= FIRST + LAST else [*asked[:FIRST], *asked[-LAST:]]
    parts = ["Asked:", *(f"- {line}" for line in told)]
    decided = list(dict.fromkeys(_line(one.content) for one in learnt if one.kind in _TELLING))[
        -DECIDED:
    ]
    if decided:
        parts += ["Decided or learnt:", *(f"- {line}" for line in decided)]
    answers = [one.content for one in said if one.role == "assistant"]
    if answers:
        parts += ["Last answer:", f"- {_line(answers[-1])}"]
    return "\n".join(parts)


def _asks_something(text: str) -> bool:
    """Not "thanks", "continue", "run the tests"."""
    return (
        any(not is_routine(word) for word in split_query(text[:1000]))
        and len(split_query(text[:1000])) > 1
    )


def _line(text: str) -> str:
    """The first sentence that says something, on one line; code is left out."""
    plain = " ".join((_CODE.sub(" ", text[: 20 * LONGEST]) or text[:LONGEST]).split())
    sentences = [one.strip() for one in split_sentences(plain)] or [plain]
    first = next((one for one in sentences if _asks_something(one)), sentences[0])
    return first if len(first) <= LONGEST else f"{first[: LONGEST - 1].rstrip()}…"
