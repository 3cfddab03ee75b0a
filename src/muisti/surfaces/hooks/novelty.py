"""Remove sentences that only repeat recalled memories, even outside a fence. Pure.

An agent that says "as you decided, PostgreSQL is the database" has it from its memory. If that
were extracted, a memory would reinforce itself each time it is recalled. A sentence that changes a
memory is kept: another number, another name, a "no longer".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from muisti.recall.query import split_query
from muisti.text.sentences import split_sentences
from muisti.text.tokens import tokenize

USER, AGENT = 1.0, 0.6
"""The share of a sentence's words that a memory must contain; agents paraphrase."""
MIN_WORDS = 2
_CHANGE = frozenset(
    "not no never dont longer anymore instead stop without replac switch chang move now".split()
)
"""Stems that announce a change."""
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=\w[ ,] )[A-Z]\w+|(?<=\w )[A-Z]\w+|\w+(?:[._/]\w+)+")
"""A capitalized word within a sentence, or a word with a dot or slash inside."""


def remove_known(text: str, recalled: Sequence[str], share: float) -> str:
    """Return the text without sentences that repeat one of the recalled texts."""
    if not recalled or not text.strip():
        return text
    known = [frozenset(tokenize(one[:20_000])) for one in recalled]
    sentences = split_sentences(text, lines=True)
    return "".join(one for one in sentences if not _repeats(one, known, share)).strip()


def _repeats(sentence: str, known: Sequence[frozenset[str]], share: float) -> bool:
    words = set(tokenize(sentence[:2_000]))
    significant = set(split_query(sentence[:2_000])) - _CHANGE
    if len(significant) < MIN_WORDS:
        return False
    required = {word for word in words if word in _CHANGE or _NUMBER.search(word)}
    required.update(tokenize(" ".join(_NAME.findall(sentence))))
    least = share * len(significant)
    return any(required <= one and len(significant & one) >= least for one in known)
