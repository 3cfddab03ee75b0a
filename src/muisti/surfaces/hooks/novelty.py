"""What only repeats a memory that the session was given teaches nothing new, even without its fence. Pure.

An agent that says "as you decided, PostgreSQL is the database" has it from its memory: were that learnt, a memory would
make itself stronger each time it is recalled. What changes a memory is kept: another number, another name, a "no longer".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.recall.query import split_query
from muisti.text.sentences import split_sentences
from muisti.text.tokens import tokenize

USER, AGENT = 1.0, 0.6
"""Which share of a sentence's words a memory must have for it to be a repetition: an agent rewords what it was given."""
FEWEST = 2
_CHANGE = frozenset(
    (
        "not",
        "no",
        "never",
        "dont",
        "longer",
        "anymore",
        "instead",
        "stop",
        "without",
        "replac",
        "switch",
        "chang",
        "move",
        "now",
    )
)
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=\w[ ,] )[A-Z]\w+|(?<=\w )[A-Z]\w+|\w+(?:[._/]\w+)+")
"""A word with a capital within a sentence, or with a dot or the like inside."""


def remove_known(text: str, given: Sequence[str], share: float) -> str:
    """The text without sentences that say what one of the given texts says."""
    if not given or not text.strip():
        return text
    known = [frozenset(tokenize(one[:20_000])) for one in given]
    return "".join(
        one for one in split_sentences(text, lines=True) if not _repeats(one, known, share)
    ).strip()


def _repeats(sentence: str, known: Sequence[frozenset[str]], share: float) -> bool:
    said = set(tokenize(sentence[:2_000]))
    telling = {word for word in split_query(sentence[:2_000]) if word not in _CHANGE}
    if len(telling) < FEWEST:
        return False
    must = {word for word in said if word in _CHANGE or _NUMBER.search(word)} | set(
        tokenize(" ".join(_NAME.findall(sentence)))
    )
    return any(must <= one and len(telling & one) >= share * len(telling) for one in known)
